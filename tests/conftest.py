import hashlib
import os
from pathlib import Path

import hypothesis

# Numba keys its cache by the file of the outermost function alone: a change in another file of the engine
# would go unseen, so every version of the engine has a cache of its own.
_ROOT = Path(__file__).parent.parent
_ENGINE = b"".join(path.read_bytes() for path in sorted((_ROOT / "src/dford/engine").glob("*.py")))
# Nor may two processes write the same one at once (numba's issues 4807 and 10128).
_VERSION = hashlib.sha256(_ENGINE).hexdigest()[:12]
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
os.environ["NUMBA_CACHE_DIR"] = str(_ROOT / ".cache" / f"numba-{_VERSION}-{_WORKER}")

# Compilation of a first call takes seconds, so no deadline; the same examples every run, so no surprises in CI.
hypothesis.settings.register_profile(
    "dford", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("dford")

collect_ignore = ["wheel.py", "saved/make.py", "saved/make_service.py"]  # programs, not tests
