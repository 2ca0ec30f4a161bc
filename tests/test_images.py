"""Images as numbers: what they say, that they never change, and what is refused."""

import hashlib
import io
import os
import struct
import subprocess
import sys
import tracemalloc
import warnings
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFilter

from dford import Columns, Pool
from dford.columns import images
from dford.columns.images import FEATURES, describe
from drawing import LEVELS, PROPERTIES, draw, drawings, file

FORMATS = ["PNG", "JPEG", "WEBP", "GIF"]


def numbers(data: bytes) -> dict[str, float]:
    return dict(zip(FEATURES, describe(data).tolist(), strict=True))


def drawn(tilt: float = 0.5, brightness: float = 1.0, sharpness: float = 1.0) -> Image.Image:
    return Image.open(io.BytesIO(draw(np.random.default_rng(0), brightness, sharpness, tilt)))


def slope(angle: float) -> bytes:
    """Stripes that are turned anticlockwise from the horizontal."""
    y, x = np.mgrid[:200, :200]
    across = x * np.sin(np.radians(angle)) + y * np.cos(np.radians(angle))
    return file(Image.fromarray(np.uint8(128 + 100 * np.sin(across / 4))))


@pytest.fixture(scope="module")
def shown() -> tuple[Any, dict[str, list[int]]]:
    """Images as their numbers, and their levels by each property."""
    images, levels = drawings(250)
    return np.array([describe(one) for one in images]), levels


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_pool_places_images_with_far_fewer_answers_than_bisection(name: str, shown: Any) -> None:
    X, y = shown[0], np.array(shown[1][name])
    pool = Pool(X, levels=LEVELS, random_state=0)
    answers, off = 0, np.inf
    while off >= 0.1:
        for _ in range(20):
            question = pool.ask()
            pool.tell(question, higher=bool(y[question.item] > question.level))
        answers, off = answers + 20, float(np.abs(pool.levels_ - y).mean())
        # 2.4 is what bisection takes, and a pool that knows nothing about the images
        assert answers < 0.75 * 2.4 * len(y), f"{answers} answers, and {name} is still {off:.2f} levels off"
    print(f"{name}: {answers / len(y):.2f} answers per item to {off:.2f} levels off")


@pytest.mark.parametrize("angle", range(0, 180, 15))
def test_the_angle_of_edges_can_be_read(angle: int) -> None:
    found = numbers(slope(angle))
    assert max((found[f"edges_at_{a}"], a) for a in range(0, 180, 15))[1] == angle
    for kind in ("strongest", "direction"):
        doubled = np.degrees(np.arctan2(found[f"{kind}_sin"], found[f"{kind}_cos"]))
        assert (doubled - 2 * angle + 180) % 360 - 180 == pytest.approx(0, abs=4)


def test_the_numbers_say_what_their_names_say() -> None:
    sharp, dark = numbers(file(drawn())), numbers(file(drawn(brightness=0)))
    blurred = numbers(file(drawn().filter(ImageFilter.GaussianBlur(3))))
    assert dark["brightness"] < sharp["brightness"] / 2
    for name in ("detail_1", "sharpness_1", "sharpness_2", "sharpness_all", "edges", "edges_99"):
        assert blurred[name] < sharp[name], name
    for name in ("red", "yellow", "lime", "cyan", "blue", "magenta"):
        found = numbers(file(Image.new("RGB", (40, 20), name)))
        assert found["hue_green" if name == "lime" else f"hue_{name}"] == 1
        assert sum(found[f"hue_{hue}"] for hue in images._HUES) == 1
        assert found["log_aspect"] == 1
    corner = Image.new("L", (90, 90))
    corner.paste(255, (60, 0, 90, 30))
    found = numbers(file(corner))
    assert [third for third in images._THIRDS if found[f"brightness_{third}"]] == ["top_right"]
    assert found["white_share"] == pytest.approx(1 / 9)
    strength = {c: sum(found[f"edges_at_{a}_{c}"] for a in images._FEW_ANGLES) for c in images._CORNERS}
    assert strength == {"top_left": 0, "top_right": pytest.approx(1), "bottom_left": 0, "bottom_right": 0}


@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]), st.data())
def test_any_image_has_finite_numbers(width: int, height: int, mode: str, data: st.DataObject) -> None:
    bits = data.draw(st.binary(min_size=1, max_size=64))
    size = len(Image.new(mode, (width, height)).tobytes())
    image = Image.frombytes(mode, (width, height), (bits * size)[:size])
    found = describe(file(image))
    assert found.shape == (len(FEATURES),)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("size", [(1, 1), (10_000, 1), (1, 10_000), (2, 3)])
@pytest.mark.parametrize("kind", FORMATS)
def test_the_smallest_and_longest_images_have_finite_numbers(size: tuple[int, int], kind: str) -> None:
    for colour in ("black", "white", "red"):
        assert np.isfinite(describe(file(Image.new("RGB", size, colour), kind))).all()


def test_16_bit_grey_is_not_clipped() -> None:
    ramp = np.linspace(0, 65_535, 128 * 128).reshape(128, 128).astype(np.uint16)
    deep, plain = numbers(file(Image.fromarray(ramp))), numbers(file(Image.fromarray((ramp >> 8).astype(np.uint8))))
    assert deep == plain


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_an_image_is_turned_as_its_camera_was(orientation: int, kind: str) -> None:
    upright = drawn().resize((60, 90))
    exif = Image.Exif()
    exif[0x0112] = orientation
    # as it is stored: what turns it back is the inverse of what the tag asks for
    turn = images._TURNS.get(orientation)
    inverse = {6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}.get(orientation, turn)
    stored = upright if inverse is None else upright.transpose(inverse)
    assert stored.size == ((90, 60) if orientation > 4 else (60, 90))
    best = {"lossless": True} if kind == "WEBP" else {"quality": 100, "subsampling": 0} if kind == "JPEG" else {}
    found, expected = describe(file(stored, kind, exif=exif, **best)), describe(file(upright))
    assert found == pytest.approx(expected, abs=0 if kind != "JPEG" else 0.06)


def test_transparent_pixels_are_white() -> None:
    clear = Image.new("RGBA", (50, 50), (255, 0, 0, 0))
    clear.paste((0, 0, 255, 255), (10, 10, 40, 40))
    solid = Image.new("RGB", (50, 50), "white")
    solid.paste((0, 0, 255), (10, 10, 40, 40))
    for kind in ("PNG", "WEBP"):
        assert (describe(file(clear, kind, lossless=True)) == describe(file(solid))).all()
    assert (describe(file(clear, "GIF")) == describe(file(solid))).all()
    keyed = Image.new("L", (20, 20), 7)
    assert numbers(file(keyed, "PNG", transparency=7))["brightness"] == 1


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_an_animation_counts_as_its_first_image(kind: str) -> None:
    frames = [Image.new("RGB", (30, 30), colour) for colour in ("red", "blue", "lime")]
    moving = file(frames[0], kind, save_all=True, append_images=frames[1:], lossless=True)
    assert (describe(moving) == describe(file(frames[0]))).all()


def test_the_same_bytes_have_the_same_numbers_in_every_process(tmp_path: Path) -> None:
    for kind in FORMATS:
        (tmp_path / kind).write_bytes(file(drawn().resize((700, 500)), kind))
    code = """
import hashlib, sys
from contextlib import suppress
from pathlib import Path
from dford.columns.images import describe
files = sorted(Path(sys.argv[1]).iterdir())
print(hashlib.sha256(b"".join(describe(file.read_bytes()).tobytes() for file in files)).hexdigest())
"""
    ours = b"".join(describe(one.read_bytes()).tobytes() for one in sorted(tmp_path.iterdir()))
    theirs = {
        subprocess.run(
            [sys.executable, "-c", code, tmp_path], check=True, capture_output=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": seed, "NPY_DISABLE_CPU_FEATURES": less},
        ).stdout.strip()
        for seed, less in (("1", ""), ("2", " ".join(_features())))
    }  # fmt: skip
    assert theirs == {hashlib.sha256(ours).hexdigest()}


def _features() -> list[str]:
    """Processor features that NumPy can be told to do without."""
    config: Any = np.show_config(mode="dicts")
    return list(config["SIMD Extensions"].get("found", []))


def test_a_large_jpeg_is_decoded_small_and_reports_its_full_size() -> None:
    large = drawn().resize((4_000, 3_000))
    data = file(large, "JPEG", quality=95)
    decoded = images.decode(data, 256)
    assert (decoded.image.size, decoded.width, decoded.height) == ((500, 375), 4_000, 3_000)
    assert describe(data) == pytest.approx(describe(file(large)), abs=0.1)


def bomb(kind: str, width: int, height: int) -> bytes:
    """A small file that claims to be large."""
    if kind == "PNG":
        head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        chunk = struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))
        rest = file(Image.new("RGB", (4, 4)))[33:]
        return b"\x89PNG\r\n\x1a\n" + chunk + rest
    if kind == "GIF frame":  # in a screen of 4 x 4
        small = file(Image.new("P", (4, 4)), "GIF")
        at = small.index(b",")
        return small[: at + 5] + struct.pack("<HH", width, height) + small[at + 9 :]
    if kind == "GIF":
        return b"GIF89a" + struct.pack("<HH", width, height) + file(Image.new("P", (4, 4)), "GIF")[10:]
    if kind == "WEBP":
        bits = (width - 1) | (height - 1) << 14
        small = file(Image.new("RGB", (4, 4)), "WEBP", lossless=True)
        return small[:21] + struct.pack("<I", bits | int.from_bytes(small[21:25], "little") >> 28 << 28) + small[25:]
    if kind == "WEBP lossy":
        small = file(Image.new("RGB", (4, 4)), "WEBP")
        return small[:26] + struct.pack("<HH", width, height) + small[30:]
    if kind == "WEBP extended":
        small = file(Image.new("RGB", (4, 4)), "WEBP", exif=b"Exif\0\0II*\0")
        assert small[12:16] == b"VP8X"
        return small[:24] + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little") + small[30:]
    small = file(Image.new("RGB", (4, 4)), "JPEG")
    at = small.index(b"\xff\xc0") + 5
    return small[:at] + struct.pack(">HH", height, width) + small[at + 4 :]


BOMBS = ["PNG", "JPEG", "GIF", "GIF frame", "WEBP", "WEBP lossy", "WEBP extended"]


@pytest.mark.parametrize("size", [(8_000, 7_000), (16_000, 16_000)])
@pytest.mark.parametrize("kind", BOMBS)
def test_too_many_pixels_are_refused_before_they_are_decoded(
    kind: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bomb(kind, *size)
    assert len(data) < 2_000
    monkeypatch.delattr(Image, "_getdecoder")
    with pytest.raises(ValueError, match=r"^the image has .* pixels; make it smaller"):
        describe(data)


@pytest.mark.parametrize(
    ("kind", "size"), [("PNG", (1, 50_000_000)), ("PNG", (30_001, 1)), ("JPEG", (1, 30_001)), ("GIF", (30_001, 1))]
)
def test_a_side_that_is_too_long_is_refused_before_it_is_decoded(
    kind: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Image, "_getdecoder")
    with pytest.raises(ValueError, match=r"^the image has .* pixels; make it smaller, at most 30,000 on either side$"):
        describe(bomb(kind, *size))
    with pytest.raises(ValueError, match="at most 30,000"):
        images.check(bomb(kind, *size))


def test_a_jpeg_of_many_scans_is_refused_before_they_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each scan goes over all pixels, and takes some dozen bytes: 20 MB of them would take hours."""
    whole = file(drawn(), "JPEG", progressive=True)
    assert np.isfinite(describe(whole)).all()
    last = whole[whole.rindex(b"\xff\xda") : -2]
    segment = b"\xff\xe1\x00\x04ab"
    for bomb in (whole[:-2] + 60 * last + whole[-2:], whole[:2] + 2_000 * segment + whole[2:]):
        with monkeypatch.context() as patch:
            patch.delattr(Image, "_getdecoder")
            with pytest.raises(ValueError, match="^the JPEG file has more than 50 scans or"):
                describe(bomb)


def test_compressed_texts_and_profiles_of_a_png_are_not_unpacked_without_end() -> None:
    whole = file(drawn())
    for kind, start in ((b"zTXt", b"Comment\0\0"), (b"iCCP", b"profile\0\0"), (b"iTXt", b"Comment\0\1\0\0\0")):
        content = kind + start + zlib.compress(bytes(100_000_000))
        chunk = struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
        tracemalloc.start()
        with suppress(ValueError):
            describe(whole[:33] + chunk + whole[33:])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 20_000_000, kind


def test_rows_that_name_the_same_image_decode_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decode = Mock(wraps=images.decode)
    monkeypatch.setattr(images, "decode", decode)
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(file(drawn()))
    rows = [{"image": name} for name in ["a.png", "b.png", "gone.png", None] * 50]
    X = Columns({"image": "image"}, files=tmp_path).fit(rows).features(rows)
    assert decode.call_count == 2
    assert (np.tile(X[:4], (50, 1)) == X).all()


def test_a_webp_that_claims_to_be_large_takes_no_memory() -> None:
    code = """
import resource, sys
from dford.columns.images import describe
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = sys.stdin.buffer.read()
try:
    describe(data)
except ValueError as error:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    data = bomb("WEBP", 16_000, 16_000)
    result = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    assert int(result.stdout) < 5_000  # kB


@pytest.mark.parametrize("part", [0.02, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("kind", FORMATS)
def test_incomplete_files_are_refused(kind: str, part: float) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (80, 80, 3), np.uint8))
    whole = file(noise, kind)
    describe(whole)
    with pytest.raises(ValueError, match=f"(?i)^this {kind} file is damaged or incomplete; save the image again$"):
        describe(whole[: int(part * len(whole))])


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "PPM", "ICO", "PDF", "EPS", "TGA", "JPEG2000"])
def test_no_other_decoder_is_reached(kind: str) -> None:
    with pytest.raises(ValueError, match="^this is not an image; expected a PNG, JPEG, WebP or GIF file$"):
        describe(file(drawn(), kind))


@pytest.mark.parametrize("data", [b"", b"GIF", b"RIFF", b"<svg/>", b"<html>", b"RIFF\0\0\0\0WAVE", b"\0" * 99])
def test_what_is_not_an_image_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="^this is not an image; expected a PNG, JPEG, WebP or GIF file$"):
        describe(data)


@given(st.sampled_from(FORMATS), st.data())
def test_broken_bytes_have_finite_numbers_or_are_refused(kind: str, data: st.DataObject) -> None:
    whole = bytearray(file(drawn().resize((24, 24)), kind))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = describe(bytes(whole))
    except ValueError:
        return
    assert np.isfinite(found).all()


def test_a_column_of_images_is_one_also_if_the_first_ones_cannot_be_read(tmp_path: Path) -> None:
    for n in range(6):
        (tmp_path / f"{n}.png").write_bytes(b"not an image")
    (tmp_path / "7.png").write_bytes(drawings(1)[0][0])
    names = [{"photo": f"{n}.png"} for n in range(8)]
    assert [one.kind for one in Columns(files=tmp_path).fit(names).describe()] == ["image"]
    (tmp_path / "7.png").unlink()
    what = "it names images, but none of them can be read from the image folder"
    with pytest.warns(UserWarning, match=rf"^nothing is learned from 'photo' \({what}\)$"):
        (said,) = Columns(files=tmp_path).fit(names).describe()
    assert said.sentence == f"photo: shown, not learned from: {what}"


@pytest.mark.parametrize("more", [{}, {"note": "a text of words"}], ids=["dense", "sparse"])
def test_images_that_cannot_be_read_are_reported(tmp_path: Path, more: dict[str, str]) -> None:
    drawn().save(tmp_path / "a.png")
    kinds = {"n": "number", "image": "image", **dict.fromkeys(more, "text")}
    rows = [{"n": n, "image": name, **more} for n, name in enumerate(["a.png", "gone.png", "", "lost.png"])]
    columns = Columns(kinds, files=tmp_path).fit(rows)
    with pytest.warns(UserWarning, match=r"^2 of the 3 images in image cannot be read, such as 'gone.png'; they count"):
        columns.transform(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        columns.transform(rows[:1] + rows[2:3])
        columns.features(rows)
