"""The commands of Containerfile and compose.yaml, as written there, on a PostgreSQL of this machine."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from ports import free_port
from postgres import BINARIES, new_database

ROOT = Path(__file__).parent.parent
IMAGE = (ROOT / "Containerfile").read_text()
SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]


def instruction(name: str) -> list[str]:
    """The arguments of the last instruction of this name, which are a JSON list."""
    found: list[str] = json.loads(re.findall(rf"^{name}\b[^\[\n]*(\[.+\])$", IMAGE, re.MULTILINE)[-1])
    return found


@pytest.fixture
def environment(tmp_path: Path, cluster: str) -> dict[str, str]:
    """That of the container, except for its port, its folders and its database."""
    address = httpx.URL(new_database(cluster, "container"))
    composed = SERVICES["dford"]["environment"]
    assert composed["DFORD_DATABASE"] == "postgresql+psycopg://dford@database/dford"
    return {
        **os.environ,
        **dict(re.findall(r"^ENV (\w+)=(.+)$", IMAGE, re.MULTILINE)),
        **composed,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(BINARIES[-1]), os.environ["PATH"]]),
        "NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"],
        "DFORD_FILES": str(tmp_path),
        "DFORD_DATABASE": str(address),
        "DFORD_PORT": str(free_port()),
        "PGPASSWORD": "any, as this one asks for none",
        "PGHOST": address.host,
        "PGPORT": str(address.port),
    }


def wait_for(address: str, server: "subprocess.Popen[bytes]") -> None:
    while True:
        assert server.poll() is None
        with suppress(httpx.TransportError):
            if httpx.get(f"{address}/health", timeout=600, verify=False).is_success:
                return
        time.sleep(0.1)


def run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.skipif(not BINARIES, reason="there is no PostgreSQL on this machine")
def test_it_serves_and_is_healthy_once_there_is_a_key(environment: dict[str, str]) -> None:
    ready, healthy = SERVICES["database"]["healthcheck"]["test"], instruction("HEALTHCHECK")
    assert ready[0] == "CMD"
    assert run(ready[1:], environment).returncode == 0

    refused = run(instruction("CMD"), environment)
    assert refused.returncode == 2
    assert "without a key, anyone who can reach 0.0.0.0 could do anything" in refused.stderr
    assert run(healthy, environment).returncode != 0

    key = run(["dford", "key", "anna"], environment).stdout.strip()
    with subprocess.Popen(instruction("CMD"), env=environment, stdout=subprocess.DEVNULL) as server:
        try:
            address = f"http://127.0.0.1:{environment['DFORD_PORT']}"
            wait_for(address, server)
            assert run(healthy, environment).returncode == 0
            projects = f"{address}/projects"
            assert httpx.get(projects, timeout=600).status_code == 401
            assert httpx.get(projects, timeout=600, headers={"Authorization": f"Bearer {key}"}).json() == []
        finally:
            server.terminate()
    assert server.returncode == 0


def test_nothing_runs_as_root_holds_a_secret_or_is_open_to_other_machines() -> None:
    assert re.findall(r"^USER (.+)$", IMAGE, re.MULTILINE)[-1] == "dford"
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            assert "PASSWORD" not in name or value.startswith("${POSTGRES_PASSWORD:?"), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_the_image_has_what_the_build_needs_and_keeps_what_must_stay() -> None:
    """The sources that pyproject.toml names are copied, and every volume of compose.yaml is one of the image."""
    copied = {name for line in re.findall(r"^COPY (?!--)(.+) \S+$", IMAGE, re.MULTILINE) for name in line.split()}
    assert copied == {"pyproject.toml", "README.md", "LICENSE", "src"}
    mounted: Any = [volume.split(":")[1] for volume in SERVICES["dford"]["volumes"]]
    assert mounted == instruction("VOLUME")
