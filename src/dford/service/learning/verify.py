"""Replaying the whole log from zero, and comparing the result with the snapshots."""

import json
from typing import NamedTuple

import sqlalchemy as sa

from dford import persistence
from dford.service.learning import learned, log_reader, snapshots
from dford.service.learning.learned import Learned
from dford.service.learning.log_reader import Arrivals, Settlements
from dford.service.learning.snapshots import Snapshot
from dford.service.projects import projects
from dford.service.projects.projects import Project
from dford.service.store.database import Database, reason
from dford.service.store.schema import answers, heads, items, questions, retractions, settlements

Stop = tuple[int, int]
"""A state: the number of the last answer, retraction or settlement, and how many items there are."""


class Verification(NamedTuple):
    """What a replay of one project found."""

    project: str
    answers: int
    """Those that count, without those taken back."""
    snapshots: int
    """Those that were compared, to the bit."""
    head: int
    digest: str
    """The digest of the state at the head."""
    faults: list[str]
    remarks: list[str]
    """Snapshots that differ but were made by other versions or other code, which may explain it."""


def verify_all(database: Database) -> list[Verification]:
    """Verify every project; one whose own rows cannot be read is a fault like any other."""
    found = []
    for name in projects.names(database):
        try:
            project = projects.find(database, name)
        except Exception as error:  # the other projects are verified all the same
            fault = f"it cannot be read ({type(error).__name__}: {reason(error)})"
            found.append(Verification(name, 0, 0, 0, "", [fault], []))
            continue
        if project is not None:
            found.append(verify(database, project))
    return found


def verify(database: Database, project: Project) -> Verification:
    """Fold the answers from zero; every snapshot must be the state that its answers lead to."""
    faults = list[str]()
    nothing = Verification(project.name, 0, 0, 0, "", faults, [])
    try:
        nothing = nothing._replace(head=log_reader.head_of(database, project.id))
        faults += _lost(database, project) + _unreadable(database, project)
        return _verify(database, project, nothing) if project.columns else nothing
    except Exception as error:  # the other projects are verified all the same
        faults.append(f"its log cannot be replayed ({type(error).__name__}: {reason(error)})")
        return nothing


def _verify(database: Database, project: Project, so_far: Verification) -> Verification:
    head, faults, remarks = so_far.head, so_far.faults, so_far.remarks
    kept, digests = dict[int, Snapshot](), dict[int, str]()
    known: dict[int, int] = {}  # items in each snapshot: more may have arrived before the next answer
    for one in snapshots.each(database, project.id):
        digests[one.sequence], known[one.sequence] = learned.digest(one.model, one.placements), _n_items(one)
        kept[one.sequence] = one._replace(model=b"", placements=None)  # to save memory, as there may be many
    # one that holds an answer taken back later is folded as of its own time
    on_the_way = {at for at, one in kept.items() if not _retracted(database, project.id, one.sequence, one.as_of)}
    stops, made = {at: (at, known[at]) for at in kept}, dict[int, str]()
    for at in kept.keys() - on_the_way:
        made[at] = _fold(database, project, kept[at].as_of, {stops[at]})[1][stops[at]]
    last = head, log_reader.heads_of(database, project.id)[1]
    count, states = _fold(database, project, head, {last, *(stops[at] for at in on_the_way)})
    made |= {at: states[stops[at]] for at in on_the_way}
    for at, one in kept.items():
        if made[at] != digests[at]:
            if one.versions == snapshots.versions():
                faults.append(f"the snapshot at {at} is not the state that its answers lead to")
            else:
                remarks.append(f"the snapshot at {at} differs, and was made by other versions: {one.versions}")
    return Verification(project.name, count, len(kept), head, states[last], faults, remarks)


def _fold(database: Database, project: Project, as_of: int, stops: set[Stop]) -> tuple[int, dict[Stop, str]]:
    """How many answers count as of a number, and the digests of the states at the stops."""
    model, states, waiting, count = learned.new(project), dict[Stop, str](), sorted(stops), 0
    items, settled = log_reader.arrivals(database, project, 0, as_of), log_reader.settled(database, project, 0, as_of)
    for page in log_reader.pages(database, project, 0, as_of, most=log_reader.MANY):
        begin = 0
        for stop in [stop for stop in waiting if stop[0] < page.sequence[-1]]:
            end = int((page.sequence <= stop[0]).sum())
            model.learn(page, slice(begin, end), items, settled)
            states[waiting.pop(0)], begin = _digest(model, items, settled, stop), end
        model.learn(page, slice(begin, None), items, settled)
        count += len(page.level)
    return count, states | {stop: _digest(model, items, settled, stop) for stop in waiting}


def _digest(model: Learned, items: Arrivals, settled: Settlements, stop: Stop) -> str:
    model.settle(settled, stop[0] + 1, items)
    model.admit(items, stop[1])
    model.finish()
    return learned.digest(*model.packing()())


def _n_items(kept: Snapshot) -> int:
    """How many items a snapshot knows."""
    return 0 if kept.placements is None else len(persistence.unpack(kept.placements, "snapshot")[1]["prior"])


def _retracted(database: Database, project: int, sequence: int, as_of: int) -> bool:
    return log_reader.news(database, project, sequence, as_of).retracted


def _lost(database: Database, project: Project) -> list[str]:
    """What shows that rows are missing: numbers are given without gaps, and `heads` has the last of each kind."""
    given = {
        "sequence": [table.c.sequence for table in (answers, retractions, settlements)],
        "item": [items.c.number],
        "question": [questions.c.number],
    }
    # one statement sees one moment, in any database
    listed = [(kind, False, column) for kind, columns in given.items() for column in columns]
    listed += [(kind, True, heads.c[kind]) for kind in given]
    every = (  # ratings have questions with negative numbers
        sa.select(sa.literal(kind), sa.literal(is_last), column)
        .where(column.table.c.project == project.id)
        .where(column >= 0)
        for kind, is_last, column in listed
    )
    found: dict[tuple[str, bool], list[int]] = {}
    with database.reading() as connection:
        for kind, is_last, number in connection.execute(sa.union_all(*every)):
            found.setdefault((kind, bool(is_last)), []).append(number)
    faults = []
    for kind in given:
        numbers, last = sorted(found.get((kind, False), [])), found.get((kind, True), [0])[0]
        if numbers != list(range(1, len(numbers) + 1)):
            faults.append(f"the {kind} numbers have gaps")
        elif last != len(numbers):
            faults.append(f"the last {kind} number given is {last}, but the log ends at {len(numbers)}")
    if not project.columns and (found.keys() & {("sequence", False), ("item", False)}):
        faults.append("it has items or answers, but the table columns does not say how they are read")
    return faults


def _unreadable(database: Database, project: Project) -> list[str]:
    """The first item, and the first question with features of its own, that cannot be shown."""
    faults = []
    for table in (items, questions):
        with database.reading() as connection:
            own = sa.select(table.c.number, table.c.shown).where(
                table.c.project == project.id, table.c.shown.is_not(None)
            )
            for number, shown in connection.execute(own.order_by(table.c.number)):
                if not _is_object(shown):
                    faults.append(f"what is shown of number {number} in the table {table.name} is not JSON")
                    break
    return faults


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
