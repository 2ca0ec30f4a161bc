"""What a learner sees of an image: a few dozen numbers, the same everywhere for the same bytes."""

import io
import itertools
import math
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dford.arrays import Floats

try:
    from PIL import Image, ImageOps
    from PIL import WebPImagePlugin as _  # noqa: F401 or Pillow would import all its plugins to find it
except ImportError as error:
    raise ImportError('images need Pillow: pip install "dford[images]"') from error

Pixels = NDArray[np.int32]

VERSION = 1  # of the numbers: raise it if any of them changes, so that stored ones are computed again
MOST_PIXELS = 50_000_000
LONGEST_SIDE = 30_000  # pixels: to reduce a longer one takes longer than its pixels need
_MOST_SCANS, _MOST_SEGMENTS = 50, 1_000  # of a JPEG: each scan goes over all pixels again, and a dozen are usual
SIDE = 256  # pixels of the longer side, after reduction


class ImageType(NamedTuple):
    media: str
    ending: str
    name: str


_PNG, _JPEG = ImageType("image/png", "png", "PNG"), ImageType("image/jpeg", "jpg", "JPEG")
_WEBP, _GIF = ImageType("image/webp", "webp", "WebP"), ImageType("image/gif", "gif", "GIF")
_STARTS = {b"\x89PNG\r\n\x1a\n": _PNG, b"\xff\xd8\xff": _JPEG, b"GIF87a": _GIF, b"GIF89a": _GIF}
START = 12  # bytes that tell the type


def image_type(data: bytes) -> ImageType | None:
    """The type by the first bytes, whatever the name says. None for anything but PNG, JPEG, WebP and GIF."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _WEBP
    return next((kind for start, kind in _STARTS.items() if data.startswith(start)), None)


class Decoded(NamedTuple):
    image: Image.Image
    """In RGB, upright, and on white where it was transparent."""
    width: int
    height: int
    """Of the whole image, upright."""
    kind: ImageType


def check(data: bytes) -> ImageType:
    """The type of an image that is not too large, according to its header. ValueError if it is anything else."""
    with _refusing(kind := _known_type(data)):
        _opened(data, kind)
    return kind


def decode(data: bytes, side: int) -> Decoded:
    """The image, or the first one of an animation. A large one is reduced, but no side to less than `side`.

    ValueError if it is not an image, is broken, or has more than `MOST_PIXELS` or a side of more than `LONGEST_SIDE`.
    It may take seconds and 500 MB.
    """
    with _refusing(kind := _known_type(data)):
        image = _opened(data, kind)
        width, height = image.size
        image.draft(None, (side, side))  # a JPEG is decoded at a half, a quarter or an eighth
        image.load()
        turn = image.getexif().get(_ORIENTATION)
    image = _plain(image)
    if (factor := min(image.size) // side) > 1:
        image = image.reduce(factor)
    if image.mode == "RGBA":
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    if turn in _TURNS:
        image = image.transpose(_TURNS[turn])
    if turn in _SIDEWAYS:
        width, height = height, width
    return Decoded(image, width, height, kind)


def middle(data: bytes, height: int, width: int) -> NDArray[np.uint8]:
    """The largest central part of the image with these proportions, resized to (height, width, 3)."""
    image = decode(data, max(height, width)).image
    return np.asarray(ImageOps.fit(image, (width, height), Image.Resampling.BICUBIC))


def _known_type(data: bytes) -> ImageType:
    if (kind := image_type(data)) is None:
        raise ValueError("this is not an image; expected a PNG, JPEG, WebP or GIF file")
    return kind


def _opened(data: bytes, kind: ImageType) -> Image.Image:
    """The image with its header read, and nothing decoded yet."""
    if kind is _WEBP:  # its decoder allocates memory for all pixels before it says how many there are
        _refuse_large(*_webp_size(data))
    if kind is _JPEG:
        _refuse_scans(data)
    image: Image.Image = Image.open(io.BytesIO(data), formats=[kind.name])
    _refuse_large(*image.size)
    return image


class _TooLarge(Exception):  # noqa: N818
    pass


@contextmanager
def _refusing(kind: ImageType) -> Iterator[None]:
    """Turn what a decoder raises into one sentence."""
    try:
        yield
    except _TooLarge as large:
        raise ValueError(str(large)) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ValueError(f"the image has more than {MOST_PIXELS:,} pixels; make it smaller") from None
    except MemoryError:
        raise
    except Exception as error:  # a decoder may raise anything for a broken file
        raise ValueError(f"this {kind.name} file is damaged or incomplete; save the image again") from error


def _refuse_large(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise _TooLarge(f"the image has {width} x {height} pixels; make it smaller, at most {MOST_PIXELS:,} pixels")
    if max(width, height) > LONGEST_SIDE:
        raise _TooLarge(
            f"the image has {width} x {height} pixels; make it smaller, at most {LONGEST_SIDE:,} on either side"
        )


_MARKER = re.compile(rb"\xff([\x02-\xcf\xd8-\xfe])")  # within the data of a scan, FF comes before 00 or a restart
_SCAN, _END = 0xDA, 0xD9


def _refuse_scans(data: bytes) -> None:
    """Refuse a JPEG that is short, and yet would take hours."""
    at, scans = 2, 0
    for _ in range(_MOST_SEGMENTS):
        marker = _MARKER.search(data, at)
        if marker is None or marker[1][0] == _END:
            return
        if (scans := scans + (marker[1][0] == _SCAN)) > _MOST_SCANS:
            break
        at = marker.end() + int.from_bytes(data[marker.end() : marker.end() + 2], "big")
    raise _TooLarge(
        f"the JPEG file has more than {_MOST_SCANS} scans or {_MOST_SEGMENTS:,} segments; save the image again"
    )


def _webp_size(data: bytes) -> tuple[int, int]:
    """The size in the header; decoders refuse a file that holds more than its header says."""
    if data[12:16] == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF


_ORIENTATION = 0x0112  # of EXIF
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_SIDEWAYS = (5, 6, 7, 8)


def _plain(image: Image.Image) -> Image.Image:
    """In RGB, or in RGBA if some of it may be transparent."""
    if image.mode.startswith("I"):  # 16 bits of grey, which Pillow would clip to 255
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
    transparent = "transparency" in image.info or image.mode in ("LA", "PA", "RGBA")
    return image.convert("RGBA" if transparent else "RGB")


_QUANTILES = (5, 25, 50, 75, 95)
_HUES = ("red", "yellow", "green", "cyan", "blue", "magenta")
_ANGLES, _FEW_ANGLES = range(0, 180, 15), range(0, 180, 30)
_CORNERS = ("top_left", "top_right", "bottom_left", "bottom_right")
_THIRDS = [f"{row}_{column}" for row in ("top", "middle", "bottom") for column in ("left", "centre", "right")]

FEATURES = [
    "log_pixels", "log_aspect",
    "brightness", "contrast", *(f"brightness_{q}" for q in _QUANTILES), "black_share", "white_share",
    *(f"brightness_{third}" for third in _THIRDS),
    "colourfulness", "colourfulness_spread", "red_green", "red_green_spread", "yellow_blue", "yellow_blue_spread",
    *(f"hue_{hue}" for hue in _HUES),
    "edges", "edges_99",
    *(f"edges_at_{angle}" for angle in _ANGLES),
    *(f"edges_at_{angle}_{corner}" for corner in _CORNERS for angle in _FEW_ANGLES),
    "direction_cos", "direction_sin", "upright_cos", "upright_sin", "strongest_cos", "strongest_sin",
    "detail_1", "detail_2", "detail_4", "detail_8", "sharpness_1", "sharpness_2", "sharpness_4", "sharpness_all",
]  # fmt: skip
"""Angles are degrees by which an edge is turned anticlockwise from the horizontal."""


def describe(data: bytes) -> Floats:
    """The numbers of `FEATURES` for the bytes of an image. They are finite for every image.

    They describe the whole image, reduced so that its longer side has at most `SIDE` pixels: what a glance shows.
    """
    image, width, height, _ = decode(data, SIDE)
    image.thumbnail((SIDE, SIDE), Image.Resampling.BILINEAR)
    red, green, blue, grey = (np.asarray(one).astype(np.int32) for one in (*image.split(), image.convert("L")))
    numbers = [math.log2(width * height), math.log2(width / height)]
    numbers += [*_tone(grey), *_colour(red, green, blue), *_edges(grey), *_detail(grey)]
    return np.round(numbers, 9)  # the last bits of a logarithm or a cosine are not the same on every machine


def _tone(grey: Pixels) -> list[float]:
    counts = np.bincount(grey.ravel(), minlength=256)
    below = np.cumsum(counts)
    quantiles = [int(np.searchsorted(below, grey.size * q / 100)) / 255 for q in _QUANTILES]
    shares = [counts[:8].sum() / grey.size, counts[-8:].sum() / grey.size]
    thirds = [block.mean() / 255 for band in _cut(grey, 3, 0) for block in _cut(band, 3, 1)]
    return [grey.mean() / 255, grey.std() / 255, *quantiles, *shares, *thirds]


def _cut(pixels: Pixels, parts: int, axis: int) -> list[Pixels]:
    """This many parts of about the same size; each has at least one pixel, which may be shared with another."""
    length = pixels.shape[axis]
    starts = [length * i // parts for i in range(parts)]
    ends = [max(length * (i + 1) // parts, starts[i] + 1) for i in range(parts)]
    return [np.take(pixels, range(start, end), axis) for start, end in zip(starts, ends, strict=True)]


def _colour(red: Pixels, green: Pixels, blue: Pixels) -> list[float]:
    high, low = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    chroma = high - low
    numbers = []
    for channel in (chroma, red - green, red + green - 2 * blue):
        numbers += [channel.mean() / 255, channel.std() / 255]
    # which sixth of the colour circle, with the named hue in its middle: told by the channels in the upper half
    middle = (high + low + 1) // 2
    hue = (red >= middle) + 2 * (green >= middle) + 4 * (blue >= middle)
    weights = np.bincount(hue.ravel(), weights=chroma.ravel(), minlength=8)
    return numbers + [weights[code] / hue.size / 255 for code in (1, 3, 2, 6, 4, 5)]


_FAINT = 1e-6  # a variance that is invisible, added so that none has a logarithm of -inf
_DEGREES = np.arange(180)
_WAVES = [wave(np.radians(turns * _DEGREES)) for turns in (2, 4) for wave in (np.cos, np.sin)]


def _soft_bins(angles: range) -> Floats:
    """How much an edge at each degree counts for each of the angles: less with distance, and 0 at the next angle."""
    apart = np.abs((_DEGREES[:, None] - np.array(angles) + 90) % 180 - 90)
    bins: Floats = np.maximum(0.0, 1.0 - apart / angles.step)
    return bins


_BINS, _FEW_BINS = _soft_bins(_ANGLES), _soft_bins(_FEW_ANGLES)


def _edges(grey: Pixels) -> list[float]:
    """How strong edges are and which way they run: everywhere, in the four corners, and mainly."""
    p = np.pad(grey, 1, mode="edge")
    rows, columns = p[:-2] + 2 * p[1:-1] + p[2:], p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]
    across, down = rows[:, 2:] - rows[:, :-2], columns[2:] - columns[:-2]
    strength = np.sqrt(across * across + down * down) / 4
    # An edge is at a right angle to the direction in which it gets brighter, and rows count downwards. No two whole
    # numbers have an angle on the border between two degrees, so the last bit of an arctangent does not matter.
    degree = np.floor(np.degrees(np.arctan2(across, down)) + 0.5).astype(np.int64) % 180
    height, width = grey.shape
    corner = 2 * (2 * np.arange(height) >= height)[:, None] + (2 * np.arange(width) >= width)
    counted = np.bincount((180 * corner + degree).ravel(), weights=strength.ravel(), minlength=720).reshape(4, 180)
    whole = counted.sum(axis=0)
    total = whole.sum() or 1.0
    most = strength.size * 99 // 100
    numbers = [strength.mean() / 255, float(np.partition(strength, most, axis=None)[most]) / 255]
    for part, bins in ((whole, _BINS), *((corner, _FEW_BINS) for corner in counted)):
        numbers += ((bins * part[:, None]).sum(axis=0) / total).tolist()  # a matrix product's bits vary by machine
    numbers += [float((wave * whole).sum()) / total for wave in _WAVES]
    if not whole.any():
        return [*numbers, 0.0, 0.0]
    nearby = sum(np.roll(whole, shift) * (4 - abs(shift)) for shift in range(-3, 4))
    strongest = int(np.argmax(nearby))
    return numbers + [float(wave[strongest]) for wave in _WAVES[:2]]


def _detail(grey: Pixels) -> list[float]:
    """Detail at four scales, each twice as coarse, and how it compares with the next scale and with the whole."""
    found, now = [], grey / 255
    for _ in range(4):
        p = np.pad(now, 1, mode="edge")
        laplacian = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * now
        found.append(math.log10(laplacian.var() + _FAINT))
        if min(now.shape) > 1:
            even = now[: now.shape[0] // 2 * 2, : now.shape[1] // 2 * 2]
            now = (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) / 4
    steps = [finer - coarser for finer, coarser in itertools.pairwise(found)]
    return [*found, *steps, found[1] - math.log10((grey / 255).var() + _FAINT)]
