"""Have a cheap program answer first, and a person where an answer is worth what it costs."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from dford import Pool
from dford.datasets import make_synthetic

X, right = make_synthetic(300, random_state=0)
COSTS = {"judge": 0.01, "Ann": 1.0}
random = np.random.default_rng(0)
slips = random.random((300, 4)) < 0.2  # the judge is wrong about a fifth of all questions, whenever it is asked


def judge(item, level):
    return bool((right[item] > level) != slips[item, level - 1])


def ann(item, level):
    return bool((right[item] > level) != (random.random() < 0.03))


def place(names, calls, answers, trusted=None):
    """Call the judge first, then ask whoever is worth it; returns the pool, and cost and error on the way."""
    pool = Pool(X, [1, 2, 3, 4, 5], costs={name: COSTS[name] for name in names}, trusted=trusted, random_state=0)
    cost, curve = 0.0, []
    for _ in range(0, calls, 20):
        cost += COSTS["judge"] * pool.run(judge, person="judge", budget=20).calls
        curve.append((cost, abs(pool.levels_ - right).mean()))
    for _ in range(answers):
        question = pool.ask()  # question.person says for whom
        pool.tell(question, (ann if question.person == "Ann" else judge)(question.item, question.level))
        cost += COSTS[question.person]
        curve.append((cost, abs(pool.levels_ - right).mean()))
    return pool, *np.transpose(curve)


_, _, judge_errors = place(["judge"], calls=900, answers=0, trusted=["judge"])
print(f"the judge alone: {judge_errors.min():.2f} levels off at best")
figure, axes = plt.subplots(figsize=(6.4, 3.4), dpi=100, layout="constrained")
axes.axhline(judge_errors.min(), color="#8C8C8C", linestyle="--", label="the judge alone, at best")
for label, names, calls, colour in ("Ann alone", ["Ann"], 0, "#332288"), ("the judge, then both", COSTS, 800, "black"):
    pool, costs, errors = place(names, calls, answers=300)
    early, target = errors[np.argmax(costs >= 50)], costs[np.argmax(errors <= 0.1)]
    print(f"{label}: {early:.2f} levels off at a cost of 50, 0.1 at a cost of {target:.0f}")
    axes.plot(costs, errors, color=colour, linewidth=2, label=label)
rate = pool.people_["judge"].error_rate
print(f"the judge is found to be wrong in {rate.low:.0%} to {rate.high:.0%} of its answers; in truth in 20%")

axes.set(xlabel="cost of all answers: 0.01 for each of the judge's, 1 for each of Ann's", ylabel="levels off")
axes.set_title("What a cheap judge saves")
axes.grid(alpha=0.3)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "judge.png")
