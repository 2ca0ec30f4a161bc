"""People who differ: placements that weigh answers by who gave them, compared with methods that know less or more.

Six simulated people answer, one drawn at random for each question. The methods one would use without a library, votes
and Dawid and Skene (1979), use no features: they ask about one item after another, halving the levels that its answers
leave, and both read the same answers.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from dford.arrays import Floats, Ints
from dford.experiments.studies.records import Record, Table, Task, cells_of
from dford.experiments.studies.running_error import Data, Dataset
from dford.learners import Auto, Rows
from dford.pool import Pool
from dford.pool.agreement import AnswerColumns, Voice
from dford.pool.reliability import alike

WRONG = {"ann": 0.05, "ben": 0.05, "cat": 0.05, "dan": 0.05, "eve": 0.3, "fay": 0.5}
"""How often each of the people is wrong."""
WAYS = {
    "alike": "all alike",
    "people": "by who gave them",
    "known": "error rates known",
    "votes": "votes",
    "dawid-skene": "Dawid–Skene",
}
ITEMS = 2000
SHARES = (1.0, 2.0, 3.0)
LOOKS = 4  # per answer per item
_USUAL = 0.1  # how often votes assume that an answer is wrong
_ADDED = 0.1  # to the counts of Dawid and Skene, so that no error rate is 0
_ROUNDS = 50
_ROUNDING = 1e-9  # bounds are sums over the grid of rates that were tried


def record(part: str, dataset: str, way: str, run: int, **figures: Any) -> Record:
    """A row of the study, whose parts have different figures."""
    empty = dict.fromkeys(("answers", "cost", "mae", "expected", "person", "true", "value", "low", "high", "count"), "")
    return {"part": part, "dataset": dataset, "way": way, "run": run + 1} | empty | figures


def tasks(data: Data, ways: Sequence[str], items: int, runs: int, seed: int = 0) -> list[Task]:
    """All tasks with simulated people."""
    return [
        (place, (dataset, way, given, items, run, seed))
        for run in range(runs)
        for dataset, given in data.items()
        for way in ways
    ]


def place(dataset: str, way: str, given: Dataset, items: int, run: int, seed: int) -> list[Record]:
    """Place some rows of a shuffle; then, if the way tells people apart, record what it found out about them."""
    random = np.random.RandomState([seed, run])
    some = random.permutation(len(given.y))[: min(items, ITEMS)]
    y, levels = given.y[some], np.unique(given.y).tolist()
    own_seed, people, noise = random.randint(2**31), *np.random.default_rng([seed, run]).spawn(2)

    names = list(WRONG)

    def told(item: int, level: Any, person: int) -> bool:
        return bool((y[item] > level) != (noise.random() < WRONG[names[person]]))

    def somebody(item: int, level: Any) -> int:
        return int(people.integers(len(names)))

    asked = Asked(given.X[some], levels, own_seed, somebody, told, given.dense)
    looks = [n / LOOKS for n in range(1, int(LOOKS * SHARES[-1]) + 1)]
    stops = [round(share * len(some)) for share in looks]
    found = []
    if way in ("votes", "dawid-skene"):
        for share, told_so_far in zip(looks, ask_in_turns(asked, stops), strict=True):
            placed = READINGS[way](told_so_far, len(some), len(levels))
            found.append(_error(dataset, way, run, share, np.array(levels)[placed] - y))
        return found
    pool = new_pool(asked, WRONG if way == "known" else None)
    for share, _ in zip(looks, _ask_pool(pool, asked, stops, way != "alike", people), strict=True):
        found.append(_error(dataset, way, run, share, pool.levels_ - y, expected_error(pool)))
    people_found = pool.people_.values() if way == "people" else ()
    return found + [
        record(
            "person", dataset, way, run, person=one.name, true=WRONG[one.name], answers=one.answers, count=one.judged
        )
        | one.error_rate._asdict()
        for one in people_found
    ]


def _error(
    dataset: str, way: str, run: int, share: float, off: Ints, expected: float | str = "", part: str = "placed"
) -> Record:
    return record(part, dataset, way, run, answers=share, mae=float(np.abs(off).mean()), expected=expected)


class Asked(NamedTuple):
    """What to place, and whom to ask."""

    X: Rows
    levels: list[Any]
    seed: int
    somebody: Callable[[int, Any], int | None]
    """The number of the person asked about an item and a level; None if there is nobody to ask."""
    told: Callable[[int, Any, int], bool]
    """What a person says about an item and a level."""
    dense: int | None = None


def new_pool(asked: Asked, rates: dict[str, float] | None = None, error_rate: float | None = None) -> Pool:
    """A pool. To show what is possible, it may be told how often each person is wrong, which no real pool is."""
    learner = Auto(dense=asked.dense)
    pool = Pool(asked.X, asked.levels, learner=learner, error_rate=error_rate, random_state=asked.seed)
    if rates is not None:
        own, placements = np.array([fmean(rates.values()), *rates.values()]), pool._placements
        placements.known = alike(0.0, len(asked.levels))._replace(rates=own, strictness=np.zeros(len(own)))
        placements.reliability = placements.known
        for name in rates:
            placements.number(Voice(name))
    return pool


def _ask_pool(
    pool: Pool, asked: Asked, stops: Sequence[int], named: bool, people: np.random.Generator
) -> Iterator[int]:
    """Let people answer a pool up to each of these numbers of answers; if `named`, it learns who they are."""
    n, names = 0, list(WRONG)
    for stop in stops:
        while n < stop:
            person = int(people.integers(len(names)))
            name = names[person] if named else None
            question = pool.ask(person=name)
            assert question is not None, "with some answers wrong, there is always something to ask"
            pool.tell(question, asked.told(question.item, question.level, person), name)
            n += 1
        yield n


def expected_error(pool: Pool) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the audit contradicts it: the table shows the true error too
        return pool.expected_error_


def ask_in_turns(asked: Asked, stops: Sequence[int]) -> Iterator[AnswerColumns]:
    """Ask about one item after another, at the level that halves what the item's own answers leave."""
    n_items, n_levels = asked.X.shape[0], len(asked.levels)
    logs, rows, n = np.zeros((n_items, n_levels)), list[tuple[int, int, int, bool]](), 0
    for stop in stops:
        while n < stop:
            item, n = n % n_items, n + 1
            belief = np.exp(logs[item] - logs[item].max())
            cut = int(np.abs(belief.cumsum()[:-1] / belief.sum() - 0.5).argmin())
            if (person := asked.somebody(item, asked.levels[cut])) is None:
                continue
            higher = asked.told(item, asked.levels[cut], person)
            logs[item] += np.log(np.where((np.arange(n_levels) > cut) == higher, 1 - _USUAL, _USUAL))
            rows.append((item, person, cut, higher))
        yield AnswerColumns(*np.array(rows, np.int64).reshape(-1, 4).T)


def vote(told: AnswerColumns, n_items: int, n_levels: int) -> Ints:
    """The level at which most answers about an item are right, or the middle one of several.

    It is the median level, with levels weighted by the likelihood of the answers if one in ten is wrong.
    """
    return _medians(_beliefs(told, np.tile([_USUAL, 1 - _USUAL], (len(told.item), 1)), np.ones(n_levels), n_items))


def dawid_skene(told: AnswerColumns, n_items: int, n_levels: int) -> Ints:
    """Dawid and Skene (1979) for levels and yes or no, by EM: how often each person says yes above a cut and below it.

    It starts from the votes.
    """
    above = np.arange(n_levels) > told.cut[:, None]
    beliefs = _beliefs(told, np.tile([_USUAL, 1 - _USUAL], (len(told.item), 1)), np.ones(n_levels), n_items)
    for _ in range(_ROUNDS):
        is_above = (beliefs[told.item] * above).sum(axis=1)
        yes = [
            (_ADDED + np.bincount(told.person, weight * told.higher)) / (2 * _ADDED + np.bincount(told.person, weight))
            for weight in (1 - is_above, is_above)
        ]
        beliefs = _beliefs(told, np.stack(yes, axis=1)[told.person], beliefs.mean(axis=0), n_items)
    return _medians(beliefs)


READINGS: dict[str, Callable[[AnswerColumns, int, int], Ints]] = {"votes": vote, "dawid-skene": dawid_skene}


def _beliefs(told: AnswerColumns, yes: Floats, shares: Floats, n_items: int) -> Floats:
    """The probability of each level; `yes` is how likely each answer was to be yes below its cut and above it."""
    above = np.arange(len(shares)) > told.cut[:, None]
    chances = np.where(above, yes[:, 1:], yes[:, :1])
    terms = np.log(np.where(told.higher[:, None], chances, 1 - chances))
    logs = np.log(shares) + np.stack([np.bincount(told.item, term, n_items) for term in terms.T], axis=1)
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: Floats = chances / chances.sum(axis=1, keepdims=True)
    return found


def _medians(beliefs: Floats) -> Ints:
    found: Ints = (beliefs.cumsum(axis=1) >= 0.5).argmax(axis=1)
    return found


def tables(records: Sequence[Record]) -> list[Table]:
    """The errors, and what was found out about people."""
    placed, people = ([r for r in records if r["part"] == part] for part in ("placed", "person"))
    return [*([error_table(placed, SHARES, WHO)] if placed else []), *([_people(people)] if people else [])]


WHO = "six people, of whom four are wrong in 5% of their answers, one in 30% and one in 50%"


def error_table(
    records: Sequence[Record], shares: Sequence[float], who: str, names: Mapping[str, str] = WAYS
) -> Table:  # fmt: skip
    ways = [way for way in names if any(r["way"] == way for r in records)]
    rows, expecting = [], [way for way in ways if way == "people"]
    for dataset in dict.fromkeys(r["dataset"] for r in records):
        own = {way: [r for r in records if (r["dataset"], r["way"]) == (dataset, way)] for way in ways}
        cells = [cells_of(own[way], "mae", shares) for way in ways] + [
            cells_of(own[way], "expected", shares) for way in expecting
        ]
        rows.append([dataset, *cells])
    header = ["dataset", *(names[way] for way in ways), *("Pool expects, by who" for _ in expecting)]
    after = " / ".join(f"{share:g}" for share in shares)
    return Table(f"Levels off after {after} answers per item; {who}; {of_runs(records)}", header, rows)


def of_runs(records: Sequence[Record]) -> str:
    runs = max(r["run"] for r in records)
    return f"mean of {runs} runs" if runs > 1 else "one run"


def _people(records: Sequence[Record]) -> Table:
    rates, rows = list(dict.fromkeys(WRONG.values())), []
    for dataset in dict.fromkeys(r["dataset"] for r in records):
        row = [dataset]
        for rate in rates:
            own = [r for r in records if (r["dataset"], r["true"]) == (dataset, rate)]
            held = sum(r["low"] - _ROUNDING <= rate <= r["high"] + _ROUNDING for r in own)
            width = fmean(r["high"] - r["low"] for r in own)
            row.append(f"{fmean(r['value'] for r in own):.2f} ± {width / 2:.2f}, {held} of {len(own)}")
        judged = [r["count"] for r in records if r["dataset"] == dataset]
        rows.append([*row, f"{fmean(judged):.0f}"])
    header = ["dataset", *(f"{rate:.0%} wrong" for rate in rates), "judged answers per person"]
    title = "Error rates found: their mean ± half of the interval, and how many intervals hold the true one"
    return Table(f"{title}; {of_runs(records)}", header, rows)
