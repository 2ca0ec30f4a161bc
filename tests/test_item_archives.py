"""ZIP archives of images: what is kept of them, and the ones that nobody should unpack."""

import io
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dford.service.projects.item_files import FileLimits, ItemFiles
from dford.service.refusal import Refusal
from drawing import file
from uploading import put_zip

SMALL = {kind: file(Image.new("RGB", (4, 4), "red"), kind) for kind in ("PNG", "JPEG", "WEBP", "GIF")}
PNG = SMALL["PNG"]
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def packed(*entries: tuple[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return out.getvalue()


def test_the_images_of_an_archive_are_kept_under_their_hashes(tmp_path: Path) -> None:
    files = ItemFiles(tmp_path / "folder")
    sent = {
        "a.png": PNG, "cats/b.jpg": SMALL["JPEG"], "cats/again.png": PNG, "../../evil.gif": SMALL["GIF"],
        "/etc/cron.d/x.webp": SMALL["WEBP"], "日本.png": PNG,
    }  # fmt: skip
    extra = [("cats/", b""), ("__MACOSX/cats/._b.jpg", b"x"), (".DS_Store", b"x"), ("cats/Thumbs.db", b"x")]
    kept = put_zip(files.folder, packed(*extra, *sent.items()))
    assert list(kept) == list(sent)
    assert all(files.read(kept[name])[0] == content for name, content in sent.items())
    assert files.names() == sorted(set(kept.values()))
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def bombs() -> dict[str, Any]:
    """Archives that nobody should unpack, and what is said about them."""
    whole = packed(("a.png", PNG))
    encrypted = bytearray(whole)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[encrypted.index(signature) + offset] |= 1
    lying = bytearray(packed(("a.png", PNG), ("b.png", PNG.ljust(5_000, b"\0"))))
    at = lying.rindex(b"PK\x01\x02") + 24
    lying[at : at + 4] = struct.pack("<I", 10)  # says that it unpacks to ten bytes
    same = packed(("a.png", PNG), ("b.png", PNG)).replace(b"b.png", b"a.png")
    return {
        "no archive": (b"junk", "not-an-image", "the file was refused: this is not an image"),
        "nothing": (b"", "not-an-image", "the file was refused: this is not an image"),
        "empty": (packed(), "bad-archive", "has no images"),
        "cut": (whole[: len(whole) // 2], "bad-archive", "not a ZIP archive"),
        "encrypted": (bytes(encrypted), "bad-archive", "'a.png' is encrypted"),
        "lying": (bytes(lying), "bad-archive", "'b.png' cannot be unpacked"),
        "same": (same, "bad-archive", "two files named 'a.png'"),
        "lzma": (packed(("a.png", PNG), how=zipfile.ZIP_LZMA), "bad-archive", "compressed in an unusual way"),
        "many": (packed(*((f"{n}.png", PNG) for n in range(21))), "bad-archive", "more than 20 entries"),
        "single": (packed(("a.png", PNG.ljust(50_000_000, b"\0"))), "not-an-image", "at most 10,000"),
        "total": (
            packed(*((f"{n}.png", PNG.ljust(9_000, b"\0")) for n in range(9))),
            "bad-archive",
            "larger than 0.05 MB",
        ),
        "other": (
            packed(("a.png", PNG), ("items.csv", b"a,b")),
            "not-an-image",
            "'items.csv' was refused: this is not",
        ),
        "svg": (packed(("a.png", SVG)), "not-an-image", "'a.png' was refused: this is not an image"),
        "archive": (packed(("a.zip", whole)), "not-an-image", "'a.zip' was refused"),
    }


@pytest.mark.parametrize("kind", ["no archive", "nothing", "empty", "cut", "encrypted", "lying", "same", "lzma", "many",
                                  "single", "total", "other", "svg", "archive"])  # fmt: skip
def test_a_bad_archive_is_refused_in_one_sentence_and_none_of_it_kept(tmp_path: Path, kind: str) -> None:
    content, code, sentence = bombs()[kind]
    files = ItemFiles(tmp_path / "folder", limits=FileLimits(file_bytes=10_000, entries=20, archive_bytes=50_000))
    with pytest.raises(Refusal) as caught:
        put_zip(files.folder, content, files.limits)
    assert (caught.value.status, caught.value.code) == (422, code)
    assert sentence in caught.value.sentence
    assert "\n" not in caught.value.sentence
    assert list(files.folder.iterdir()) == []


def test_unpacking_an_archive_takes_bounded_memory(tmp_path: Path) -> None:
    content = packed(("a.png", PNG.ljust(100_000_000, b"\0")))
    assert len(content) < 200_000
    tracemalloc.start()
    with pytest.raises(Refusal, match="at most"):
        put_zip(tmp_path, content, FileLimits(file_bytes=1_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


@given(st.data())
def test_a_broken_archive_raises_nothing_but_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(packed(("a.png", PNG), ("b/c.gif", SMALL["GIF"])))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    files = ItemFiles(tmp_path_factory.getbasetemp() / "broken")
    try:
        kept = put_zip(files.folder, bytes(content))
    except Refusal as refusal:
        kept = {} if refusal.status == 422 else {"": ""}
    assert all(name in files.names() for name in kept.values())
