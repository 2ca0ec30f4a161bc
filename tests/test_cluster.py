"""Reproduction on a real cluster of two nodes, started here; skipped where Ray or Dask is not installed."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from dford.experiments import plan, run_cells

RAY = """
import sys
import ray
from ray.cluster_utils import Cluster
from dford.experiments import plan, run_cells

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 80 * 2**20})
second = cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
assert ray.cluster_resources()["CPU"] == 2

def on_progress(cell):  # the second node dies when the first cell is done
    global second
    if second:
        cluster.remove_node(second, allow_graceful=False)
        second = None

cells = plan(["curves"], ["synthetic"]).cells
results = run_cells(cells, sys.argv[1], jobs=-1, backend="ray", on_progress=on_progress)
assert second is None
print(len(cells), len(results.traces), results.failures)
ray.shutdown()
cluster.shutdown()
"""

DASK = """
import sys
from distributed import Client, LocalCluster
from dford.experiments import plan, run_cells

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        cells = plan(["curves"], ["synthetic"]).cells
        results = run_cells(cells, sys.argv[1], jobs=-1, backend="dask")
    print(len(cells), len(results.traces), results.failures)
"""


@pytest.mark.parametrize(("module", "code"), [("ray", RAY), ("distributed", DASK)])
def test_a_cluster_gives_the_files_that_one_process_gives(module: str, code: str, tmp_path: Path) -> None:
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    program = tmp_path / "program.py"
    program.write_text(code)
    result = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "cluster")],
        capture_output=True, text=True, timeout=300, env=os.environ | {"RAY_USAGE_STATS_ENABLED": "0"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "9 9 {}" in result.stdout.splitlines()  # among what Ray says of its dead node

    run_cells(plan(["curves"], ["synthetic"]).cells, tmp_path / "here")
    files = {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "cluster").iterdir()} == files
