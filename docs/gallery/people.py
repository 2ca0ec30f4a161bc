"""Find out who is careless and who is strict, from the answers alone."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from dford import Pool

# What nobody knows: how often each person slips, and by how many levels they are too strict.
PEOPLE = {"Ann": (0.03, 0.0), "Ben": (0.05, 0.0), "Cat": (0.05, 0.6), "Dan": (0.35, 0.0), "Eve": (0.05, -0.6)}
random = np.random.default_rng(1)
quality = random.uniform(0, 5, 120)  # of 120 essays
right = 1 + quality.astype(int)  # the grade that each deserves, 1 to 5
wrong = dict.fromkeys(PEOPLE, 0)


def answer(name, essay, grade):
    """Is the essay above the grade, by this person?"""
    slips, strictness = PEOPLE[name]
    higher = (quality[essay] > grade + strictness) != (random.random() < slips)
    wrong[name] += higher != (right[essay] > grade)
    return bool(higher)


def place(is_named, seed):
    """Ask each person 200 questions; the pool is told who answers, or it is not."""
    wrong.update(dict.fromkeys(PEOPLE, 0))
    pool = Pool(np.empty((120, 0)), [1, 2, 3, 4, 5], random_state=seed)
    for name in list(PEOPLE) * 200:
        person = name if is_named else None
        question = pool.ask(person=person)
        pool.tell(question, answer(name, question.item, question.level), person=person)
    return pool


for is_named, how in ((False, "nobody says who answers"), (True, "answers are weighted by who gave them")):
    off = []
    for seed in range(5):  # five pools, as one may be lucky
        pool = place(is_named, seed)
        off.append(abs(pool.levels_ - right).mean())
    print(f"{np.mean(off):.2f} levels off if {how}")
found = [pool.people_[name] for name in PEOPLE]
rates, strictness = [person.error_rate for person in found], [person.strictness for person in found]
true_rates, true_strictness = [wrong[name] / 200 for name in PEOPLE], [strict for _, strict in PEOPLE.values()]
print(f"Cat is {strictness[2].value:.1f} levels too strict (in truth {true_strictness[2]:.1f})")
print(f"Dan is wrong in {rates[3].value:.0%} of the answers (in truth {true_rates[3]:.0%})")

figure, panels = plt.subplots(1, 2, figsize=(6.4, 3.2), dpi=100, layout="constrained", sharey=True)
for panel, estimates, true in (panels[0], rates, true_rates), (panels[1], strictness, true_strictness):
    value, low, high = np.transpose(estimates)
    panel.hlines(list(PEOPLE), low, high, color="#0072B2", linewidth=5, alpha=0.35, label="95% interval")
    panel.plot(value, list(PEOPLE), "o", color="#0072B2", label="found from the answers")
    panel.plot(true, list(PEOPLE), "x", color="#D55E00", markersize=8, label="in truth")
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
panels[0].set(xlabel="share of wrong answers", ylim=(4.5, -0.5))
panels[1].set(xlabel="levels too strict")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
figure.suptitle("Dan is careless, Cat is strict, and Eve is lenient")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "people.png")
