"""There are no import cycles, not even through imports for types or inside functions."""

from graphlib import CycleError, TopologicalSorter

from test_structure import MODULES, imports


def test_there_are_no_import_cycles() -> None:
    graph = {module: imports(module) - {"dford"} for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None
