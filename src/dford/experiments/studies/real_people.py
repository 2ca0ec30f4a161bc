"""Real people who labelled the same items: placements from their answers, compared with known levels.

Each label answers one question about a level that the method chooses: is the label above it?
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dford.arrays import Ints
from dford.experiments.studies import several_people
from dford.experiments.studies.records import Record, Table, Task
from dford.experiments.studies.running_error import Data, Labelled
from dford.experiments.studies.several_people import (
    LOOKS,
    READINGS,
    Asked,
    ask_in_turns,
    error_table,
    expected_error,
    new_pool,
    record,
)
from dford.feedback import Question
from dford.log import FeedbackLog
from dford.pool import People

CHOSEN = "chosen"
WAYS = ("alike", "people", CHOSEN, "votes", "dawid-skene")
_NAMES = several_people.WAYS | {CHOSEN: "the best of six"}
_AT_HAND = 6
SHARES = (1.0, 3.0, 5.0)
BUSIEST = 20
_USUAL = 0.1  # how often an answer is assumed to be wrong if nothing is known about anyone
PLACED, FIGURES = "raters", ("error rate", "strictness")


def tasks(data: Data, ways: Sequence[str], runs: int, seed: int = 0) -> list[Task]:
    """All tasks in which real people answer."""
    labelled = {dataset: given.labelled for dataset, given in data.items() if given.labelled is not None}
    placing: list[Task] = [
        (place, (dataset, way, given, run, seed))
        for run in range(runs)
        for dataset, given in labelled.items()
        for way in ways
        if way in WAYS
    ]
    return placing + [(judge_people, (dataset, given, seed)) for dataset, given in labelled.items() if "people" in ways]


class LabelsLeft:
    """The labels that have not answered a question yet."""

    def __init__(self, labels: Ints, random: np.random.Generator) -> None:
        self._labels, self._random = labels, random
        self._is_left = np.ones(len(labels), np.bool_)
        self._of: dict[tuple[str, int], dict[int, list[int]]] = {}
        for row, (item, person, _) in enumerate(labels.tolist()):
            self._of.setdefault(("person", person), {}).setdefault(item, []).append(row)
            self._of.setdefault(("item", item), {}).setdefault(person, []).append(row)

    def __len__(self) -> int:
        return int(self._is_left.sum())

    def somebody(self) -> int:
        """The person who gave one of them, drawn at random."""
        return int(self._labels[self._random.choice(np.flatnonzero(self._is_left)), 1])

    def items(self, person: int) -> list[int]:
        """The items this person can still answer about."""
        return list(self._of["person", person])

    def rater(self, item: int) -> int | None:
        """A person who can still answer about this item, drawn at random; None if there is none."""
        people = self._of["item", item]
        return int(self._random.choice(list(people))) if people else None

    def take(self, item: int, person: int) -> int:
        """The label that this person gave it; one of them if there are two."""
        rows = self._of["person", person][item]
        row = int(self._random.choice(rows))
        self._is_left[row] = False
        for kind, number, other in (("person", person, item), ("item", item, person)):
            self._of[kind, number][other] = [one for one in rows if one != row]
            if not self._of[kind, number][other]:
                del self._of[kind, number][other]
        return int(self._labels[row, 2])

    def silence(self, person: int) -> None:
        """Do not ask this person again."""
        for item in self.items(person):
            while item in self._of["person", person]:
                self.take(item, person)


def place(dataset: str, way: str, given: Labelled, run: int, seed: int) -> list[Record]:
    """Place all items, and record how far off those with a known level are."""
    random = np.random.RandomState([seed, run])
    left = LabelsLeft(given.labels, np.random.default_rng([seed, run]))
    known, right = np.array(list(given.gold)), np.array(list(given.gold.values()))
    n_items = 1 + int(given.labels[:, 0].max())
    asked = Asked(
        np.empty((n_items, 0)),
        list(range(1, given.n_levels + 1)),
        random.randint(2**31),
        left.rater,
        lambda item, level, person: left.take(item, person) > level,
    )
    looks = [n / LOOKS for n in range(1, int(LOOKS * SHARES[-1]) + 1)]
    stops = [round(share * n_items) for share in looks]
    levels: Iterator[tuple[Any, float | str]]
    if way in READINGS:
        levels = ((1 + READINGS[way](told, n_items, given.n_levels), "") for told in ask_in_turns(asked, stops))
    else:
        error_rate, at_hand = _USUAL if way == "alike" else None, _AT_HAND if way == CHOSEN else 1
        levels = _by_pool(asked, left, stops, error_rate, at_hand)
    return [
        record(PLACED, dataset, way, run, answers=share, mae=float(np.abs(placed[known] - right).mean()))
        | {"expected": expected}
        for share, (placed, expected) in zip(looks, levels, strict=True)
    ]


def _by_pool(
    asked: Asked, left: LabelsLeft, stops: Sequence[int], error_rate: float | None, at_hand: int
) -> Iterator[tuple[Any, float]]:
    """With an error rate, all people are alike; without, the pool finds each one's, and asks someone available."""
    pool, n = new_pool(asked, error_rate=error_rate), 0
    for stop in stops:
        while n < stop and len(left):
            people = {left.somebody() for _ in range(at_hand)}
            question = pool.ask(person={str(person): left.items(person) for person in sorted(people)})
            if question is None:
                for person in people:
                    left.silence(person)
                continue
            pool.tell(question, asked.told(question.item, question.level, int(question.person)))
            n += 1
        yield pool.levels_, expected_error(pool)


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
    """The errors, and the figures of the busiest people."""
    placed = [r for r in records if r["part"] == PLACED]
    known = [r for r in records if r["part"] in FIGURES]
    who = "real people, on the items whose level is known"
    return [*([error_table(placed, SHARES, who, _NAMES)] if placed else []), *([_busiest(known)] if known else [])]


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
