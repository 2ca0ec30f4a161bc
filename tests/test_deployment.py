"""What docs/deployment.md says to do can be done: units, proxies, rules, and every name in them."""

import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer.main

from dford.cli import _program
from dford.service.core import Service
from dford.service.settings import Settings
from ports import free_port
from serving import answer_some, ok, problem, serving, set_up

DOCS = Path(__file__).parent.parent / "docs"
DEPLOY = DOCS / "deploy"
PAGE = (DOCS / "deployment.md").read_text()
PROGRAM = "/opt/dford/bin/dford"


def test_every_file_is_shown() -> None:
    shown = re.findall(r'^--8<-- "deploy/(.+)"$', PAGE, re.MULTILINE)
    assert sorted(shown) == sorted(file.name for file in DEPLOY.iterdir())


def test_every_variable_flag_and_setting_exists() -> None:
    text = PAGE + (DOCS / "service.md").read_text() + "".join(file.read_text() for file in DEPLOY.iterdir())
    variables = set(re.findall(r"\bDFORD_[A-Z_]+", text))
    assert variables
    assert variables <= {f"DFORD_{one.name.upper()}" for one in fields(Settings)}
    commands: Any = typer.main.get_command(_program())
    used = re.findall(r"\bdford ([a-z]+)\b([^\n`]*--[^\n`#]*)", text)
    assert {name for name, _ in used} >= {"serve", "key", "backup", "verify"}
    for name, rest in used:
        known = {option for one in commands.commands[name].params for option in one.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known, (name, rest)
    assert Settings.read({}, {}, DEPLOY / "dford.toml").host == "127.0.0.1"


def test_every_metric_is_explained_and_no_rule_uses_another(tmp_path: Path) -> None:
    with serving(tmp_path / "log.db") as client:
        ok(client.post(f"{set_up(client)}/questions"))
        families = set(re.findall(r"^# TYPE (\w+)", client.get("/metrics").text, re.MULTILINE))
    assert set(re.findall(r"^\| `(dford_\w+)` \|", PAGE, re.MULTILINE)) == families
    rules = (DEPLOY / "alerts.yml").read_text()
    assert set(re.findall(r"\bdford_\w+", rules)) <= families
    if shutil.which("promtool"):
        subprocess.run(
            ["promtool", "check", "rules", str(DEPLOY / "alerts.yml")], check=True, stdout=subprocess.DEVNULL
        )


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    units = []
    for file in DEPLOY.glob("dford*.service"):
        assert PROGRAM in file.read_text()
        units.append(tmp_path / file.name)
        units[-1].write_text(file.read_text().replace(PROGRAM, sys.executable))
    units.append(Path(shutil.copy(DEPLOY / "dford-backup.timer", tmp_path)))
    result = subprocess.run(["systemd-analyze", "verify", *map(str, units)], capture_output=True, text=True)
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("caddy"), reason="Caddy is not installed")
def test_caddy_accepts_its_file(tmp_path: Path) -> None:
    command = ["caddy", "adapt", "--config", str(DEPLOY / "Caddyfile")]
    subprocess.run(command, check=True, capture_output=True, env={"HOME": str(tmp_path)})


class Proxy:
    """nginx with TLS in front of a server, as in the docs except for ports and certificate."""

    def __init__(self, folder: Path, server: httpx.Client, passes_host: bool = True) -> None:
        self.folder, self.port = folder, free_port()
        certificate, key = folder / "own.pem", folder / "own.key"
        command = ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-subj", "/CN=dford.example.org"]
        names = ["-addext", "subjectAltName=DNS:dford.example.org,IP:127.0.0.1"]
        subprocess.run(
            [*command, *names, "-days", "2", "-keyout", str(key), "-out", str(certificate)],
            check=True,
            capture_output=True,
        )
        text = (DEPLOY / "nginx.conf").read_text()
        for pattern, instead in [
            (r"127\.0\.0\.1:8765", server.base_url.netloc.decode()),
            (r"listen 80;", f"listen 127.0.0.1:{free_port()};"),
            (r"listen 443 ssl;", f"listen 127.0.0.1:{self.port} ssl;"),
            (r"ssl_certificate .*;", f"ssl_certificate {certificate};"),
            (r"ssl_certificate_key .*;", f"ssl_certificate_key {key};"),
            *([] if passes_host else [(r"http://dford", str(server.base_url)), (r"proxy_set_header .*;", "")]),
        ]:
            text, count = re.subn(pattern, instead, text)
            assert count
        paths = "".join(f"{name}_temp_path {folder};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        own = "user root;" if os.getuid() == 0 else ""  # the folder is ours alone
        whole = f"{own} pid {folder}/pid; error_log {folder}/errors; daemon off; events {{}}"
        (folder / "nginx.conf").write_text(
            f"{whole} http {{ access_log off; proxy_read_timeout 600s; {paths}\n{text}\n}}"
        )
        trusted = ssl.create_default_context(cafile=str(certificate))
        self.client = httpx.Client(
            base_url=f"https://127.0.0.1:{self.port}",
            headers={"Host": "dford.example.org"},
            verify=trusted,
            timeout=600,
        )

    def __enter__(self) -> httpx.Client:
        self._process = subprocess.Popen(
            ["nginx", "-c", str(self.folder / "nginx.conf")], stderr=subprocess.DEVNULL, cwd=self.folder
        )
        for _ in range(1000):
            try:
                self.client.get("/health")
                return self.client
            except httpx.ConnectError:
                assert self._process.poll() is None, (self.folder / "errors").read_text()
        raise AssertionError("nginx does not answer")

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self._process.terminate()
        self._process.wait()


needs_nginx = pytest.mark.skipif(not shutil.which("nginx") or not shutil.which("openssl"), reason="nginx is not there")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    with serving(tmp_path / "log.db") as client:
        yield client


@needs_nginx
def test_behind_nginx_everything_works_once_there_is_a_key(server: Any, tmp_path: Path) -> None:
    from dford.service.projects import keys

    service: Service = server.service
    _, key = service.write(None, lambda connection: keys.create(connection, None, "admin", "root"))
    with Proxy(tmp_path, server) as client:
        assert problem(client.get("/projects")) == (401, "no-key")
        client.headers["Authorization"] = f"Bearer {key}"
        project = set_up(client)
        assert len(answer_some(client, project, 5)) == 5
        line = b"4,blue," + b"x" * 193 + b"\n"
        upload: Any = {"content": b"size,colour,note\n" + line * 9_990, "headers": {"Content-Type": "text/csv"}}
        assert len(upload["content"]) > 2_000_000
        assert ok(client.post(f"{project}/items.csv", **upload))["count"] == 9_990
        too_large = b"x" * (service.settings.body_bytes + 1)
        assert problem(client.post(f"{project}/items.csv", content=too_large)) == (413, "too-large")
        assert client.get("/docs", headers={"Host": "other.example"}).status_code == 200
        assert problem(client.get("/projects/")) == (404, "http-404")


@needs_nginx
def test_behind_nginx_a_server_without_a_key_is_closed_if_the_host_is_passed_on(server: Any, tmp_path: Path) -> None:
    with Proxy(tmp_path, server) as client:
        assert problem(client.get("/projects")) == (403, "foreign")
        body = {"name": "rain", "levels": ["calm", "mild"]}
        assert problem(client.post("/projects", json=body)) == (403, "foreign")
    assert ok(server.get("/projects")) == []


@needs_nginx
def test_behind_nginx_that_passes_nothing_on_a_server_without_a_key_is_open(server: Any, tmp_path: Path) -> None:
    """The trap that the docs warn about. If this fails, it is gone: say so there."""
    with Proxy(tmp_path, server, passes_host=False) as client:
        assert client.get("/projects").status_code == 200
