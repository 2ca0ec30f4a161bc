"""The image folder of a server with several projects: nobody reads the images of a project that is not theirs."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from dford.service.projects import keys
from dford.service.projects.items import features
from drawing import file
from serving import LEVELS, ok, problem, serving

OWN, SECRET = (file(Image.new("RGB", (8, 8), colour)) for colour in ("red", "blue"))
COLUMNS = [{"name": "photo", "kind": "image"}, {"name": "size", "kind": "number"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A part with an image for each of two projects, and a link from one to the other."""
    folder = tmp_path / "photos"
    for part, content in (("mine", OWN), ("theirs", SECRET)):
        (folder / part / "deep").mkdir(parents=True)
        (folder / part / f"{part}.png").write_bytes(content)
    (folder / "root.png").write_bytes(SECRET)
    (folder / "mine" / "link.png").symlink_to("../theirs/theirs.png")
    (folder / "mine" / "out").symlink_to("../theirs")
    (folder / "link").symlink_to("theirs")
    return folder


class Server:
    """A server with an admin of all projects, and one of the project `mine`."""

    def __init__(self, client: Any, **project: Any) -> None:
        _, root = client.service.write(None, lambda connection: keys.create(connection, None, "admin", "root"))
        client.service.keys.forget()
        self.client, self.root = client, {"Authorization": f"Bearer {root}"}
        new = {"name": "mine", "levels": LEVELS, "columns": COLUMNS, **project}
        ok(client.post("/projects", json=new, headers=self.root))
        made = ok(client.post("/projects/mine/keys", json={"role": "admin", "name": "ann"}, headers=self.root))
        self.ann = {"Authorization": f"Bearer {made['key']}"}

    def add(self, name: str, key: dict[str, str]) -> Any:
        return self.client.post("/projects/mine/items", json={"items": [{"photo": name, "size": 1}]}, headers=key)

    def image(self, number: int) -> Any:
        return self.client.get(f"/projects/mine/items/{number}/images/photo", headers=self.ann)

    def is_seen(self, number: int) -> bool:
        """Whether an item was learned from by its image."""
        project = self.client.service.project("mine")
        return not project.rows(features(self.client.service.database, project, [number]))[0, 84]


ELSEWHERE = [
    "../theirs/theirs.png", "theirs.png", "theirs/theirs.png", "link.png", "out/theirs.png", "../root.png", "root.png",
    "..\\theirs\\theirs.png", "MINE.PNG", "deep/../../theirs/theirs.png", "./mine.png", "mine/mine.png", "C:mine.png",
]  # fmt: skip


def test_a_project_with_a_part_of_the_folder_sees_nothing_else_of_it(folder: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "log.db", files=str(folder)) as client:
        server = Server(client, files="mine")
        assert ok(client.get("/projects/mine", headers=server.ann))["files"] == "mine"
        ok(server.add("mine.png", server.ann))
        assert server.image(1).content == OWN
        assert server.is_seen(1)
        names = [*ELSEWHERE, str(folder / "mine" / "mine.png"), str(folder / "theirs" / "theirs.png")]
        for number, name in enumerate(names, 2):
            ok(server.add(name, server.root if number % 2 else server.ann))  # not there, whoever names it
            assert problem(server.image(number)) == (404, "no-image"), name
            assert not server.is_seen(number), name


def test_without_a_part_only_an_admin_of_all_projects_names_images_of_the_folder(folder: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "log.db", files=str(folder)) as client:
        server = Server(client)
        ok(server.add("mine/mine.png", server.root))
        assert server.image(1).content == OWN
        for name in ("theirs/theirs.png", "mine/mine.png", "root.png", "no.png"):
            refused = server.add(name, server.ann)
            assert problem(refused) == (403, "not-allowed"), "the same for what is not there"
            assert refused.json()["field"] == "items.0.photo"
            sentence = refused.json()["sentence"].replace(repr(name), "NAME")
            assert sentence.startswith("NAME is not an image that was uploaded to this project; only an admin of all")
        assert len(ok(client.get("/projects/mine/items", headers=server.ann))) == 1
        ok(client.post("/projects/mine/images", content=SECRET, headers=server.ann))
        stored = ok(client.get("/projects/mine/items?after=1", headers=server.ann))[0]["shown"]["photo"]
        ok(server.add(stored, server.ann))
        assert server.image(3).content == SECRET
        table = "photo,size\ntheirs/theirs.png,1\n"
        ok(client.post("/projects/mine/preview.csv", content=table, headers=server.ann))
        refused = client.post("/projects/mine/items.csv", content=table, headers=server.ann)
        assert problem(refused) == (403, "not-allowed")
        rows = [{"photo": name, "size": 1} for name in ("theirs/theirs.png", "no.png", None)]
        predicted = ok(client.post("/projects/mine/predictions", json={"rows": rows}, headers=server.ann))
        assert len({str(one) for one in predicted["predictions"]}) == 1, "to the learner they are all missing"


def test_the_uploads_of_a_project_cannot_be_named_in_another(tmp_path: Path) -> None:
    with serving(tmp_path / "log.db") as client:
        server = Server(client)
        ok(client.post("/projects", json={"name": "theirs", "levels": LEVELS}, headers=server.root))
        ok(client.post("/projects/theirs/images", content=SECRET, headers=server.root))
        stored = ok(client.get("/projects/theirs/items", headers=server.root))[0]["shown"]["image"]
        for name in (stored, f"../2/{stored}", f"2/{stored}"):
            assert problem(server.add(name, server.ann)) == (403, "not-allowed")
        ok(server.add(stored, server.root))
        assert problem(server.image(1)) == (404, "no-image")


@pytest.mark.parametrize(
    "part", ["", "..", "/", "/etc", "mine/..", "mine/../theirs", "./mine", "mine/", "link", "mine/out", "none", "MINE",
             "mine\\deep", "root.png", "mine\0"]
)  # fmt: skip
def test_a_part_of_the_folder_is_a_folder_inside_it(part: str, folder: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "log.db", files=str(folder)) as client:
        response = client.post("/projects", json={"name": "mine", "levels": LEVELS, "files": part})
        assert problem(response) in {(422, "no-folder"), (422, "invalid")}
        assert problem(client.get("/projects/mine")) == (404, "no-project")
        ok(client.post("/projects", json={"name": "deep", "levels": LEVELS, "files": "mine/deep"}))
        ok(client.post("/projects", json={"name": "whole", "levels": LEVELS, "files": "."}))
    with serving(tmp_path / "other.db") as client:
        response = client.post("/projects", json={"name": "mine", "levels": LEVELS, "files": "."})
        assert problem(response) == (422, "no-folder")


def test_all_of_the_folder_can_be_the_part_of_a_project(folder: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "log.db", files=str(folder)) as client:
        server = Server(client, files=".")
        ok(server.add("theirs/theirs.png", server.ann))
        assert server.image(1).content == SECRET
