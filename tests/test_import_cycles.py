"""Modules form no circles, not even by imports that are for types alone or inside functions."""

from graphlib import CycleError, TopologicalSorter

from test_structure import MODULES, imports


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {module: imports(module) - {"dford"} for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None
