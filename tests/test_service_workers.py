"""The processes for slow work: shared fairly, replaced when they die, and nothing of what was refused stays on disk."""

import hashlib
import io
import os
import shutil
import signal
import threading
import time
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image

from dford.columns import images
from dford.service import worker
from dford.service.core import Service
from dford.service.projects import image_pieces, image_uploads, uploads
from dford.service.projects.image_pieces import in_pieces
from dford.service.projects.image_source import ImageSource
from dford.service.projects.uploads import Bounds
from dford.service.refusal import Refusal
from dford.service.settings import Settings
from dford.service.worker import Workers
from drawing import file
from serving import LEVELS, ok, problem, serving
from uploading import here

PNG = [file(Image.new("RGB", (8, 8), (n, 0, 0))) for n in range(5)]


def until(condition: Callable[[], Any]) -> None:
    patience = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < patience
        time.sleep(0.005)


def archive(*contents: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for number, content in enumerate(contents):
            packed.writestr(f"{number}.png", content)
    return out.getvalue()


def left_behind(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() or path.name.startswith(".")]


def test_another_project_waits_for_no_more_than_one_turn_of_each() -> None:
    workers, order = Workers(600.0), list[int]()

    def work(project: int) -> None:
        with workers.turn(project):
            order.append(project)

    with ThreadPoolExecutor(9) as threads, ExitStack() as first, ExitStack() as second:
        first.enter_context(workers.turn(1))
        second.enter_context(workers.turn(2))
        for project in (1, 1, 1, 1, 2, 2, 2, 2):
            threads.submit(work, project)
        until(lambda: len(workers._waiting) == 8)
        threads.submit(work, 3)
        until(lambda: len(workers._waiting) == 9)
        second.close()  # one piece of work is done: of the others, project 3 had its last turn the longest ago
        until(lambda: order)
        assert order[0] == 3
        first.close()
        until(lambda: len(order) == 9)
    assert sorted(order) == [1, 1, 1, 1, 2, 2, 2, 2, 3]


def test_a_project_has_one_worker_at_a_time() -> None:
    workers = Workers(600.0)
    with ThreadPoolExecutor(2) as threads, ExitStack() as stack:
        stack.enter_context(workers.turn(1))
        second = threads.submit(stack.enter_context, workers.turn(1))
        until(lambda: workers._waiting)
        with workers.turn(2):
            assert not second.done()
        assert not second.done()
        stack.close()
        second.result(600)
        stack.close()


def test_all_pieces_of_a_request_share_its_time() -> None:
    workers = Workers(2.0)

    def work() -> None:
        with workers.budget(1) as budget:
            for _ in range(1_000):
                budget.run(time.sleep, 0.1)

    try:
        with pytest.raises(Refusal, match="took longer than 2 s and was stopped"):
            work()
    finally:
        workers.close()


@pytest.mark.parametrize(("seconds", "turns"), [(600.0, 1), (0.0, 5)])
def test_short_pieces_of_a_request_share_a_turn_and_others_come_after_long_ones(
    seconds: float, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_TURN", seconds)
    workers = Workers(600.0)
    try:
        with workers.budget(1) as budget:
            assert [budget.run(len, b"12") for _ in range(5)] == [2] * 5
            assert workers._last_turns == {1: turns}
            assert len(workers._free) == 1
        assert len(workers._free) == 2
    finally:
        workers.close()


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Mock:
    decode = Mock(wraps=images.decode)
    monkeypatch.setattr(images, "decode", decode)
    return decode


def test_an_upload_decodes_each_image_once_and_each_is_a_piece_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decoded: Mock
) -> None:
    """What takes longer than a slice ends after one image, and other projects have their turn."""
    monkeypatch.setattr(image_pieces, "SLICE", 0.0)
    for number, content in enumerate(PNG[:3]):
        (tmp_path / f"{number}.png").write_bytes(content)
    names = ["gone.png", *(f"{number % 3}.png" for number in range(3_000))]
    table = "photo\n" + "\n".join(names)
    bounds, pieces = Bounds(10_000, 1_000, ImageSource(str(tmp_path), ".")), list[str]()

    def run(function: Callable[..., Any], *given: Any, most: float = 0.0) -> Any:
        pieces.append(function.__name__)
        before = decoded.call_count
        result = function(*given)
        assert decoded.call_count <= before + 1
        return result

    ready = in_pieces(run, uploads.csv_items, [], table.encode(), bounds)
    assert decoded.call_count == 3
    assert pieces.count("look_at_some") == 4
    X = np.array([np.frombuffer(x) for _, x in ready.items])
    assert X[:, -1].tolist() == [1.0] + [0.0] * 3_000
    assert (X[1:].reshape(1_000, 3, -1) == X[1:4]).all()
    assert (X[1, :-1] == images.describe(PNG[0])).all()


def test_a_preview_decodes_no_more_than_it_needs(tmp_path: Path, decoded: Mock) -> None:
    (tmp_path / "a.png").write_bytes(PNG[0])
    for names in (["a.png"] * 50, ["gone.png"] * 3 + ["a.png"] * 50, [f"gone{n}.png" for n in range(200)] + ["a.png"]):
        decoded.reset_mock()
        bounds = Bounds(10_000, 1_000, ImageSource(str(tmp_path), "."))
        seen = in_pieces(here, uploads.preview_csv, [], ("photo\n" + "\n".join(names)).encode(), bounds)
        assert (seen["columns"][0].kind, decoded.call_count) == ("image", 1)


def test_an_uploaded_image_is_decoded_once(tmp_path: Path, decoded: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_uploads, "SLICE", 0.0)
    content = archive(PNG[0], PNG[1], PNG[0])
    source = ImageSource(uploads=str(tmp_path / "1"))
    with image_uploads.Upload(source.uploads) as upload:
        kept, seen = upload.unpack(here, content, "x", source)
        ready = in_pieces(here, uploads.image_items, [], kept, Bounds(10, 1_000, source), seen=seen)
        upload.keep()
    assert (len(ready.items), decoded.call_count) == (3, 2)
    assert sorted(path.name for path in (tmp_path / "1").iterdir()) == sorted({stored for _, stored in kept})


@pytest.mark.parametrize("what", ["no column", "broken", "bomb", "many", "taken back"])
def test_a_refused_upload_leaves_nothing_on_the_disk(what: str, tmp_path: Path) -> None:
    bomb = bytearray(PNG[0])
    bomb[16:24] = (1).to_bytes(4, "big") + (50_000_000).to_bytes(4, "big")
    bomb[29:33] = zlib.crc32(bomb[12:29]).to_bytes(4, "big")
    refused = {
        "no column": (PNG[0], (422, "bad-columns")),
        "broken": (archive(PNG[0], PNG[1][:45]), (422, "not-an-image")),
        "bomb": (archive(PNG[0], bytes(bomb)), (422, "not-an-image")),
        "many": (archive(*PNG), (422, "too-many")),
        "taken back": (PNG[0], (503, "busy")),
    }
    content, expected = refused[what]
    with serving(tmp_path / "log.db", items_per_call=4) as client:
        columns = [{"name": "size", "kind": "number"}] if what == "no column" else None
        ok(client.post("/projects", json={"name": "photos", "levels": LEVELS, "columns": columns}))
        if what == "taken back":
            client.service.writer._length = 0
        response = client.post("/projects/photos/images", content=content)
        assert problem(response) == expected
        if what == "bomb":
            assert response.json()["sentence"].endswith("at most 30,000 on either side")
        assert left_behind(tmp_path / "log.db-images") == []


def test_a_killed_worker_is_replaced_its_upload_refused_and_its_draft_gone(tmp_path: Path) -> None:
    root = tmp_path / "log.db-images"
    with serving(tmp_path / "log.db") as client, ThreadPoolExecutor(1) as threads:
        for name in ("photos", "other"):
            ok(client.post("/projects", json={"name": name, "levels": LEVELS}))
            ok(client.post(f"/projects/{name}/images", content=PNG[0]))
        process = client.service.workers._free[-1]._process
        os.kill(process.pid, signal.SIGSTOP)  # so it hangs
        upload = threads.submit(client.post, "/projects/photos/images", content=archive(*PNG))
        until(lambda: list(root.glob("1/.draft-*")))
        ok(client.post("/projects/other/images", content=PNG[1]))  # others go on, with the other worker
        os.kill(process.pid, signal.SIGKILL)
        assert problem(upload.result(600)) == (503, "too-much")
        assert not list(root.glob("*/.draft-*"))
        assert len(ok(client.get("/projects/photos/items"))) == 1
        assert ok(client.post("/projects/photos/images", content=archive(*PNG)))["count"] == 5


def test_a_worker_that_hangs_is_ended_and_its_upload_refused(tmp_path: Path) -> None:
    with serving(tmp_path / "log.db") as client:
        ok(client.post("/projects", json={"name": "photos", "levels": LEVELS}))
        ok(client.post("/projects/photos/images", content=PNG[0]))
        hanging = client.service.workers._free[-1]
        os.kill(hanging._process.pid, signal.SIGSTOP)
        hanging._seconds = 0.5
        assert problem(client.post("/projects/photos/images", content=PNG[1])) == (503, "too-much")
        assert [path.name.startswith(".") for path in (tmp_path / "log.db-images" / "1").iterdir()] == [False]
        hanging._seconds = 120.0
        ok(client.post("/projects/photos/images", content=PNG[1]))


def test_a_start_keeps_or_removes_what_a_killed_server_left(tmp_path: Path) -> None:
    """It keeps the images of items that are in the database, and leaves alone what another server is writing."""
    root = tmp_path / "log.db-images"
    with serving(tmp_path / "log.db") as client:
        ok(client.post("/projects", json={"name": "photos", "levels": LEVELS}))
        ok(client.post("/projects/photos/images", content=PNG[0]))
    stored = [f"{hashlib.sha256(content).hexdigest()}.png" for content in PNG]
    committed = root / "1" / ".draft-committed"
    committed.mkdir()
    shutil.move(root / "1" / stored[0], committed / stored[0])  # killed after the commit, and before the move
    (committed / stored[1]).write_bytes(PNG[1])
    (root / "1" / ".draft-early").mkdir()
    (root / "1" / ".draft-early" / stored[2]).write_bytes(PNG[2][:20])
    with image_uploads.Upload(str(root / "1")) as living:
        draft = living._draft / stored[3]
        draft.write_bytes(PNG[3])
        Service(Settings(database=str(tmp_path / "log.db"))).close()
        assert sorted(left_behind(root)) == sorted([root / "1" / stored[0], draft.parent, draft])
    with serving(tmp_path / "log.db") as client:
        assert client.get("/projects/photos/items/1/images/image").content == PNG[0]
    assert left_behind(root) == [root / "1" / stored[0]]


def test_images_that_items_already_name_can_be_read_while_they_are_uploaded_again(tmp_path: Path) -> None:
    with serving(tmp_path / "log.db") as client:
        ok(client.post("/projects", json={"name": "photos", "levels": LEVELS}))
        ok(client.post("/projects/photos/images", content=PNG[0]))
        done = threading.Event()

        def read() -> set[bytes]:
            seen = set()
            while not done.is_set():
                seen.add(client.get("/projects/photos/items/1/images/image").content)
            return seen

        with ThreadPoolExecutor(1) as threads:
            reading = threads.submit(read)
            try:
                ok(client.post("/projects/photos/images", content=archive(*PNG)))
                client.post("/projects/photos/images", content=archive(PNG[0], b"no image"))
            finally:
                done.set()
            assert reading.result(600) == {PNG[0]}


def test_a_worker_that_is_closed_while_it_starts_ends_and_starts_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, processes = worker._context([]).Process, list[Any]()
    starting, closed = threading.Event(), threading.Event()
    start = kind.start

    def start_later(process: Any) -> None:
        processes.append(process)
        starting.set()
        assert closed.wait(600)
        start(process)

    monkeypatch.setattr(kind, "start", start_later)
    workers = Workers(600.0)
    with ThreadPoolExecutor(1) as threads:
        work = threads.submit(workers.run, 1, len, b"12")
        assert starting.wait(600)
        try:
            workers.close()
        finally:
            closed.set()
        with pytest.raises(Refusal, match="shutting down"):
            work.result(600)
    with pytest.raises(Refusal, match="shutting down"):
        workers.run(1, len, b"12")
    assert [process.is_alive() for process in processes] == [False]


def test_a_worker_that_is_closed_while_it_works_ends() -> None:
    workers = Workers(600.0)
    with ThreadPoolExecutor(1) as threads:
        assert workers.run(1, len, b"12") == 2
        process = workers._free[-1]._process
        work = threads.submit(workers.run, 1, time.sleep, 600)
        until(lambda: workers._busy)
        workers.close()
        with pytest.raises(Refusal, match="shutting down"):
            work.result(600)
    assert process is not None
    assert not process.is_alive()


def test_if_a_part_of_the_service_cannot_be_closed_the_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, order = Service(Settings(database=str(tmp_path / "log.db"))), list[str]()
    for name in ("_folds", "workers", "writer", "database"):
        part = getattr(service, name)

        def close(*given: Any, name: str = name, close: Callable[..., None] = part.close) -> None:
            order.append(name)
            close(*given)
            raise OSError(name)

        monkeypatch.setattr(part, "close", close)
    with pytest.raises(OSError, match="database"):
        service.close()
    assert order == ["_folds", "workers", "writer", "database"]
