"""The folder of images, attacked by somebody who wants what is outside of it, or to fill the disk."""

import hashlib
import os
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dford.service.projects.item_files import FileLimits, ItemFiles
from dford.service.refusal import Refusal
from drawing import file
from uploading import put

MEDIA = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
ENDINGS = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif"}
SMALL = {kind: file(Image.new("RGB", (4, 4), "red"), kind) for kind in MEDIA}
PNG = SMALL["PNG"]
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an image, and beside it a secret that is also an image."""
    (tmp_path / "secret.png").write_bytes(PNG)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.png").write_bytes(PNG)
    inside = tmp_path / "images"
    inside.mkdir()
    (inside / "own.png").write_bytes(PNG)
    return inside


def refused(files: ItemFiles, name: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        files.read(name)
    assert (caught.value.status, caught.value.code) == (404, "no-image")
    return caught.value


@pytest.mark.parametrize("kind", MEDIA)
@pytest.mark.parametrize(
    "name", ["a.png", "no ending", "ü/ø/日本/🏠.jpg", "e\u0301.png", "é.png", "%2e%2e.html", "12:30"]
)
def test_an_image_is_read_by_its_name_and_its_type_by_its_content(folder: Path, kind: str, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(SMALL[kind])
    files = ItemFiles(folder)
    assert files.read(name) == (SMALL[kind], MEDIA[kind])
    assert files.names() == sorted(["own.png", name])


def test_names_are_not_normalised(folder: Path) -> None:
    (folder / "é.png").write_bytes(PNG)
    files = ItemFiles(folder)
    refused(files, "e\u0301.png")
    for name in ("OWN.png", "own.png ", " own.png", "own.png/", "/own.png", "./own.png", "x/../own.png", ".//own.png"):
        refused(files, name)


@pytest.mark.parametrize(
    "name",
    [
        "", ".", "..", "/", "//", "../secret.png", "../images/own.png", "a/../../secret.png", "..\\secret.png",
        "\\secret.png", "C:own.png", "c:/own.png", "C:\\own.png", "\\\\host\\share", "//host/share", "own.png\0",
        "own.png\0.txt", "\0", "own\n.png", "\x7f", "\x9b", "\udcff.png", "..%2fsecret.png", "~/x", "~root/x",
        "file:///etc/passwd", "/etc/passwd", "/dev/zero", "/proc/self/environ", "own.png/..", "own.png/x", "a" * 300,
        "a/" * 5_000 + "a", "....//secret.png",
    ],
)  # fmt: skip
def test_names_that_lead_elsewhere_find_nothing(folder: Path, name: str) -> None:
    refused(ItemFiles(folder), name)


def test_no_absolute_name_is_read_even_inside_the_folder(folder: Path) -> None:
    refused(ItemFiles(folder), str(folder / "own.png"))


def test_no_link_is_followed(folder: Path) -> None:
    (folder / "link.png").symlink_to("../secret.png")
    (folder / "absolute.png").symlink_to(folder.parent / "secret.png")
    (folder / "inside.png").symlink_to("own.png")
    (folder / "round.png").symlink_to("round.png")
    (folder / "out").symlink_to("../outside")
    (folder / "up").symlink_to("..")
    (folder / "here").symlink_to(".")
    (folder / "deep").mkdir()
    (folder / "deep" / "out").symlink_to("../../outside")
    files = ItemFiles(folder)
    for name in ("link.png", "absolute.png", "inside.png", "round.png", "out/secret.png", "up/secret.png"):
        refused(files, name)
    for name in ("here/own.png", "deep/out/secret.png", "up/images/own.png"):
        refused(files, name)
    assert files.names() == ["own.png"]


def test_the_folder_itself_may_be_a_link(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert ItemFiles(link).names() == ["own.png"]
    assert ItemFiles(link).read("own.png")[0] == PNG


def test_a_folder_that_is_swapped_for_a_link_leads_nowhere(folder: Path) -> None:
    """The name is always one or the other, and what is outside is never read."""
    secret, own = SMALL["GIF"], SMALL["JPEG"]
    (folder.parent / "outside" / "a.png").write_bytes(secret)
    (folder / "real").mkdir()
    (folder / "real" / "a.png").write_bytes(own)
    (folder / "real").rename(folder / "sub")
    (folder / "link").symlink_to("../outside")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for one, other in (("sub", "real"), ("link", "sub"), ("sub", "link"), ("real", "sub")):
                os.rename(folder / one, folder / other)

    swapping = threading.Thread(target=swap)
    swapping.start()
    files, found, missed = ItemFiles(folder), 0, 0
    try:
        ends = time.monotonic() + 600
        while (found < 50 or missed < 50) and time.monotonic() < ends:
            try:
                assert files.read("sub/a.png")[0] == own
                found += 1
            except Refusal:
                missed += 1
    finally:
        done.set()
        swapping.join()
    assert found >= 50
    assert missed >= 50


def test_special_files_are_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "fifo.png")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "socket.png"))
    (folder / "folder.png").mkdir()
    devices = []
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        try:
            os.mknod(folder / "zero.png", 0o20666, os.makedev(1, 5))
            devices = ["zero.png"]
        except PermissionError:
            pass  # a container may not
    files = ItemFiles(folder)
    for name in ["fifo.png", "socket.png", "folder.png", *devices]:
        refused(files, name)
    assert files.names() == ["own.png"]


def test_other_types_are_refused_whatever_they_are_called(folder: Path) -> None:
    others = [SVG, b"<!doctype html><script>", b"", b"\x89PNG", b"BM" + b"\0" * 60, b"%PDF-1.4", b"II*\0", b" " + PNG]
    for number, content in enumerate(others):
        (folder / f"{number}.png").write_bytes(content)
        refused(ItemFiles(folder), f"{number}.png")
    assert ItemFiles(folder).names() == ["own.png"]


def test_large_files_are_refused_and_not_read(folder: Path) -> None:
    with (folder / "large.png").open("wb") as large:
        large.write(PNG)
        large.truncate(2**40)  # a hole: it takes no room here, but would in memory
    (folder / "fits.png").write_bytes(PNG.ljust(1_000, b"\0"))
    (folder / "over.png").write_bytes(PNG.ljust(1_001, b"\0"))
    files = ItemFiles(folder, limits=FileLimits(file_bytes=1_000))
    assert len(files.read("fits.png")[0]) == 1_000
    refused(files, "over.png")
    refused(files, "large.png")
    refused(ItemFiles(folder), "large.png")
    assert files.names() == ["fits.png", "own.png"]
    others = {name for name, is_image in files.files() if not is_image}
    assert others
    assert not others & {"fits.png", "own.png"}


def test_a_refusal_does_not_reveal_what_is_outside(folder: Path) -> None:
    def sentence(name: str) -> str:
        return refused(ItemFiles(folder), name).sentence.replace(repr(name), "NAME")

    assert sentence("../secret.png") == sentence("../nothing.png") == sentence("nothing.png")
    assert str(folder) not in sentence("nothing.png")


@given(st.text())
def test_no_name_raises_anything_but_a_refusal(name: str) -> None:
    refused(ItemFiles("/usr"), name)


def test_everything_that_is_listed_can_be_read(folder: Path) -> None:
    for name in ("b/2.png", "b/10.png", "a.png", "B.png", "back\\slash.png", "new\nline.png", ".hidden.png", "C:x.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(PNG)
    (folder / ".git").mkdir()
    (folder / ".git" / "x.png").write_bytes(PNG)
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.png")).write_bytes(PNG)  # not UTF-8
    files = ItemFiles(folder)
    assert files.names() == ["B.png", "a.png", "b/10.png", "b/2.png", "own.png"]
    assert all(files.read(name) for name in files.names())


def test_a_missing_folder_has_no_images(tmp_path: Path) -> None:
    assert ItemFiles(tmp_path / "none").names() == []
    refused(ItemFiles(tmp_path / "none"), "a.png")


def test_a_folder_with_too_many_files_is_refused(folder: Path) -> None:
    (folder / "notes.txt").write_text("")
    assert ItemFiles(folder, limits=FileLimits(names=2)).names() == ["own.png"]
    with pytest.raises(Refusal, match="the folder has more than 1 files; choose one with fewer"):
        ItemFiles(folder, limits=FileLimits(names=1)).names()


def test_a_very_deep_folder_is_searched_to_the_end(folder: Path) -> None:
    at = os.open(folder, os.O_RDONLY)
    for _ in range(1_200):  # longer than any path may be
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    try:
        assert ItemFiles(folder).names() == ["own.png"]
    finally:
        subprocess.run(["rm", "-r", folder / "d"], check=True)  # pytest cannot: it is too deep for Python


@pytest.mark.parametrize("kind", MEDIA)
def test_an_upload_is_kept_under_its_hash(tmp_path: Path, kind: str) -> None:
    files = ItemFiles(tmp_path / "new" / "folder")
    name = put(files.folder, SMALL[kind])
    assert name == f"{hashlib.sha256(SMALL[kind]).hexdigest()}.{ENDINGS[kind]}"
    assert put(files.folder, SMALL[kind]) == name
    assert files.names() == [name]
    assert files.read(name) == (SMALL[kind], MEDIA[kind])
    assert [one.name for one in files.folder.iterdir()] == [name]


@pytest.mark.parametrize("content", [b"", SVG, PNG[:-20], b"GIF89a<script>", PNG.ljust(1_001, b"\0")])
def test_what_is_not_an_image_is_not_kept(tmp_path: Path, content: bytes) -> None:
    files = ItemFiles(tmp_path / "folder", limits=FileLimits(file_bytes=1_000))
    with pytest.raises(Refusal) as caught:
        put(files.folder, content, files.limits)
    assert (caught.value.status, caught.value.code) == (422, "not-an-image")
    assert "\n" not in caught.value.sentence
    assert list(files.folder.iterdir()) == []


def test_an_upload_replaces_a_broken_file_or_a_link_and_never_writes_through_it(tmp_path: Path) -> None:
    files = ItemFiles(tmp_path / "folder")
    name = put(files.folder, PNG)
    kept, victim = files.folder / name, tmp_path / "victim"
    kept.write_bytes(PNG[:9])
    assert files.read(put(files.folder, PNG))[0] == PNG
    victim.write_text("mine")
    kept.unlink()
    kept.symlink_to(victim)
    assert files.read(put(files.folder, PNG))[0] == PNG
    assert victim.read_text() == "mine"


def test_the_same_upload_by_many_at_once_is_kept_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        names = set(pool.map(lambda _: put(tmp_path, PNG), range(64)))
    assert [one.name for one in tmp_path.iterdir()] == list(names)


def test_an_upload_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal) as caught:
        put(tmp_path / "file", PNG)
    assert (caught.value.status, caught.value.code) == (503, "not-written")
