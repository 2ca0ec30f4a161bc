"""Learn from answers that come late, out of order and twice, with a restart in between."""

import heapq
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dford
from dford.datasets import make_synthetic

X, right = make_synthetic(4_000, random_state=0)


def serve(longest, restart_at=None):
    """One question per request. Its answer comes within the next `longest` requests, and one in five comes twice."""
    model = dford.NewtonLogit(levels=[1, 2, 3, 4, 5], features="poly", random_state=0)
    random, on_the_way, errors = np.random.default_rng(0), [], []
    for now, x in enumerate(X):
        question = model.ask(x)
        errors.append(abs(question.prediction - right[now]))
        for _ in range(1 + (random.random() < 0.2)):
            arrival = now + longest * random.random()
            heapq.heappush(on_the_way, (arrival, now, question, bool(right[now] > question.level)))
        while on_the_way and on_the_way[0][0] <= now:
            *_, answered, higher = heapq.heappop(on_the_way)
            model.tell(answered, higher)  # told a second time, it changes nothing
        if now == restart_at:
            with tempfile.TemporaryDirectory() as folder:
                model.save(Path(folder, "model.dford"))
                model = dford.load(Path(folder, "model.dford"))  # its open questions are still open
    return model, np.array(errors)


on_time, errors_on_time = serve(longest=0)
late, errors_late = serve(longest=1_000)
restarted, errors_restarted = serve(longest=1_000, restart_at=2_000)
print(f"{late.rounds_:,} of {len(X):,} questions answered, {len(late.open_questions_)} still open")
print(f"the last 1,000 predictions are {errors_late[-1_000:].mean():.2f} levels off")
print(f"{errors_on_time[-1_000:].mean():.2f} levels off if every answer comes without delay")
print("predictions that a restart changes:", np.count_nonzero(errors_restarted != errors_late))

figure, axes = plt.subplots(figsize=(6.4, 3.4), dpi=100, layout="constrained")
asked = np.arange(100, len(X) + 1)
for name, errors, colour in ("no delay", errors_on_time, "#8C8C8C"), ("late answers", errors_late, "#009E73"):
    recent = np.convolve(errors, np.full(100, 0.01), mode="valid")
    axes.plot(asked, recent, color=colour, label=name)
axes.axvline(2_000, color="black", linestyle=":", label="restart")
axes.set(xlabel="questions asked", ylabel="levels off, last 100 predictions", ylim=(0, 1.25))
axes.set_title("Late answers teach as much, only later")
axes.grid(alpha=0.3)
axes.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=3, frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "late.png")
