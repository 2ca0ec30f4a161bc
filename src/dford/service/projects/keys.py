"""Keys: who may do what. A key is shown once; the database has its hash."""

import hashlib
import hmac
import secrets
import time
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.service.refusal import Refusal
from dford.service.store.database import Database
from dford.service.store.schema import keys

ROLES = ("predict", "answer", "admin")  # each includes those before it
_LONGEST_NAME = 200
_TRUSTED_SECONDS = 1.0  # how long a lookup is trusted: keys created or revoked by another process take effect then


class Holder(NamedTuple):
    """Who sends a request."""

    name: str
    role: str
    project: int | None
    """The project it is for, or None for all."""

    def may(self, role: str, project: int | None) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role) and self.project in {None, project}


LOCAL = Holder("local", "admin", None)


class Keys:
    """The keys of a database. If there never was one, everyone is the local user.

    What was not looked up is never assumed: a lookup that fails raises, and the request is refused.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._trusted: dict[bytes, tuple[float, Holder]] = {}
        self._exist, self._none_until = False, 0.0
        self._forgotten = 0  # counts calls of `forget`: lookups that began before the last one are not kept

    def known(self, authorization: str | None) -> Holder | None:
        """The holder of the key in this Authorization header, if it need not be looked up."""
        if not self._exist:
            return LOCAL if time.monotonic() < self._none_until else None
        until, holder = self._trusted.get(_digest(authorization)[1], (0.0, None))
        return holder if time.monotonic() < until else None

    def holder(self, authorization: str | None) -> Holder:
        """The holder of the key in this Authorization header; refused if there is none."""
        found = self.known(authorization)
        if found is not None:
            return found
        if not self.exist():
            return LOCAL
        token, digest = _digest(authorization)
        name = token.partition(".")[0]
        row, until, forgotten = None, time.monotonic() + _TRUSTED_SECONDS, self._forgotten
        if name.isascii() and name.isalnum():
            with self._database.reading() as connection:
                row = connection.execute(sa.select(keys).where(keys.c.id == name)).first()
        known = hmac.compare_digest(bytes(row.hash) if row is not None else bytes(32), digest)
        if row is None or not known or row.revoked is not None:
            raise Refusal(
                401, "no-key", "the request has no valid key; send one as Authorization: Bearer …", "Authorization"
            )
        holder = Holder(row.name, row.role, row.project)
        if len(self._trusted) > 10_000:
            self._trusted.clear()
        if forgotten == self._forgotten:  # otherwise it may have been revoked in the meantime
            self._trusted[digest] = until, holder
        return holder

    def exist(self) -> bool:
        """Whether there ever was a key. Keys are revoked and never removed, so a yes stays a yes."""
        if not self._exist and (now := time.monotonic()) >= self._none_until:
            forgotten = self._forgotten
            with self._database.reading() as connection:
                self._exist = connection.scalar(sa.select(sa.func.count()).select_from(keys)) != 0
            if forgotten == self._forgotten:  # only after a lookup that succeeded
                self._none_until = now + _TRUSTED_SECONDS
        return self._exist

    def forget(self) -> None:
        """Look up all keys again, after one was created or revoked."""
        self._forgotten += 1
        self._trusted.clear()
        self._none_until = 0.0


def name_problem(name: str, is_new: bool = True) -> str | None:
    """Why this cannot name a person, wherever it comes from; names in logs may be those of earlier versions."""
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        return f"a person's name must have 1 to {_LONGEST_NAME} printable characters; got {name[:50]!r}"
    if is_new and name != name.strip():
        return f"a person's name must not begin or end with white space; got {name!r}"
    return None


def create(connection: Connection, project: int | None, role: str, name: str) -> tuple[str, str]:
    """A new key: its id, and the key itself, which cannot be shown again."""
    if problem := name_problem(name):
        raise Refusal(422, "invalid", problem, "name")
    is_first = connection.execute(sa.select(keys.c.id).limit(1)).first() is None
    if is_first and (project is not None or role != "admin"):
        sentence = "the first key must be an admin key for all projects: once there is a key, every request needs one"
        raise Refusal(409, "first-key", sentence, "role")
    number = secrets.token_hex(6)
    token = _token(number)
    values = {"id": number, "project": project, "role": role, "name": name, "hash": _hash(token), "at": time.time()}
    connection.execute(keys.insert(), values)
    return number, token


def renew(connection: Connection, number: str) -> str:
    """A new secret for a key whose first one may never have arrived; from now on only the new one is valid."""
    token = _token(number)
    own = keys.c.id == number, keys.c.revoked.is_(None)
    if not connection.execute(keys.update().where(*own).values(hash=_hash(token))).rowcount:
        sentence = f"key {number} was revoked since; send another Idempotency-Key to create a new one"
        raise Refusal(404, "no-such-key", sentence, "Idempotency-Key")
    return token


def revoke(connection: Connection, project: int | None, number: str) -> None:
    """Revoke a key: from now on it gives no access."""
    own = (keys.c.id == number, keys.c.project == project)
    if not number.isalnum() or connection.execute(sa.select(keys.c.id).where(*own)).first() is None:
        raise Refusal(404, "no-such-key", f"this project has no key {number[:20]!r}", "key")
    connection.execute(keys.update().where(*own, keys.c.revoked.is_(None)).values(revoked=time.time()))


def listed(database: Database, project: int | None) -> list[dict[str, Any]]:
    """The keys of a project, or of the whole server, without their secrets."""
    own = sa.select(keys).where(keys.c.project == project).order_by(keys.c.at)
    with database.reading() as connection:
        rows = connection.execute(own).all()
    return [{"id": r.id, "role": r.role, "name": r.name, "revoked": r.revoked is not None} for r in rows]


def _token(number: str) -> str:
    return f"{number}.{secrets.token_urlsafe(32)}"


def _digest(authorization: str | None) -> tuple[str, bytes]:
    scheme, _, rest = (authorization or "").partition(" ")
    token = rest.strip() if scheme.lower() == "bearer" else ""
    return token, _hash(token)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
