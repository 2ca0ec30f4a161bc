"""Place images on a scale: tomatoes, from green to red."""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageDraw

from dford import Columns, Pool

STAGES = ["green", "breaker", "turning", "orange", "red"]
random = np.random.default_rng(0)
ripeness = random.random(200)
right = (5 * ripeness).astype(int)


def draw(ripeness):
    """A tomato of any size, anywhere on a table, in any light."""
    table, skin = random.integers([20, 5, 50], [50, 40, 95]), random.integers([65, 60], 95)
    image = Image.new("RGB", (48, 48), "hsv({}, {}%, {}%)".format(*table))
    size, (x, y) = random.uniform(10, 18), random.uniform(20, 28, 2)
    fill = f"hsv({100 - 95 * ripeness:.0f}, {skin[0]}%, {skin[1]}%)"
    ImageDraw.Draw(image).ellipse((x - size, y - size, x + size, y + size), fill=fill)
    return image


def place(items):
    """Ask until the levels are less than 0.1 off; returns them, and how many answers it took."""
    pool, answers, error = Pool(items, STAGES, random_state=0), 0, np.inf
    while error >= 0.1:
        question = pool.ask()
        pool.tell(question, higher=bool(right[question.item] > STAGES.index(question.level)))
        answers += 1
        error = abs(np.array([STAGES.index(stage) for stage in pool.levels_]) - right).mean()
    return pool.levels_, answers


images = [draw(one) for one in ripeness]
with tempfile.TemporaryDirectory() as folder:
    for number, image in enumerate(images):
        image.save(Path(folder, f"{number}.png"))
    features = Columns(files=folder).fit_transform([{"photo": f"{number}.png"} for number in range(200)])

placed, answers = place(features)
_, answers_alone = place(np.empty((200, 0)))
print(f"{answers / 200:.1f} answers per image until the levels are less than 0.1 off")
print(f"{answers_alone / 200:.1f} answers per image without looking at them")

figure, rows = plt.subplots(5, 10, figsize=(6.4, 3.6), dpi=100, layout="constrained")
figure.suptitle(f"200 tomatoes placed by {answers} answers: ten of each stage")
for stage, row in zip(STAGES, rows, strict=True):
    row[0].set_ylabel(stage, rotation=0, ha="right", va="center")
    for axes, item in zip(row, np.flatnonzero(placed == stage)[:10], strict=True):
        axes.imshow(images[item])
        axes.set(xticks=[], yticks=[])
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "images.png")
