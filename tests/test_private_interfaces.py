"""What dford uses of other libraries beyond what they document: for each library in one module, and no more."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "dford"

# library: the one module that may, and the names that it relies on
RELIED_ON = {
    "sklearn": (
        "learners/_parameters.py",
        {
            "sklearn.utils._param_validation.Interval",
            "sklearn.utils._param_validation.StrOptions",
            "sklearn.utils._param_validation.validate_parameter_constraints",
        },
    ),
    "numba": ("engine/_compiled.py", {"numba.core.cgutils", "numba.core.cpu.CPUTargetOptions"}),
    "uvicorn": ("service/http/connections.py", {"uvicorn.protocols.http.auto.AutoHTTPProtocol"}),
}
_UNDOCUMENTED = ("numba.core.", "uvicorn.protocols.", "uvicorn.importer.", "uvicorn._")


def private_imports(file: Path) -> set[str]:
    """The undocumented names of these libraries that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    ours = {name for name in found if name.split(".")[0] in RELIED_ON}
    return {name for name in ours if "._" in name or name.startswith(_UNDOCUMENTED)}


@pytest.mark.parametrize("library", RELIED_ON)
def test_only_one_module_relies_on_what_a_library_does_not_document(library: str) -> None:
    found = {str(file.relative_to(SOURCE)): private_imports(file) for file in SOURCE.rglob("*.py")}
    own = {file: {n for n in names if n.split(".")[0] == library} for file, names in found.items()}
    module, names = RELIED_ON[library]
    assert {file: some for file, some in own.items() if some} == {module: names}


@pytest.mark.parametrize(
    ("change", "use", "sentence"),
    [
        (
            "import sklearn.isotonic, sklearn.utils._param_validation as m; del m.StrOptions",
            "import dford.learners",
            "it is tested with 1.9: pip install 'scikit-learn<1.10'",
        ),
        (
            "from numba.core.cpu import CPUTargetOptions as c\n"
            "del next(base for base in c.__mro__ if '_nrt' in vars(base))._nrt",
            "import dford.engine.rounds",
            "it is tested with 0.68: pip install 'numba<0.69'",
        ),
        (
            "import sys; sys.modules['uvicorn.protocols.http.auto'] = None",
            "import dford.service.http.connections",
            "it is tested with 0.54: pip install 'uvicorn<0.55'",
        ),
    ],
    ids=list(RELIED_ON),
)
def test_if_it_is_gone_the_error_says_which_version_to_install(change: str, use: str, sentence: str) -> None:
    result = subprocess.run([sys.executable, "-c", f"{change}\n{use}"], capture_output=True, text=True)
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: dford does not work with ")
    assert last.endswith(sentence)
