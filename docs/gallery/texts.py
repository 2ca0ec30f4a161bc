"""Place hotel reviews on a scale: by their words, and by one yes/no answer at a time."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from dford import Pool

LEVELS = ["bad", "poor", "fair", "good", "great"]
GOOD = ["charming", "lovely", "spotless", "superb", "pleasant", "excellent", "delightful", "perfect"]
BAD = ["shabby", "dreary", "dirty", "awful", "noisy", "terrible", "miserable", "broken"]

# 300 reviews, each of which praises none to four of four things. That number is the right level.
random = np.random.default_rng(0)
praised = random.random((300, 4)) < random.random((300, 1))
words = np.where(praised, random.choice(GOOD, (300, 4)), random.choice(BAD, (300, 4)))
reviews = [{"review": "Room {}, breakfast {}, staff {}, view {}.".format(*row)} for row in words]
right = praised.sum(axis=1)


def place(items, seed):
    """Ask three questions per item; returns the error of the levels after every 15 answers."""
    pool, errors = Pool(items, LEVELS, random_state=seed), []
    for answers in range(1, 901):
        question = pool.ask()  # is item question.item above question.level?
        pool.tell(question, higher=bool(right[question.item] > LEVELS.index(question.level)))
        if answers % 15 == 0:
            placed = np.array([LEVELS.index(level) for level in pool.levels_])
            errors.append(abs(placed - right).mean())
    return errors


print("A review:", reviews[0]["review"])
figure, axes = plt.subplots(figsize=(6.4, 3.4), dpi=100, layout="constrained")
per_item = np.arange(15, 901, 15) / 300
for name, items, colour in [("with the words", reviews, "#0072B2"), ("answers alone", np.empty((300, 0)), "#8C8C8C")]:
    runs = np.array([place(items, seed) for seed in range(3)])
    mean = runs.mean(axis=0)
    print(f"{name}: {mean[19]:.2f} levels off after one answer per review, {mean[39]:.2f} after two")
    axes.plot(per_item, runs.T, color=colour, alpha=0.3, linewidth=0.8)
    axes.plot(per_item, mean, color=colour, linewidth=2, label=f"{name}: three runs, and their mean")
axes.set(xlabel="answers per review", ylabel="levels off", title="The words of a review save answers about it")
axes.grid(alpha=0.3)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "texts.png")
