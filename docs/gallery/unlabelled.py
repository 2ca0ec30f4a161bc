"""Know how far off predictions are, without a single label."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from dford import Auto, FeedbackLog, Pool
from dford.datasets import make_synthetic
from dford.evaluation import offpolicy

LEVELS = [1, 2, 3, 4, 5]
X, labels = make_synthetic(2_000, random_state=0)  # of a label, one answer is all that is ever seen


def report(what, estimate, truth):
    print(f"{what}: {estimate.value:.2f}, between {estimate.low:.2f} and {estimate.high:.2f}; in truth {truth:.2f}")


model, log, running = Auto(levels=LEVELS, random_state=0), FeedbackLog(LEVELS), []
for x, label in zip(X, labels, strict=True):
    question = model.ask(x)
    log.append(question, higher=bool(label > question.level))
    running.append(model.tell(question, higher=bool(label > question.level)).running_mae_)
errors = abs(log.prediction - labels)
report("the learner, by itself", running[-1], errors.mean())

# The same answers judge whatever else might have predicted: here a rule that somebody wrote down.
rule = np.where((X[:, 0] > 0.5) == (X[:, 1] > 0.5), 4, 2)
report("a rule, by the log", offpolicy.mae(log, rule), abs(rule - labels).mean())

# A pool keeps some answers apart, about items drawn at random, and judges its levels by these.
pool = Pool(X[:1_000], LEVELS, audit=0.3, random_state=0)
for _ in range(1_000):
    question = pool.ask()
    pool.tell(question, higher=bool(labels[question.item] > question.level))
report("a pool, by its audit", pool.audited_error_, abs(pool.levels_ - labels[:1_000]).mean())

figure, axes = plt.subplots(figsize=(6.4, 3.4), dpi=100, layout="constrained")
rounds, (value, low, high) = np.arange(1, 2_001), np.transpose(running)
axes.fill_between(rounds, low, high, color="#0072B2", alpha=0.2, linewidth=0, label="95% interval, at all times")
axes.plot(rounds, value, color="#0072B2", label="error by the answers alone")
axes.plot(rounds, errors.cumsum() / rounds, color="black", linestyle="--", label="error in truth")
axes.set(xlabel="answers", ylabel="levels off, all predictions so far", xlim=(20, 2_000), ylim=(0, 1.5))
axes.set_title("A learner knows its own error, without labels")
axes.grid(alpha=0.3)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "unlabelled.png")
