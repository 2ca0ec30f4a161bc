"""Adding the rounds of another log to a project, all or none, and each once."""

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from dford.answer_ids import may_be_of_content
from dford.log_columns import About
from dford.service.projects import answer_ids, items
from dford.service.projects.answer_ids import Told
from dford.service.projects.answering import give_turns
from dford.service.projects.projects import Project
from dford.service.projects.uploads import ReadyRound
from dford.service.refusal import Refusal
from dford.service.store.bulk_insert import insert_rows
from dford.service.store.database import Database
from dford.service.store.schema import answers, heads, questions

_ASKED = ("project", "number", "item", "x", "level", "prediction", "propensity", "expires", "person", "at", "program")
_TOLD = ("project", "sequence", "question", "higher", "person", "at", "confidence", "id", "rating")


def with_own_items(database: Database, project: Project, log: Sequence[ReadyRound]) -> list[ReadyRound]:
    """The rounds; those about an item that is different or missing here count as being about no item."""
    wanted = sorted({one.about.item for one in log if one.about.item is not None})
    known = dict(zip(wanted, items.find(database, project.id, wanted), strict=True))
    unknown = [one.about.item is None or known[one.about.item] != one.x for one in log]
    return [
        one._replace(about=one.about._replace(item=None)) if is_unknown else one
        for one, is_unknown in zip(log, unknown, strict=True)
    ]


def with_known_ids(database: Database, project: Project, log: Sequence[ReadyRound]) -> list[ReadyRound]:
    """The rounds; one with an unknown id that says what an answer of the project says is that answer.

    What counts is its item, or else its features, its person, its time, its level and the answer itself. If both have
    ids of their own, they are two answers; of rounds that say the same, each is another one.
    """
    ids, found = {one.id for one in log}, list(log)
    with database.reading() as connection:
        known = answer_ids.known(connection, project, list(ids))
        unknown = {n: _said(one) for n, one in enumerate(log) if one.id not in known and one.about.time is not None}
        if not unknown:
            return found
        numbers, times = {said: log[n].number for n, said in unknown.items()}, [said[2] for said in unknown.values()]
        told = answer_ids.told(project, questions.c.item, questions.c.x, questions.c.program).where(
            answers.c.at.between(min(times) - 1, max(times) + 1)
        )
        rows = [
            (said, row)
            for row in connection.execute(told)
            if (said := (row.item or row.x, row.person, round(row.at, 6), row.level, row.higher)) in numbers
            and answer_ids.id_of_answer(project, row) not in ids
        ]
    bare = _ids_by_content(database, project, [(numbers[said], row) for said, row in rows])
    here = defaultdict[Any, list[Any]](list)
    for said, row in rows:
        here[said, row.id in bare].append(row)
    for n in sorted(unknown, key=lambda n: not log[n].has_own_id):  # those with ids have fewer to choose from
        same = here[unknown[n], True] or ([] if log[n].has_own_id else here[unknown[n], False])
        if same:
            row = same.pop()
            id = answer_ids.id_of_answer(project, row)
            found[n] = log[n]._replace(id=id, prediction=row.prediction, propensity=row.propensity, has_own_id=False)
    return found


def _ids_by_content(database: Database, project: Project, rows: Sequence[tuple[int | None, Any]]) -> set[str]:
    """The ids that imported answers got by what they say, as they came without; with the numbers of their items."""
    rows = [(number, row) for number, row in rows if row.id is not None and may_be_of_content(row.id)]
    if not rows:
        return set()
    features = items.find(database, project.id, [row.item or 0 for _, row in rows])
    packed = [row.x or x or b"" for x, (_, row) in zip(features, rows, strict=True)]
    rounds = list[tuple[Any, int, int, float, bool, About]]()
    for x, (number, row) in zip(project.rows(packed), rows, strict=True):
        rating = None if row.rating is None else project.levels[row.rating - 1]
        about = About(number, row.person, row.at, row.confidence, rating, row.program)
        rounds.append((x, row.level, row.prediction, row.propensity, row.higher, about))
    return answer_ids.ids_by_content(project.levels, rounds)


def _said(one: ReadyRound) -> tuple[Any, ...]:
    return one.about.item or one.x, one.about.person, one.about.time, one.level, one.higher


def add_log(connection: Connection, project: Project, log: Sequence[ReadyRound], person: str) -> dict[str, int]:
    """Add rounds as they were asked and answered there, except those that are here already. A job for the writer.

    If a round does not say who answered, it is `person`; if it does not say when, it is now.
    """
    now, own = time.time(), heads.c.project == project.id
    connection.execute(heads.update().where(own).values(sequence=heads.c.sequence))  # other servers wait from here on
    new = _not_known(connection, project, log)
    head = connection.execute(
        heads.update()
        .where(own)
        .values(question=heads.c.question + len(new), sequence=heads.c.sequence + len(new))
        .returning(heads.c.question, heads.c.sequence)
    ).one()
    number, sequence = head.question - len(new), head.sequence - len(new)
    asked, told = [], []
    for n, (x, level, prediction, propensity, higher, about, id, *_) in enumerate(new, 1):
        who, at = about.person or person, now if about.time is None else about.time
        asked.append(
            (
                project.id,
                number + n,
                about.item,
                None if about.item else x,
                level,
                prediction,
                propensity,
                at,
                who,
                at,
                about.program,
            )
        )
        rating = _place(project, about.rating)
        told.append((project.id, sequence + n, number + n, higher, who, at, about.confidence, id, rating))
    insert_rows(connection, questions, _ASKED, asked)
    insert_rows(connection, answers, _TOLD, told)
    give_turns(connection, project.id, (one.about.item for one in new))
    return {
        "count": len(new),
        "known": len(log) - len(new),
        "about_items": sum(one.about.item is not None for one in new),
        "sequence": int(head.sequence),
    }


def _not_known(connection: Connection, project: Project, log: Sequence[ReadyRound]) -> list[ReadyRound]:
    """The rounds whose ids are new here; refused if one has the id of another answer."""
    known = answer_ids.known(connection, project, [one.id for one in log])
    for row, one in enumerate(log, 1):
        if one.id in known and _differs(project, known[one.id], one):
            sentence = (
                f"row {row} of the log: the project has another answer with the id {one.id!r}, and the first one "
                "stands; give every answer its own id, or leave the column out"
            )
            raise Refusal(422, "bad-log", sentence, "body")
    return [one for one in log if one.id not in known]


def _differs(project: Project, told: Told, one: ReadyRound) -> bool:
    """Whether the round says something else than this answer. What one of them does not say is no difference."""
    if told[:4] != one[1:5]:
        return True
    if not one.has_own_id:
        return False
    about = one.about
    said = one.number, about.confidence, _place(project, about.rating), about.program or None
    here = told.item, told.confidence, told.rating, told.program or None
    for theirs, ours in zip(said, here, strict=True):
        if theirs not in {None, ours} and (told.is_own or ours is not None):
            return True
    # who imports a log without people and times is named instead, and now, and a project exports that
    may_be_instead = one.number is None if told.is_own else about.time is not None or told.item is None
    is_at_another_time = about.time != round(told.at, 6)
    return about.person not in {None, told.person} and not (may_be_instead and is_at_another_time)


def _place(project: Project, level: str | None) -> int | None:
    """The place of a level on the scale, from 1."""
    return None if level is None else project.levels.index(level) + 1
