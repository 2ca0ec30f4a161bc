"""Drawn images whose levels are known: how bright, sharp and tilted they are, each independent of the others.

Everything else about them is random: colours, shapes, where things are, and noise.

    python tests/drawing.py 400 a-folder    writes them, and levels.csv, to look at
"""

import csv
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

PROPERTIES = ("brightness", "sharpness", "tilt")
LEVELS = [1, 2, 3, 4, 5]
_SIDE = 96
_SCALE = 2  # drawn this much larger, for smooth edges


def drawings(count: int, seed: int = 0) -> tuple[list[bytes], dict[str, list[int]]]:
    """PNG files, and the level of each by each property: 1 to 5, all equally frequent."""
    random = np.random.default_rng(seed)
    shares = random.random((count, len(PROPERTIES)))
    levels = {name: (1 + np.floor(5 * shares[:, i])).astype(int).tolist() for i, name in enumerate(PROPERTIES)}
    return [draw(random, *row) for row in shares.tolist()], levels


def draw(random: np.random.Generator, brightness: float, sharpness: float, tilt: float) -> bytes:
    """A house with windows among balls: night or day, blurred or sharp, leaning left or right; each from 0 to 1."""
    size = _SIDE * _SCALE
    image = Image.new("RGB", (size, size), _colour(random))
    pen = ImageDraw.Draw(image)
    for _ in range(random.integers(2, 7)):
        (x, y), r = random.uniform(0, size, 2).tolist(), random.uniform(size / 20, size / 6)
        pen.ellipse((x - r, y - r, x + r, y + r), fill=_colour(random))
    house = Image.new("RGBA", (size, size), (0, 0, 0, 0))
    pen = ImageDraw.Draw(house)
    wide, high = random.uniform(0.22, 0.35, 2) * size
    middle = size / 2
    pen.rectangle((middle - wide, middle - high, middle + wide, middle + high), fill=_colour(random))
    across, down = random.integers(2, 5, 2).tolist()
    window = _colour(random)
    for i in range(across):
        for j in range(down):
            x = middle + wide * ((2 * i + 1) / across - 1)
            y = middle + high * ((2 * j + 1) / down - 1)
            w, h = 0.5 * wide / across, 0.5 * high / down
            pen.rectangle((x - w, y - h, x + w, y + h), fill=window)
    x, y = random.integers(-size // 10, size // 10, 2).tolist()
    house = house.rotate(80 * tilt - 40, Image.Resampling.BILINEAR, translate=(x, y))
    image.paste(house, (0, 0), house)
    image = image.resize((_SIDE, _SIDE), Image.Resampling.BOX)
    image = image.filter(ImageFilter.GaussianBlur(4 * (1 - sharpness)))
    pixels = np.asarray(image) * (0.3 + 0.7 * brightness) + random.normal(0, 2, (_SIDE, _SIDE, 1))
    return file(Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)))


def file(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """An image as the bytes of a file, in one of Pillow's formats."""
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def _colour(random: np.random.Generator) -> tuple[int, int, int]:
    red, green, blue = random.integers(60, 256, 3).tolist()
    return red, green, blue


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    images, levels = drawings(int(sys.argv[1]))
    with (folder / "levels.csv").open("w", newline="") as table:
        rows = csv.writer(table)
        rows.writerow(["image", *PROPERTIES])
        for n, image in enumerate(images):
            (folder / f"{n:04}.png").write_bytes(image)
            rows.writerow([f"{n:04}.png", *(levels[name][n] for name in PROPERTIES)])
