"""The tables.

The log is projects, columns, items, questions, answers, skips, retractions and settlements: rows are added, never
changed. The rest can be rebuilt from it, or is not part of it: heads (the last numbers given), pool, leases, snapshots,
rules, keys, requests.
"""

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Double, Index, Integer, LargeBinary, Table, Text

metadata = sa.MetaData()


def _project() -> Column[int]:
    return Column("project", Integer, primary_key=True, autoincrement=False)


def _number(name: str) -> Column[int]:
    return Column(name, Integer, primary_key=True, autoincrement=False)


def _who_and_when() -> tuple[Column[str], Column[float]]:
    return Column("person", Text, nullable=False), Column("at", Double, nullable=False)


projects = Table(
    "projects",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, unique=True, nullable=False),
    Column("levels", Text, nullable=False),  # JSON, as are all descriptions
    Column("learner", Text, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
    Column("choice", Text, nullable=False, server_default="turns"),  # of the next item
    Column("target", Double, nullable=False, server_default="0.1"),  # the error at which there are enough answers
    Column("reveal", Boolean, nullable=False, server_default=sa.false()),  # whether people see where an item stands
    Column("files", Text),  # its part of the image folder
)
columns = Table("columns", metadata, _project(), Column("columns", Text, nullable=False))
items = Table(
    "items",
    metadata,
    _project(),
    _number("number"),
    Column("shown", Text, nullable=False),
    Column("x", LargeBinary, nullable=False),
    Column("sequence", Integer, nullable=False, server_default="0"),  # of the last answer or retraction before it
)
questions = Table(
    "questions",
    metadata,
    _project(),
    _number("number"),  # negative: nobody asked it, and the answer with this number is a rating
    Column("item", Integer),
    Column("shown", Text),  # the features sent with the question, if it is not about an item of the pool
    Column("x", LargeBinary),
    Column("level", Integer, nullable=False),
    Column("prediction", Integer, nullable=False),
    Column("propensity", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("key", Text),
    *_who_and_when(),
    Column("purpose", Integer, nullable=False, server_default="0"),
    Column("checks", Integer),  # the question that this one repeats
    Column("program", Boolean, nullable=False, server_default=sa.false()),  # whether a program was asked
    Column("wanted", Boolean),  # whether the request named the item; null if that was not written down
)
Index("questions_by_key", questions.c.project, questions.c.person, questions.c.key, unique=True)
# answers, retractions and settlements of a project share one sequence, so that a state has a number
answers = Table(
    "answers",
    metadata,
    _project(),
    _number("sequence"),
    Column("question", Integer, nullable=False),
    Column("higher", Boolean, nullable=False),
    *_who_and_when(),
    Column("confidence", Double),  # from 0.5 to 1: how sure the person was; null if they did not say
    Column("id", Text),  # of an imported answer; projects.answer_ids makes those of the others
    Column("rating", Integer),  # the level given; `higher` is then whether it is above the one asked about
)
Index("answers_by_question", answers.c.project, answers.c.question, unique=True)
_IS_IMPORTED = answers.c.id.is_not(None)
Index(
    "answers_by_id", answers.c.project, answers.c.id, unique=True,
    sqlite_where=_IS_IMPORTED, postgresql_where=_IS_IMPORTED,
)  # fmt: skip
HAS_RATING = answers.c.rating.is_not(None)
Index("answers_with_ratings", answers.c.project, answers.c.person, sqlite_where=HAS_RATING, postgresql_where=HAS_RATING)
skips = Table("skips", metadata, _project(), _number("question"), *_who_and_when())
retractions = Table(
    "retractions",
    metadata,
    _project(),
    _number("sequence"),
    Column("question", Integer, nullable=False),
    Column("answer", Integer, nullable=False),
    *_who_and_when(),
)
Index("retractions_by_question", retractions.c.project, retractions.c.question, unique=True)
# settled levels of items: the latest for each item holds
settlements = Table(
    "settlements",
    metadata,
    _project(),
    _number("sequence"),
    Column("item", Integer, nullable=False),
    Column("lowest", Integer),  # both null: an earlier settlement is undone
    Column("highest", Integer),
    *_who_and_when(),
)

heads = Table(
    "heads",
    metadata,
    _project(),
    Column("item", Integer, nullable=False),
    Column("question", Integer, nullable=False),
    Column("sequence", Integer, nullable=False),
)
pool = Table(
    "pool",
    metadata,
    _project(),
    _number("item"),
    Column("turns", Integer, nullable=False),
    Column("settled", Integer),  # the sequence number of the settlement that holds
)
Index("pool_by_turns", pool.c.project, pool.c.turns, pool.c.item)
leases = Table(
    "leases",
    metadata,
    _project(),
    _number("question"),
    Column("item", Integer),
    Column("expires", Double, nullable=False),
    Column("person", Text, nullable=False, server_default=""),
    Column("at", Double, nullable=False, server_default="0"),  # when it began
)
Index("leases_by_item", leases.c.project, leases.c.item)
Index("leases_by_expiry", leases.c.project, leases.c.expires)
# a state: all answers up to `sequence` except those that a retraction up to `as_of` takes back
snapshots = Table(
    "snapshots",
    metadata,
    _project(),
    _number("sequence"),
    Column("as_of", Integer, nullable=False),
    Column("versions", Text, nullable=False),  # of the libraries and the code that made it, as JSON
    Column("model", LargeBinary, nullable=False),
    Column("placements", LargeBinary),  # of items; null if the learner has no probabilities
)
# how people are asked, which may change; a project without a row has the defaults of projects.rules.Rules
rules = Table(
    "rules",
    metadata,
    _project(),
    Column("gold", Double, nullable=False),
    Column("gold_column", Text),
    Column("answers_per_item", Integer, nullable=False),
    Column("auditors", Text),  # JSON; null: everyone
    Column("own_figures", Boolean, nullable=False),
    Column("ratings", Boolean, nullable=False, server_default=sa.false()),
    Column("certify", Boolean, nullable=False, server_default=sa.false()),
)
keys = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("project", Integer),  # null: all projects
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("at", Double, nullable=False),
    Column("revoked", Double),
)
# what was sent with an Idempotency-Key, and what was answered
requests = Table(
    "requests",
    metadata,
    _project(),  # 0: it was for no single project; -1: it was sent to an earlier version, which did not write it down
    Column("person", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("response", Text, nullable=False),
    Column("at", Double, nullable=False),
)
schema_version = Table("schema_version", metadata, Column("version", Integer, primary_key=True))
