"""Answers, skips, retractions: applied exactly once, however often they are sent. Jobs for the writer."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.service.refusal import Refusal
from dford.service.store.schema import answers, heads, retractions, skips

# Statements are built once: building one takes longer than running it.
_project: Any = sa.bindparam("project_")
_head = heads.update().where(heads.c.project == _project)
_SEQUENCE = _head.values(sequence=heads.c.sequence + 1).returning(heads.c.sequence)
_SET_HEAD = _head.values(sequence=sa.bindparam("head"))
_WHOSE = sa.select(answers.c.person).where(answers.c.project == _project, answers.c.question == sa.bindparam("number"))


class SentAnswer(NamedTuple):
    """An answer, as it was sent."""

    number: int
    higher: bool | None
    """None if it is a rating."""
    person: str
    anybodys: bool = False
    """Whether it may answer a question that another person was asked."""
    confidence: float | None = None
    """How sure they are, from 0.5 to 1, if they say so. If the answer is sent again, the first confidence stands."""
    rating: int | None = None
    """The level given instead of yes or no, from 1."""

    def is_above(self, level: int) -> bool:
        """Whether it says that the right level is above this one."""
        return bool(self.higher) if self.rating is None else self.rating > level


class RecordedAnswer(NamedTuple):
    """The reply to an answer, the same however often it is sent."""

    question: int
    higher: bool
    sequence: int
    at: float


def record(connection: Connection, project: int, sent: Sequence[SentAnswer]) -> list[RecordedAnswer | Refusal]:
    """Record answers, each once, and return the outcome of each."""
    head, fates = _fates(connection, project, [one.number for one in sent])
    _look_up_times(connection, project, fates)
    now, outcomes, new = time.time(), list[RecordedAnswer | Refusal](), dict[int, SentAnswer]()
    for one in sent:
        outcome = _before(one, fates.get(one.number))
        if outcome is None:
            head += 1
            higher = one.is_above(fates[one.number].level)
            outcome, new[head] = RecordedAnswer(one.number, higher, head, now), one
            fates[one.number] = fates[one.number]._replace(sequence=head, higher=higher, rating=one.rating, at=now)
        outcomes.append(outcome)
    if new:
        rows = [
            (sequence, one.number, fates[one.number].higher, one.person, one.confidence, one.rating)
            for sequence, one in new.items()
        ]
        listing = _listing(connection)
        connection.execute(listing.add_answers, {"project": project, "rows": json.dumps(rows), "at": now})
        connection.execute(_SET_HEAD, {"project_": project, "head": head})
        _close(connection, project, {one.number: fates[one.number].item for one in new.values()})
    return outcomes


def _before(answer: SentAnswer, fate: "_Fate | None") -> RecordedAnswer | Refusal | None:
    """The outcome of an answer to a question that takes no more answers; None if it still takes one."""
    number = answer.number
    if fate is None:
        return _no_question(number)
    if not answer.anybodys and fate.person != answer.person:  # first, so that nobody learns what another one said
        return not_yours(number, "asked of")
    if fate.retraction is not None:
        return Refusal(409, "retracted", f"the answer to question {number} was taken back; ask again", "question")
    if fate.sequence is not None:
        higher = answer.is_above(fate.level)
        if (fate.higher, fate.rating) != (higher, answer.rating):
            said = "with a level" if fate.rating is not None else f"higher={str(fate.higher).lower()}"
            sentence = f"question {number} was already answered {said}; the first answer stands"
            return Refusal(409, "answered-otherwise", sentence, "higher")
        assert fate.at is not None
        return RecordedAnswer(number, higher, fate.sequence, fate.at)
    if fate.skip is not None:
        return Refusal(409, "skipped", f"question {number} was skipped and takes no answer; ask again", "question")
    return None


def skip(connection: Connection, project: int, number: int, person: str, anybodys: bool) -> None:
    """Close a question without an answer, once: one's own, or anybody's. Its item waits for its next turn."""
    row = _fate(connection, project, number)
    if not anybodys and row.person != person:
        raise not_yours(number, "asked of")
    if row.sequence is not None:
        raise Refusal(
            409, "answered", f"question {number} was already answered; retract the answer instead", "question"
        )
    if row.skip is None:
        values = {"project": project, "question": number, "person": person, "at": time.time()}
        connection.execute(skips.insert(), values)
        _close(connection, project, {number: row.item})


def retract(connection: Connection, project: int, number: int, person: str, anybodys: bool) -> int:
    """Take back an answer, one's own or anybody's, once; returns the sequence number of the retraction.

    Its item comes up next again.
    """
    row = _fate(connection, project, number)
    whose = connection.scalar(_WHOSE, {"project_": project, "number": number}) or row.person
    if not anybodys and whose != person:
        raise not_yours(number, "asked of" if row.person != person else "answered by")
    if row.sequence is None:
        raise Refusal(409, "not-answered", f"question {number} has no answer to take back", "question")
    if row.retraction is not None:
        return int(row.retraction)
    sequence: int = connection.execute(_SEQUENCE, {"project_": project}).scalar_one()
    connection.execute(
        retractions.insert(),
        {
            "project": project,
            "sequence": sequence,
            "question": number,
            "answer": row.sequence,
            "person": person,
            "at": time.time(),
        },
    )
    if row.item is not None:
        turn = {"project": project, "numbers": json.dumps([row.item]), "by": -1}
        connection.execute(_listing(connection).turn, turn)
    return sequence


class _Fate(NamedTuple):
    """What became of a question."""

    item: int | None
    sequence: int | None
    higher: bool | None
    skip: int | None
    retraction: int | None
    person: str
    """Who was asked."""
    level: int
    """The level asked about."""
    rating: int | None
    at: float | None = None
    """When it was answered, as far as that was looked up."""


class _Listing(NamedTuple):
    """Statements about many rows at once.

    The rows are passed as one JSON text, for the reason given in store/bulk_insert.py.
    """

    fates: sa.TextClause
    times: sa.TextClause
    add_answers: sa.TextClause
    end_leases: sa.TextClause
    turn: sa.TextClause


def _make_listing(among: str, rows: str, part: str, all_of: str) -> _Listing:
    columns = "q.item, a.sequence, a.higher, s.question, r.sequence, q.person, q.level, a.rating"
    sequence, question, higher, person, confidence, rating = (part.format(i) for i in range(6))
    same = "{0}.project = q.project AND {0}.question = q.number"
    return _Listing(
        sa.text(
            "SELECT (SELECT sequence FROM heads WHERE project = :project) AS head, "
            f"CAST({all_of.format('q.number, ' + columns)} AS TEXT) AS fates FROM questions q "
            f"LEFT JOIN answers a ON {same.format('a')} LEFT JOIN skips s ON {same.format('s')} "
            f"LEFT JOIN retractions r ON {same.format('r')} WHERE q.project = :project AND q.number {among}"
        ),
        sa.text(f"SELECT question, at FROM answers WHERE project = :project AND question {among}"),
        sa.text(
            "INSERT INTO answers (project, sequence, question, higher, person, at, confidence, rating) "
            f"SELECT :project, CAST({sequence} AS INTEGER), CAST({question} AS INTEGER), CAST({higher} AS BOOLEAN), "
            f"{person}, :at, CAST({confidence} AS DOUBLE PRECISION), CAST({rating} AS INTEGER) FROM {rows}"
        ),
        sa.text(f"DELETE FROM leases WHERE project = :project AND question {among}"),
        sa.text(f"UPDATE pool SET turns = turns + :by WHERE project = :project AND item {among}"),
    )


_LISTINGS = {
    "sqlite": _make_listing(
        "IN (SELECT value FROM json_each(:numbers))",
        "json_each(:rows)",
        "json_extract(value, '$[{}]')",
        "json_group_array(json_array({}))",
    ),
    "postgresql": _make_listing(
        # an array, because PostgreSQL reads the whole table for a list from a query
        "= ANY(ARRAY(SELECT CAST(value AS INTEGER) FROM json_array_elements_text(CAST(:numbers AS JSON))))",
        "json_array_elements(CAST(:rows AS JSON))",
        "value ->> {}",
        "json_agg(json_build_array({}))",
    ),
}


def _listing(connection: Connection) -> _Listing:
    return _LISTINGS[connection.dialect.name]


def _fates(connection: Connection, project: int, numbers: Sequence[int]) -> tuple[int, dict[int, _Fate]]:
    """The last sequence number, and what became of these questions, as far as they exist."""
    place = {"project": project, "numbers": json.dumps(numbers)}
    row = connection.execute(_listing(connection).fates, place).one()
    return row.head, {
        number: _Fate(item, sequence, None if higher is None else bool(higher), *rest)
        for number, item, sequence, higher, *rest in json.loads(row.fates or "[]")
    }


def _look_up_times(connection: Connection, project: int, fates: dict[int, _Fate]) -> None:
    """When the answered ones were; SQLite's JSON would round that."""
    answered = [number for number, fate in fates.items() if fate.sequence is not None]
    if answered:
        place = {"project": project, "numbers": json.dumps(answered)}
        for number, at in connection.execute(_listing(connection).times, place):
            fates[number] = fates[number]._replace(at=at)


def _fate(connection: Connection, project: int, number: int) -> _Fate:
    fate = _fates(connection, project, [number])[1].get(number)
    if fate is None:
        raise _no_question(number)
    return fate


def not_yours(number: int, did: str) -> Refusal:
    sentence = f"question {number} was {did} another person; use that person's key or an admin's"
    return Refusal(403, "not-yours", sentence, "question")


def _no_question(number: int) -> Refusal:
    return Refusal(404, "no-question", f"there is no question {number} in this project", "question")


def _close(connection: Connection, project: int, questions: Mapping[int, int | None]) -> None:
    """End the leases of questions, and give their items a turn."""
    numbers = json.dumps(list(questions))
    connection.execute(_listing(connection).end_leases, {"project": project, "numbers": numbers})
    give_turns(connection, project, questions.values())


def give_turns(connection: Connection, project: int, items: Iterable[int | None]) -> None:
    """Give each item a turn, as often as it is listed."""
    turns = Counter(item for item in items if item is not None)
    for by in set(turns.values()):
        chosen = json.dumps([item for item, count in turns.items() if count == by])
        connection.execute(_listing(connection).turn, {"project": project, "numbers": chosen, "by": by})
