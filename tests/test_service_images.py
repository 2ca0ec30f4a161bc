"""Images in the service: shown as they are, learned from, and no other file is read."""

import io
import os
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import drawing
from dford.columns import Columns
from dford.columns import images as descriptors
from dford.service import table_project
from dford.service.core import Service
from dford.service.projects.items import features
from dford.service.settings import Settings
from dford.service.table_project import TableProject, fill_project, image_rows
from serving import LEVELS, learned, ok, replayed, serving


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 40 small images."""
    folder = tmp_path_factory.mktemp("photos")
    for n, content in enumerate(drawing.drawings(40, 0)[0]):
        (folder / f"{n:02}.png").write_bytes(content)
    (folder / "notes.txt").write_text("not an image")
    return folder


def project_of(client: Any, folder: Path, *names: str) -> Any:
    columns = [{"name": "photo", "kind": "image"}, {"name": "size", "kind": "number"}]
    ok(client.post("/projects", json={"name": "photos", "levels": LEVELS, "columns": columns}))
    rows = [{"photo": name, "size": n} for n, name in enumerate(names)]
    return ok(client.post("/projects/photos/items", json={"items": rows}))


def test_a_column_that_names_images_is_learned_from_by_what_they_show(photos: Path, tmp_path: Path) -> None:
    names = [f"{n:02}.png" for n in range(12)]
    with serving(tmp_path / "log.db", files=str(photos)) as client:
        added = project_of(client, photos, *names)
        assert added["columns"][0].startswith("photo: an image, learned from through 84 numbers")
        shown = client.get("/projects/photos/items/3/images/photo")
        assert (shown.status_code, shown.headers["content-type"]) == (200, "image/png")
        assert shown.content == (photos / names[2]).read_bytes()
        for _ in range(10):
            number = ok(client.post("/projects/photos/questions"))["number"]
            ok(client.post(f"/projects/photos/questions/{number}/answer", json={"higher": number % 2 == 0}))
        state = learned(client, "/projects/photos")
        predicted = ok(client.post("/projects/photos/predictions", json={"rows": [{"photo": "20.png", "size": 3}]}))
        assert predicted["predictions"][0]["level"] in LEVELS
    assert state["digest"] == replayed(tmp_path / "log.db", "photos")


@pytest.mark.parametrize(
    "name", ["../secret.png", "/etc/passwd", "link.png", "notes.txt", "no.png", "", "a\\..\\b.png", "."]
)
def test_nothing_outside_of_the_folder_is_read_or_learned_from(name: str, photos: Path, tmp_path: Path) -> None:
    content = (photos / "00.png").read_bytes()
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.png").write_bytes(content)
    (tmp_path / "secret.png").write_bytes(content)
    (inside / "notes.txt").write_text("<script>")
    (inside / "link.png").symlink_to(tmp_path / "secret.png")
    with serving(tmp_path / "log.db", files=str(inside)) as client:
        project_of(client, inside, "a.png", name)
        project = client.service.project("photos")
        X = project.rows(features(client.service.database, project, [1, 2]))
        assert X[0, :84].any()
        assert not X[1, :84].any()
        assert X[:, 84].tolist() == [0.0, 1.0], "it is marked as missing"
        refused = client.get("/projects/photos/items/2/images/photo")
        assert refused.status_code == 404
        assert refused.json()["code"] == "no-image"
        assert client.get("/projects/photos/items/1/images/size").status_code == 404
        assert client.get("/projects/photos/items/9/images/photo").json()["code"] == "no-item"


def archive(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return out.getvalue()


def test_uploaded_images_become_items_once_and_are_kept_by_their_hash(photos: Path, tmp_path: Path) -> None:
    images = {f"{n}.png": (photos / f"0{n}.png").read_bytes() for n in range(3)}
    with serving(tmp_path / "log.db") as client:
        ok(client.post("/projects", json={"name": "photos", "levels": LEVELS}))
        key = {"Idempotency-Key": "one"}
        first = ok(client.post("/projects/photos/images?name=beach.png", content=images["0.png"], headers=key))
        assert first == ok(client.post("/projects/photos/images?name=beach.png", content=images["0.png"], headers=key))
        more = ok(client.post("/projects/photos/images", content=archive(images)))
        assert (first["count"], more["first"], more["count"]) == (1, 2, 3)
        listed = ok(client.get("/projects/photos/items"))
        assert [one["shown"]["name"] for one in listed] == ["beach.png", "0.png", "1.png", "2.png"]
        assert len(list((tmp_path / "log.db-images" / "1").iterdir())) == 3, "the same image is kept once"
        for number, name in ((1, "0.png"), (4, "2.png")):
            assert client.get(f"/projects/photos/items/{number}/images/image").content == images[name]
        refused = client.post("/projects/photos/images?name=x.png", content=b"<svg onload=alert(1)>")
        assert (refused.status_code, refused.json()["code"]) == (422, "not-an-image")
        bad = client.post("/projects/photos/images", content=archive({"a.png": images["0.png"], "b.txt": b"text"}))
        assert bad.status_code == 422
        assert len(ok(client.get("/projects/photos/items"))) == 4, "all or none"


def test_images_whose_names_look_alike_are_all_kept(photos: Path, tmp_path: Path) -> None:
    names = ["a b.png", "a\u00a0b.png", "a\u202fb.png", "a\x07b.png"]
    images = {name: (photos / f"0{n}.png").read_bytes() for n, name in enumerate(names)}
    with serving(tmp_path / "log.db") as client:
        ok(client.post("/projects", json={"name": "photos", "levels": LEVELS}))
        assert ok(client.post("/projects/photos/images", content=archive(images)))["count"] == 4
        assert {one["shown"]["name"] for one in ok(client.get("/projects/photos/items"))} == {"a b.png"}
        seen = [client.get(f"/projects/photos/items/{n}/images/image").content for n in range(1, 5)]
        assert seen == list(images.values())


def test_an_image_column_called_name_keeps_the_images(photos: Path, tmp_path: Path) -> None:
    content = (photos / "00.png").read_bytes()
    with serving(tmp_path / "log.db") as client:
        body = {"name": "photos", "levels": LEVELS, "columns": [{"name": "name", "kind": "image"}]}
        ok(client.post("/projects", json=body))
        ok(client.post("/projects/photos/images?name=a.png", content=content))
        assert client.get("/projects/photos/items/1/images/name").content == content


def test_the_server_itself_decodes_no_image(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    def decode(*_: Any) -> None:
        raise AssertionError("an image was decoded in the server's own process")

    monkeypatch.setattr(descriptors, "decode", decode)
    with serving(tmp_path / "log.db", files=str(photos)) as client:
        project_of(client, photos, "00.png", "01.png")
        row = {"photo": "02.png", "size": 1}
        asked = ok(client.post("/projects/photos/questions", json={"features": row}))
        assert asked["shown"] == row
        ok(client.post("/projects/photos/predictions", json={"rows": [row]}))
    with serving(tmp_path / "other.db") as client:
        ok(client.post("/projects", json={"name": "first", "levels": LEVELS}))
        ok(client.post("/projects/first/images", content=(photos / "00.png").read_bytes()))
        stored = ok(client.get("/projects/first/items"))[0]["shown"]["image"]
        table = f"image,name\n{stored},again\n"
        assert ok(client.post("/projects/first/preview.csv", content=table))["columns"][0]["kind"] == "image"
        ok(client.post("/projects/first/items.csv", content=table))


def test_one_project_does_not_hold_up_the_uploads_of_another(photos: Path, tmp_path: Path) -> None:
    gates = [tmp_path / name for name in ("first", "second")]
    for gate in gates:
        os.mkfifo(gate)
    with serving(tmp_path / "log.db", work_seconds=60) as client, ThreadPoolExecutor(2) as threads:
        for name in ("hog", "other"):
            ok(client.post("/projects", json={"name": name, "levels": LEVELS}))
        run, hog = client.service.workers.run, client.service.project("hog").id
        work = [threads.submit(run, hog, Path.read_bytes, gates[0])]
        with gates[0].open("wb") as first:  # once it is open, it is being worked on
            work.append(threads.submit(run, hog, Path.read_bytes, gates[1]))
            ok(client.post("/projects/other/images", content=(photos / "00.png").read_bytes()))
            with pytest.raises(OSError, match="No such device"):  # nobody reads it: the second still waits
                os.open(gates[1], os.O_WRONLY | os.O_NONBLOCK)
            first.write(b"1")
        gates[1].write_bytes(b"2")
        assert [one.result() for one in work] == [b"1", b"2"]


def test_a_project_without_a_column_of_images_takes_none(photos: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "log.db") as client:
        ok(client.post("/projects", json={"name": "rain", "levels": LEVELS}))
        ok(client.post("/projects/rain/items", json={"items": [{"size": 1.5}, {"size": 2}]}))
        refused = client.post("/projects/rain/images", content=(photos / "00.png").read_bytes())
        assert (
            refused.json()["sentence"]
            == "this project has no image column, and its columns cannot be changed; create another project for images"
        )


def test_a_folder_of_images_becomes_a_project_that_sees_them(photos: Path, tmp_path: Path) -> None:
    levels = drawing.drawings(40, 0)[1]["brightness"]
    service = Service(Settings(database=str(tmp_path / "log.db"), files=str(photos)))
    try:
        project, count = fill_project(service, TableProject("photos", image_rows(photos)[0], ["1", "2", "3", "4", "5"]))
        assert count == 40
        assert [one.kind for one in Columns.of(project.columns).describe()] == ["image"]
        X = project.rows(features(service.database, project, list(range(1, 41))))
    finally:
        service.close()
    assert abs(np.corrcoef(X[:, 2], levels)[0, 1]) > 0.8, "brightness is one of the numbers"


def test_without_the_encoder_of_its_columns_a_project_refuses_images(photos: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "log.db", files=str(photos)) as client:
        project_of(client, photos, "00.png", "01.png")
    with serving(tmp_path / "log.db") as client:
        client.service._uploads = ""
        refused = client.post("/projects/photos/items", json={"items": [{"photo": "02.png", "size": 1}]})
        assert refused.json()["code"] == "no-encoder"
        assert "encoded by descriptor 1, but nothing here reads images" in refused.json()["sentence"]


def test_a_folder_again_is_compared_once_with_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each of its rows, which would take hours for a large folder."""
    hashed = []

    def counted(given: Iterable[Any]) -> set[Any]:
        found = list(given)
        hashed.append(len(found))
        return set(found)

    monkeypatch.setattr(table_project, "set", counted, raising=False)
    service = Service(Settings(database=str(tmp_path / "log.db")))
    try:
        rows = [{"size": str(n)} for n in range(300)]
        fill_project(service, TableProject("things", rows, ["1", "2", "3"], by_content=True))
        assert fill_project(service, TableProject("things", rows, by_content=True))[1] == 0
        assert fill_project(service, TableProject("things", rows[::-1], by_content=True))[1] == 0
    finally:
        service.close()
    assert sum(hashed) <= 2 * len(rows)


def test_a_folder_that_changed_adds_what_is_new(photos: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    service = Service(Settings(database=str(tmp_path / "log.db"), files=str(folder)))
    try:
        for names, added in ((["05.png", "06.png"], 2), (["00.png"], 1), ([], 0)):
            for name in names:
                (folder / name).write_bytes((photos / name).read_bytes())
            if not names:
                (folder / "05.png").unlink()
            table = TableProject("photos", image_rows(folder)[0], ["1", "2"], by_content=True)
            assert fill_project(service, table)[1] == added
        with service.database.reading() as connection:
            shown = connection.exec_driver_sql("select shown from items order by number").scalars().all()
        assert shown == ['{"image": "05.png"}', '{"image": "06.png"}', '{"image": "00.png"}']
    finally:
        service.close()
