"""Run with nothing installed but the wheel: does it import, learn and save?"""

import importlib.util
import tempfile
from pathlib import Path

import dford
from dford.datasets import make_synthetic

assert importlib.util.find_spec("pytest") is None, "this must run where only the wheel is installed"
assert ".venv" not in dford.__file__, dford.__file__
assert (Path(dford.__file__).parent / "py.typed").exists()
assert (Path(dford.__file__).parent / "service" / "page" / "index.html").exists()

X, y = make_synthetic(2000, random_state=0)
model = dford.DFORD(kernel="poly", clip=11.0, random_state=0).fit(X, y)
question = model.ask(X[0])
with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "model")
    loaded = dford.load(Path(folder) / "model")
assert isinstance(loaded, dford.DFORD)
loaded.tell(loaded.open_questions_[question.id], higher=bool(y[0] > question.level))
assert loaded.rounds_ == 2001
print(f"the wheel of dford {dford.__version__} learns: MAE {-model.score(X, y):.2f} after {model.rounds_} rounds")
