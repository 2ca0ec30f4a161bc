# Every target sets up .venv by itself, once.
PYTHON ?= python3
BIN := .venv/bin
# Numba keys its cache by the file of the outermost function alone; here any change to the engine starts a new cache.
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba-$(shell cat src/dford/engine/*.py src/dford/engine/*/*.py | cksum | cut -d' ' -f1)
# Without bytecode, each of the many processes of a run would compile what it imports: 7 of 10 s for the library alone.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo serve test library compiled lowest coverage slow kill-test kill-test-postgres bench bench-compare \
  bench-service bench-large calibration rating screenshots gallery docs lint licences release-check collected clean

# uv needs a tenth of pip's time; pip may know a registry that uv does not
install = $(BIN)/uv pip install --quiet --python $(1) $(2) || $(1)/bin/python -m pip install --quiet $(2)
cluster := dev,dask,ray

$(BIN)/uv:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet uv

.venv/ready: pyproject.toml | $(BIN)/uv
	$(call install,.venv,--editable ".[dev]")
	touch $@

demo: .venv/ready
	$(BIN)/dford demo
	$(BIN)/dford reproduce --quick --jobs 2 --out dford-demo/reproduction
	$(BIN)/dford compare --datasets synthetic,synthetic-poly --rounds 3000 --runs 2 --jobs 2 --out dford-demo

serve: .venv/ready
	$(BIN)/dford serve --demo

# the tests start clusters of two nodes; nothing else needs these packages
.venv/cluster: pyproject.toml | $(BIN)/uv
	$(call install,.venv,--editable ".[$(cluster)]")
	touch .venv/ready $@

# twice as many processes as the usual two cores, as many tests wait for something; what takes longest is begun first
test: .venv/cluster
	$(MAKE) --jobs=2 compiled lint collected .cache/wheel .cache/page/ready
	$(BIN)/python -m pytest -n 4 --dist worksteal

# leaves the bytecode of all tests, which every test process would otherwise make for itself
collected: .venv/cluster
	$(BIN)/python -m pytest --collect-only --quiet > .cache/collected || { cat .cache/collected; exit 1; }

# the tests of the library alone: no service, page, PostgreSQL or cluster
library: compiled
	$(BIN)/python -m pytest -n 2 @tests/library.txt

# compile the engine once for all test processes
compiled: .venv/ready
	$(BIN)/python tests/compiling.py

# the lowest versions that pyproject.toml allows, with the library's tests and one test file each for the other extras
lowest: .venv/ready
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) .cache/lowest
	$(BIN)/uv pip install --quiet --python .cache/lowest --resolution lowest-direct --editable ".[dev]"
	.cache/lowest/bin/python tests/compiling.py
	.cache/lowest/bin/python -m pytest -n 2 @tests/library.txt tests/test_images.py tests/test_run_command.py tests/test_service.py

# lines and branches that the library's tests do not reach; what numba compiles is left out
coverage: compiled
	$(BIN)/coverage run -m pytest -n 2 @tests/library.txt
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# 10,000 streams against the naive reference, instead of a sample
slow: .venv/ready
	DFORD_STREAMS=10000 $(BIN)/python -m pytest -n 2 -m slow

# 200 kills, instead of a few
kill-test: .venv/ready
	$(BIN)/python tests/killing.py

# the same with two servers on one PostgreSQL, started for this
kill-test-postgres: .venv/ready
	$(BIN)/python tests/killing.py --postgres --servers 2

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# the wheel by itself, in an environment with nothing but its dependencies
.cache/wheel: .venv/ready $(shell find src -name '*.py') tests/wheel.py
	rm -rf .cache/wheel .cache/alone
	$(BIN)/python -m build --quiet --wheel --no-isolation --outdir .cache/dist
	$(PYTHON) -m venv .cache/alone
	$(call install,.cache/alone,.cache/dist/*.whl)
	cd .cache && alone/bin/python ../tests/wheel.py
	rm -r .cache/dist .cache/alone
	touch $@

# of all that any extra installs; fails if one is unknown, or, without a stated reason, asks for more than a notice
licences: .venv/ready
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) .cache/licences
	$(BIN)/uv pip install --quiet --python .cache/licences ".[dask,dev,peers,ray]"
	.cache/licences/bin/python tests/licences.py

# what must hold before a release, line by line; also runs the tests
release-check: .venv/ready
	$(BIN)/python tests/release.py

# the tools that check the page's JavaScript; their test is skipped without npm
.cache/page/ready: Makefile
	if command -v npm > /dev/null; then \
	  npm install --silent --no-audit --no-fund --prefix .cache/page eslint@9 typescript@5.9 && touch $@; \
	fi

bench: .venv/ready
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/pool.py

# the last two runs of bench, or RUNS="…" by commit or number
bench-compare: .venv/ready
	$(BIN)/python benchmarks/compare.py $(RUNS)

bench-service: .venv/ready
	$(BIN)/python benchmarks/service.py
	$(BIN)/python benchmarks/neighbours.py

# how large a project may be; takes some minutes. WHAT="undo people items label" chooses
bench-large: .venv/ready
	$(BIN)/python benchmarks/large.py $(WHAT)

# the tables of docs/pool.md on lopsided scales, wrong answers and audits; takes half an hour
calibration: .venv/ready
	$(BIN)/python benchmarks/calibration.py lopsided > docs/pool/lopsided.md
	$(BIN)/python benchmarks/calibration.py mistaken > docs/pool/mistaken.md
	$(BIN)/python benchmarks/calibration.py certified > docs/pool/certified.md

# the tables of docs/rating.md; DFORD_DATA must name the folder of the data
rating: .venv/ready
	$(BIN)/python benchmarks/rating.py

# the pictures of the page; needs chromium
screenshots: .venv/ready
	$(BIN)/python tests/screenshots.py

# the pictures of the gallery, each drawn by its program; what these print is on the page
gallery: .venv/ready
	cd docs/gallery && for program in *.py; do ../../$(BIN)/python $$program || exit 1; done

# two generated references, which tests compare with the code
docs/http.md: .venv/ready $(shell find src/dford/service -name "*.py")
	$(BIN)/python -m dford.service.http > $@

docs/command-line.md: .venv/ready $(shell find src/dford/cli -name "*.py")
	$(BIN)/python tests/command_reference.py > $@

docs: .venv/ready
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv .cache site dist
