"""Real people who rated the same items: placements from what they say, with and without who said it.

What a person said of an item is their one opinion of it. A question is chosen without looking at people; then one who
rated its item and has not answered it yet is drawn, and says whether their rating is above its level. If nobody is
left, the question stays open, and its item is not asked about again. So a pool that is told who answers faces the same
supply of answers as one that is not. The right level is the known one, or else the lower median of all ratings.

Texts that were rated by people who are not told apart get names at random, different ones within a text.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median_low
from typing import Any, NamedTuple

import numpy as np

from dford.arrays import Ints
from dford.experiments.studies.records import Record, Table, Task, cells_of
from dford.experiments.studies.running_error import Data, Dataset, Labelled
from dford.experiments.studies.several_people import (
    LOOKS,
    READINGS,
    Asked,
    ask_in_turns,
    new_pool,
    of_runs,
    record,
)
from dford.feedback import Question
from dford.log import FeedbackLog
from dford.pool import People, Pool

WAYS = {
    "named": "named",
    "unnamed": "unnamed",
    "votes": "votes",
    "dawid-skene": "Dawid–Skene",
    "rated": "named ratings",
}
MEDIAN = "median"
ITEMS = 1000  # at most, of those rated by people who are not told apart
NAMES = 12  # drawn from for people who are not told apart
SHARES = (1.0, 2.0, 3.0, 4.0)
RATINGS = (1.0, 2.0, 3.0)
BUSIEST = 20
BLIND = ", no texts"
ANSWERED, RATED, FIGURES = "raters", "ratings", ("error rate", "strictness")
_LOWEST, _HIGHEST = -4, 4  # of the ratings of people who are not told apart


def tasks(data: Data, ways: Sequence[str], items: int, runs: int, seed: int = 0) -> list[Task]:
    """All tasks in which real people answer."""
    real = {name: given for name, given in data.items() if given.labelled is not None or given.raters is not None}
    placing: list[Task] = [
        (place, (name, way, shown, items, run, seed))
        for run in range(runs)
        for dataset, given in real.items()
        for way in ways
        if way in WAYS
        for name, shown in ([(dataset, given)] if way not in READINGS else []) + _blind(dataset, given, way)
    ]
    known = {dataset: given.labelled for dataset, given in real.items() if given.labelled and given.labelled.gold}
    return placing + [(judge_people, (dataset, given, seed)) for dataset, given in known.items() if "named" in ways]


def _blind(dataset: str, given: Dataset, way: str) -> list[tuple[str, Dataset]]:
    """The dataset without its features; nothing if it has none and is there already."""
    if given.X.shape[1]:
        return [(dataset + BLIND, given._replace(X=np.empty((len(given.y), 0)), dense=None))]
    return [(dataset, given)] if way in READINGS else []


class Opinions:
    """The ratings of some items, one by each person, and who has answered which question."""

    def __init__(self, labels: Ints, n_items: int, random: np.random.Generator) -> None:
        self._random = random
        self._of: list[dict[int, int]] = [{} for _ in range(n_items)]
        self._answered: dict[tuple[int, int], set[int]] = {}
        for item, person, level in labels.tolist():
            self._of[item].setdefault(person, level)  # some rated an item twice: the first time counts

    def somebody(self, item: int, level: int) -> int | None:
        """Someone who rated the item and has not answered this question yet, drawn at random; None if all have."""
        left = [person for person in self._of[item] if person not in self._answered.get((item, level), ())]
        return int(self._random.choice(left)) if left else None

    def told(self, item: int, level: int, person: int) -> bool:
        """What this person says about the item and the level."""
        self._answered.setdefault((item, level), set()).add(person)
        return self._of[item][person] > level

    def shuffled(self, item: int) -> list[tuple[int, int]]:
        """The people who rated the item and their ratings, in an order drawn at random."""
        people = list(self._of[item])
        return [(people[place], self._of[item][people[place]]) for place in self._random.permutation(len(people))]


class Drawn(NamedTuple):
    """The items of a run, the ratings that can be asked for, and what is right."""

    given: Dataset
    labels: Ints
    n_levels: int
    judged: Ints
    """The items whose right level is known."""
    right: Ints


def draw(given: Dataset, items: int, random: np.random.RandomState) -> Drawn:
    """The first items of a shuffle, in the order of the dataset."""
    some = np.sort(random.permutation(len(given.y))[: min(items, len(given.y) if given.raters is None else ITEMS)])
    given = given._replace(X=given.X[some], y=given.y[some])
    if given.labelled is not None:
        labels, _, gold, n_levels = given.labelled
        labels = labels[np.isin(labels[:, 0], some)]
        labels[:, 0] = np.searchsorted(some, labels[:, 0])
        known = {place: gold[item] for place, item in enumerate(some.tolist()) if item in gold}
        right = known or dict(enumerate(given.y.tolist()))
    else:
        assert given.raters is not None
        rated = [given.raters.ratings[item].astype(int) - _LOWEST + 1 for item in some]
        right = {item: median_low(levels.tolist()) for item, levels in enumerate(rated)}
        n_levels = _HIGHEST - _LOWEST + 1
        labels = np.array(
            [
                (item, person, level)
                for item, levels in enumerate(rated)
                for person, level in zip(random.permutation(NAMES), random.permutation(levels), strict=False)
            ]
        )
    return Drawn(given, labels, n_levels, np.array(list(right)), np.array(list(right.values())))


def place(dataset: str, way: str, given: Dataset, items: int, run: int, seed: int) -> list[Record]:
    """Place some items, and record how far off those with a known level are."""
    random = np.random.RandomState([seed, run])
    given, labels, n_levels, judged, right = draw(given, items, random)
    n_items = len(given.y)
    opinions = Opinions(labels, n_items, np.random.default_rng([seed, run]))
    levels = list(range(1, n_levels + 1))
    asked = Asked(given.X, levels, random.randint(2**31), opinions.somebody, opinions.told, given.dense)

    def row(part: str, way: str, share: float, placed: Any, chances: Any = None) -> Record:
        own = {"mae": float(np.abs(placed[judged] - right).mean())}
        if chances is not None:  # of the same items, which may be harder than the others
            off = np.abs(np.array(levels) - placed[judged, None])
            own["expected"] = float((chances[judged] * off).sum(axis=1).mean())
        return record(part, dataset, way, run, answers=share, **own)

    if way == "rated":
        pool, found = new_pool(asked), list[Record]()
        for n, medians in _rate(pool, opinions, n_items):
            found.append(row(RATED, way, n, pool.levels_, pool.probabilities_))
            found.append(row(RATED, MEDIAN, n, medians))
        return found
    looks = [n / LOOKS for n in range(1, int(LOOKS * SHARES[-1]) + 1)]
    stops = [round(share * n_items) for share in looks]
    if way in READINGS:
        read = (1 + READINGS[way](told, n_items, n_levels) for told in ask_in_turns(asked, stops))
        return [row(ANSWERED, way, share, placed) for share, placed in zip(looks, read, strict=True)]
    pool = new_pool(asked)
    return [
        row(ANSWERED, way, share, pool.levels_, pool.probabilities_)
        for share, _ in zip(looks, _ask_pool(pool, asked, stops, way == "named"), strict=True)
    ]


def _ask_pool(pool: Pool, asked: Asked, stops: Sequence[int], named: bool) -> Iterator[int]:
    """Let people answer a pool up to each of these numbers of answers; if `named`, it learns who they are."""
    n = 0
    for stop in stops:
        while n < stop and (questions := pool.ask(1)):
            (question,) = questions
            if (person := asked.somebody(question.item, question.level)) is not None:
                higher = asked.told(question.item, question.level, person)
                pool.tell(question, higher, person=str(person) if named else None)
                n += 1
        yield n


def _rate(pool: Pool, opinions: Opinions, n_items: int) -> Iterator[tuple[float, Ints]]:
    """Have one more person rate every item; the ratings per item so far, and the lower median of those given."""
    given = [opinions.shuffled(item) for item in range(n_items)]
    for n in range(int(RATINGS[-1])):
        rows = [(item, *ratings[n]) for item, ratings in enumerate(given) if n < len(ratings)]
        item, person, level = zip(*rows, strict=True)
        pool.rate({"item": item, "level": level, "person": list(map(str, person))})
        yield n + 1.0, np.array([median_low([level for _, level in ratings[: n + 1]]) for ratings in given])


def judge_people(dataset: str, given: Labelled, seed: int) -> list[Record]:
    """The people with the most labels, judged by others on other items, and by the items whose level is known.

    Each label is one answer, about a level drawn at random.
    """
    random = np.random.default_rng(seed)
    logs = [FeedbackLog(range(1, given.n_levels + 1)) for _ in range(2)]
    for item, person, label in given.labels.tolist():
        level = int(random.integers(1, given.n_levels))
        question = Question("", [], level, level, 1.0, 0)
        logs[item in given.gold].append(question, label > level, item=item, person=given.people[person])
    others, gold = People(logs[0]), People(logs[1], gold=given.gold)
    busiest = Counter(given.labels[:, 1].tolist()).most_common(BUSIEST)
    found = []
    for person, _ in busiest:
        for way, people in (("people", others), ("gold", gold)):
            if one := people.get(given.people[person]):
                for part, figure in zip(FIGURES, (one.error_rate, one.strictness), strict=True):
                    row = record(part, dataset, way, 0, person=one.name, count=one.judged)
                    found.append(row | figure._asdict())
    return found


def tables(records: Sequence[Record]) -> list[Table]:
    """The errors with answers and with ratings, and the figures of the busiest people."""
    answered, rated, known = ([r for r in records if r["part"] in parts] for parts in ((ANSWERED,), (RATED,), FIGURES))
    found = []
    if answered:
        found.append(_compared(answered, SHARES, "answers", {way: WAYS[way] for way in WAYS if way != "rated"}))
    if rated:
        found.append(_compared(rated, RATINGS, "whole ratings", {"rated": WAYS["rated"], MEDIAN: "their median"}))
    return [*found, *([_busiest(known)] if known else [])]


def _compared(records: Sequence[Record], shares: Sequence[float], what: str, names: dict[str, str]) -> Table:
    """The errors by way: how much worse the first is than the second at worst, and how its expected error compares."""
    ways = [way for way in names if any(r["way"] == way for r in records)]
    first, second = list(names)[:2]
    expecting = [way for way in ways if any(r["way"] == way and r["expected"] != "" for r in records)]
    rows = []
    for dataset in dict.fromkeys(r["dataset"] for r in records):
        own = {way: [r for r in records if (r["dataset"], r["way"]) == (dataset, way)] for way in ways}
        row = [dataset, *(cells_of(own[way], "mae", shares) if own[way] else "" for way in ways)]
        if first in ways and second in ways:
            row.append(_worst(own[first], own[second], shares) if own[first] and own[second] else "")
        row += [_calibrated(own[way], shares) if own[way] else "" for way in expecting]
        rows.append(row)
    header = ["dataset", *(names[way] for way in ways)]
    header += [f"{names[first]} worse by at most"] if first in ways and second in ways else []
    header += [f"expected / true, {names[way]}" for way in expecting]
    after = " / ".join(f"{share:g}" for share in shares)
    return Table(f"Levels off after {after} {what} per item by real people; {of_runs(records)}", header, rows)


def _means(records: Sequence[Record], figure: str, shares: Sequence[float]) -> Any:
    return np.array([np.mean([r[figure] for r in records if r["answers"] == share]) for share in shares])


def _worst(first: Sequence[Record], second: Sequence[Record], shares: Sequence[float]) -> str:
    return f"{(_means(first, 'mae', shares) - _means(second, 'mae', shares)).max():+.3f}".replace("0.", ".")


def _calibrated(records: Sequence[Record], shares: Sequence[float]) -> str:
    ratios = _means(records, "expected", shares) / np.maximum(_means(records, "mae", shares), 1e-9)
    return " / ".join(f"{ratio:.2f}" for ratio in ratios)


def _busiest(records: Sequence[Record]) -> Table:
    figures = {(r["person"], r["way"], r["part"]): r for r in records}
    rows, met, compared = [], Counter[str](), 0
    for person in dict.fromkeys(r["person"] for r in records):
        row = [person]
        for way in ("people", "gold"):
            row.append(f"{figures[person, way, FIGURES[0]]['count']:,}" if (person, way, FIGURES[0]) in figures else "")
        compared += bool(row[-1])
        for part in FIGURES:
            both = [figures.get((person, way, part)) for way in ("people", "gold")]
            row += [_shown(one) for one in both]
            if both[0] and both[1]:
                met[part] += both[0]["low"] <= both[1]["high"] and both[1]["low"] <= both[0]["high"]
        rows.append(row)
    header = ["person", "answers", "about gold", *(f"{part}, {by}" for part in FIGURES for by in ("by others", "gold"))]
    note = " ".join(f"The two intervals of the {part} meet for {met[part]} of {compared}." for part in FIGURES)
    return Table(f"The {len(rows)} people with the most labels, by others and by gold", header, rows, note)


def _shown(one: Record | None) -> str:
    return "" if one is None else f"{one['value']:.2f} [{one['low']:.2f}, {one['high']:.2f}]"
