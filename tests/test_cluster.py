"""Reproduction and placing on a real cluster of two nodes, started here; skipped where Ray or Dask is not there."""

import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from dford import NewtonLogit, Pool
from dford.datasets import make_synthetic
from dford.experiments import plan, run_cells
from dford.placing import place

PLACE = """
def place_all(backend):
    folder = Path(sys.argv[1]).parent
    log = dford.load(folder / "pool").log_
    place(folder / "items.parquet", log, folder / "there.parquet", learner=NewtonLogit(), jobs=-1, backend=backend)
"""
RAY = """
import sys
from dataclasses import replace
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
import dford
from dford import NewtonLogit
from dford.experiments import plan, run_cells
from dford.placing import place
{PLACE}
head = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False, "no_monitor": True}
cluster = Cluster(initialize_head=True, head_node_args=head)
second = cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
assert ray.cluster_resources()["CPU"] == 2

def on_progress(cell):  # the second node dies when the first cell is done
    global second
    if second:
        cluster.remove_node(second, allow_graceful=False)
        second = None

cells = [replace(cell, rounds=3000) for cell in plan(["curves"], ["synthetic"]).cells]
results = run_cells(cells, sys.argv[1], jobs=-1, backend="ray", on_progress=on_progress)
assert second is None
print(len(cells), len(results.traces), results.failures)
place_all("ray")
ray.shutdown()
cluster.shutdown()
""".replace("{PLACE}", PLACE)

DASK = """
import sys
from dataclasses import replace
from pathlib import Path
from distributed import Client, LocalCluster
import dford
from dford import NewtonLogit
from dford.experiments import plan, run_cells
from dford.placing import place
{PLACE}
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        cells = [replace(cell, rounds=3000) for cell in plan(["curves"], ["synthetic"]).cells]
        results = run_cells(cells, sys.argv[1], jobs=-1, backend="dask")
        place_all("dask")
    print(len(cells), len(results.traces), results.failures)
""".replace("{PLACE}", PLACE)


@pytest.mark.timeout(900)  # Ray needs three minutes on two busy cores
@pytest.mark.parametrize(("module", "code"), [("ray", RAY), ("distributed", DASK)])
def test_a_cluster_writes_the_same_files_as_one_process(module: str, code: str, tmp_path: Path) -> None:
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    pool = answered_pool(tmp_path)
    program = tmp_path / "program.py"
    program.write_text(code)
    result = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "cluster")],
        capture_output=True, text=True, timeout=600, env=os.environ | {"RAY_USAGE_STATS_ENABLED": "0"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "9 9 {}" in result.stdout.splitlines()  # among what Ray says of its dead node

    cells = [replace(cell, rounds=3000) for cell in plan(["curves"], ["synthetic"]).cells]
    run_cells(cells, tmp_path / "here")
    files = {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "cluster").iterdir()} == files

    place(tmp_path / "items.parquet", pool.log_, tmp_path / "here.parquet", learner=NewtonLogit())
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


def answered_pool(folder: Path) -> Pool:
    """Some answers about the first items of a file."""
    X, y = make_synthetic(500, random_state=0)
    pd.DataFrame(X, columns=["x0", "x1"]).to_parquet(folder / "items.parquet", row_group_size=100)
    pool = Pool(X[:100], [1, 2, 3, 4, 5], learner=NewtonLogit(), random_state=0)
    for _ in range(100):
        question = pool.ask()
        pool.tell(question, bool(y[question.item] > question.level))
    pool.save(folder / "pool")
    return pool
