"""What the oldest x86-64 processor computes, without vectors or fused multiplication: compiled for it, run here."""

import importlib
import os
import platform
import subprocess
import sys
from typing import Any

MODELS = [
    "NewtonLogit(features='fourier', n_components=40, random_state=0)",
    "DFORD(kernel='rbf', gamma=0.3, policy=Nearby(0.3), window=50, random_state=0)",
    "DFORD(kernel='poly', degree=3, gamma=0.3, coef0=0.7, clip=5.0, random_state=0)",
]
_PROGRAM = """
import hashlib
import numpy as np
from dford import DFORD, Nearby, NewtonLogit
random = np.random.default_rng(0)
X = random.integers(-1000, 1000, size=(150, 11)) / 256
y = 1 + (X[:, :1] + X[:, 1:2] * X[:, 2:3] > [-3, 0, 3]).sum(axis=1)
model = {model}
trace = model.fit(X, y).trace_
seen = [model.to_bytes(), model.predict_projection(X).tobytes(), trace.mae.tobytes(), trace.bound.tobytes()]
print(hashlib.sha256(b"".join(seen)).hexdigest())
"""


def environment() -> dict[str, str] | None:
    """What keeps numba and NumPy from using what such a processor lacks; None where that cannot be done."""
    if platform.machine() not in {"x86_64", "AMD64"}:
        return None
    try:
        numpy: Any = importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:
        return None
    features = [name for name in numpy.__cpu_dispatch__ if numpy.__cpu_features__[name]]
    return {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "", "NPY_DISABLE_CPU_FEATURES": " ".join(features)}


def digest(model: str, more: dict[str, str]) -> str:
    """The digest of all that a model learns and predicts, in a process with this environment."""
    command = [sys.executable, "-c", _PROGRAM.replace("{model}", model)]
    done = subprocess.run(command, env=os.environ | more, capture_output=True, text=True, check=True)
    return done.stdout.strip()
