"""Replaying the whole log from zero, and comparing."""

import hashlib
from typing import NamedTuple

import sqlalchemy as sa

from dford.service.fold import learn, new_model
from dford.service.projects import Project
from dford.service.store import Store
from dford.service.tables import answers, retractions


class Report(NamedTuple):
    """What a replay of one project found."""

    project: str
    answers: int
    """That count: those taken back are left out."""
    snapshots: int
    """That were compared, to the bit."""
    head: int
    digest: str
    """Of the state at the head."""
    faults: list[str]


def verify(store: Store, project: Project) -> Report:
    """Fold the answers from zero; every snapshot must be the state that its answers make."""
    head, faults = store.head(project.id), _numbering(store, project)
    if not project.columns:
        return Report(project.name, 0, 0, head, "", faults)
    kept = dict(store.snapshots(project.id))
    # an answer that was taken back later is in an older snapshot still: such a one is folded as of its own time
    on_the_way = {at for at in kept if not store.taken_back(project.id, at, head)}
    made = {at: _fold(store, project, at, {at})[1][at] for at in kept if at not in on_the_way}
    count, states = _fold(store, project, head, on_the_way | {head})
    made |= states
    faults += [f"the snapshot at {at} is not the state that its answers make" for at in kept if made[at] != kept[at]]
    return Report(project.name, count, len(kept), head, hashlib.sha256(made[head]).hexdigest(), faults)


def _fold(store: Store, project: Project, head: int, stops: set[int]) -> tuple[int, dict[int, bytes]]:
    """How many answers count up to `head`, and the states at the stops, from zero."""
    model, states, waiting, count = new_model(project), {}, sorted(stops), 0
    for one in store.rounds(project.id, 0, head):
        while waiting[0] < one.sequence:
            states[waiting.pop(0)] = model.to_bytes()
        learn(model, project, one)
        count += 1
    return count, states | {at: model.to_bytes() for at in waiting}


def _numbering(store: Store, project: Project) -> list[str]:
    with store.reading() as connection:
        numbers: list[int] = []
        for table in (answers, retractions):
            numbers += connection.scalars(sa.select(table.c.sequence).where(table.c.project == project.id))
    return [] if sorted(numbers) == list(range(1, len(numbers) + 1)) else ["the sequence numbers have gaps"]
