"""Modules form no circles, not even by imports that are for types alone or inside functions."""

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from test_structure import SOURCE, imports


def module(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {module(file): imports(file) - {"dford"} for file in SOURCE.rglob("*.py")}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None
