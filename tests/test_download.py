"""Downloads: from a server on this machine, which cuts, lies and forgets."""

import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dford.cli import main
from dford.datasets import _download, download, load
from dford.datasets._catalogue import CATALOGUE
from small_data import content, make_known

ABALONE = "abalone/abalone.data"


@dataclass
class Home:
    """A server with one file, and what it was asked."""

    body: bytes
    address: str = ""
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    """Bytes after which each of the first answers breaks off."""
    status: list[int] = field(default_factory=list)
    """Statuses of the first answers, instead of the file."""
    asked: list[str | None] = field(default_factory=list)
    """The Range of each request."""


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    home = Home(content(ABALONE))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            home.asked.append(self.headers["Range"])
            if home.status:
                self.send_error(home.status.pop(0))
                return
            begin = int(self.headers["Range"][6:-1]) if self.headers["Range"] and home.ranges else 0
            if begin > len(home.body):
                self.send_error(416)
                return
            body = home.body[begin:]
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: home.cuts.pop(0)] if home.cuts else body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    home.address = f"http://127.0.0.1:{server.server_port}/file"
    make_known(monkeypatch)
    monkeypatch.setattr(_download, "PAUSE", 0.0)
    point_abalone_to(home, monkeypatch)
    yield home
    server.shutdown()
    thread.join()
    server.server_close()


def point_abalone_to(home: Home, monkeypatch: pytest.MonkeyPatch, member: str = "") -> None:
    """Make the server abalone's address."""
    entry = CATALOGUE["abalone"]
    total = f"sha256:{hashlib.sha256(home.body).hexdigest()}" if member else ""
    file = replace(entry.files[0], url=home.address, member=member, archive_sum=total)
    monkeypatch.setitem(CATALOGUE, "abalone", replace(entry, files=(file,)))


def files(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


def test_a_download_is_put_in_its_place_and_loads(home: Home, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    assert download("abalone", tmp_path, lambda done, total: told.append((done, total))) == [tmp_path / ABALONE]
    assert files(tmp_path) == [ABALONE]
    assert load("abalone", tmp_path).data.shape == (20, 10)
    assert told[-1] == (len(home.body), len(home.body))


def test_a_good_file_is_not_fetched_again_and_a_damaged_one_is(home: Home, tmp_path: Path) -> None:
    (tmp_path / "abalone").mkdir()
    (tmp_path / ABALONE).write_bytes(home.body)
    download("abalone", tmp_path)
    assert home.asked == []
    (tmp_path / ABALONE).write_bytes(home.body[:100])
    download("abalone", tmp_path)
    assert (tmp_path / ABALONE).read_bytes() == home.body


def test_a_cut_connection_is_resumed_where_it_was_cut(home: Home, tmp_path: Path) -> None:
    home.cuts = [100, 50]
    download("abalone", tmp_path)
    assert home.asked == [None, "bytes=100-", "bytes=150-"]
    assert (tmp_path / ABALONE).read_bytes() == home.body


def test_the_next_command_continues_where_the_last_gave_up(home: Home, tmp_path: Path) -> None:
    home.cuts = [40] + [0] * (_download.TRIES - 1)
    with pytest.raises(OSError, match="lost after 40 of"):
        download("abalone", tmp_path)
    assert not (tmp_path / ABALONE).exists()
    download("abalone", tmp_path)
    assert home.asked[-1] == "bytes=40-"
    assert (tmp_path / ABALONE).read_bytes() == home.body
    assert files(tmp_path) == [ABALONE]


def test_a_server_without_ranges_is_read_from_the_start(home: Home, tmp_path: Path) -> None:
    home.ranges, home.cuts = False, [100]
    download("abalone", tmp_path)
    assert home.asked == [None, "bytes=100-"]
    assert (tmp_path / ABALONE).read_bytes() == home.body


def test_a_part_longer_than_the_file_is_thrown_away(home: Home, tmp_path: Path) -> None:
    (tmp_path / "abalone").mkdir()
    (tmp_path / "abalone/.abalone.data.part").write_bytes(b"x" * 9_999)
    download("abalone", tmp_path)
    assert home.asked == ["bytes=9999-", None]
    assert files(tmp_path) == [ABALONE]


def test_a_busy_server_is_asked_again(home: Home, tmp_path: Path) -> None:
    home.status = [503, 429]
    download("abalone", tmp_path)
    assert len(home.asked) == 3


def test_wrong_bytes_are_refused_and_nothing_is_left(home: Home, tmp_path: Path) -> None:
    home.body = home.body[:-40]
    with pytest.raises(OSError, match=f"{home.address} did not return abalone.data .*nothing was kept"):
        download("abalone", tmp_path)
    assert files(tmp_path) == []


def test_a_missing_file_is_reported_without_a_second_try(home: Home, tmp_path: Path) -> None:
    home.status = [404]
    with pytest.raises(OSError, match=rf"cannot download {home.address} \(404 Not Found\)") as raised:
        download("abalone", tmp_path)
    assert "\n" not in str(raised.value)
    assert len(home.asked) == 1
    assert files(tmp_path) == []


def zipped(raw: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inside/it.data", raw)
    return packed.getvalue()


def tarred(raw: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("inside/it.data")
        member.size = len(raw)
        archive.addfile(member, io.BytesIO(raw))
    return gzip.compress(packed.getvalue())


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_file_in_an_archive_is_extracted_and_checked(
    pack: type[bytes], home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, home.body = home.body, pack(home.body)
    point_abalone_to(home, monkeypatch, member="inside/it.data")
    download("abalone", tmp_path)
    assert files(tmp_path) == [ABALONE]
    assert (tmp_path / ABALONE).read_bytes() == whole

    (tmp_path / ABALONE).unlink()
    home.body = pack(whole[:-40])
    with pytest.raises(OSError, match="the archive's sha256 differs"):
        download("abalone", tmp_path)
    point_abalone_to(home, monkeypatch, member="inside/it.data")  # the archive known, its member not
    with pytest.raises(OSError, match="did not return"):
        download("abalone", tmp_path)
    assert files(tmp_path) == []


def test_the_command_fetches_and_shows_no_progress_in_a_log(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    new = tmp_path / "new"
    assert main(["data", "--data", str(new), "--fetch", "abalone"]) == 0
    assert capsys.readouterr() == (f"abalone: {new / ABALONE}\n", "")

    (new / ABALONE).unlink()
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["data", "--data", str(new), "--fetch", "abalone"]) == 0
    assert "━" in capsys.readouterr().out, "a terminal gets a bar"


def test_a_failed_fetch_gets_one_sentence_and_exit_1(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.status = [404]
    assert main(["data", "--data", str(tmp_path), "--fetch", "abalone"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("dford: cannot download http://127.0.0.1")
    assert output.err.count("\n") == 1
