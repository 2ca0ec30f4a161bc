"""Keys: who may do what. A key is shown once; the store has its hash."""

import hashlib
import hmac
import secrets
import time
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from dford.service.refusal import Refusal
from dford.service.store import Store
from dford.service.tables import keys

ROLES = ("predict", "answer", "admin")  # each may do what those before it may
_TRUSTED_SECONDS = 1.0  # so long nothing is looked up again: what another process makes or revokes takes effect then


class Holder(NamedTuple):
    """Who sends a request."""

    name: str
    role: str
    project: int | None
    """The one project it is for, or none: all."""

    def may(self, role: str, project: int | None) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role) and self.project in {None, project}


LOCAL = Holder("local", "admin", None)


class Keys:
    """The keys of a store. Where there never was one, everybody is the local user."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._trusted: dict[bytes, tuple[float, Holder]] = {}
        self._any, self._looked = False, -_TRUSTED_SECONDS

    def any(self) -> bool:
        if not self._any and time.monotonic() > self._looked + _TRUSTED_SECONDS:
            self._looked = time.monotonic()
            with self._store.reading() as connection:
                # keys are revoked and never removed, so this is for ever
                self._any = connection.scalar(sa.select(sa.func.count()).select_from(keys)) != 0
        return self._any

    def holder(self, authorization: str | None) -> Holder:
        """Who shows this Authorization header; refused if it is nobody."""
        if not self.any():
            return LOCAL
        scheme, _, token = (authorization or "").partition(" ")
        digest = _hash(token.strip())
        if digest in self._trusted and self._trusted[digest][0] > time.monotonic():
            return self._trusted[digest][1]
        name = token.strip().partition(".")[0]
        with self._store.reading() as connection:
            row = connection.execute(sa.select(keys).where(keys.c.id == name)).first() if name.isalnum() else None
        known = hmac.compare_digest(bytes(row.hash) if row is not None else bytes(32), digest)
        if scheme.lower() != "bearer" or row is None or not known or row.revoked is not None:
            raise Refusal(401, "no-key", "send a key that is valid, as Authorization: Bearer …", "Authorization")
        holder = Holder(row.name, row.role, row.project)
        if len(self._trusted) > 10_000:
            self._trusted.clear()
        self._trusted[digest] = time.monotonic() + _TRUSTED_SECONDS, holder
        return holder

    def forget(self) -> None:
        """Look all keys up again: one was made, or revoked."""
        self._trusted.clear()
        self._looked = -_TRUSTED_SECONDS


def create(connection: Connection, project: int | None, role: str, name: str) -> tuple[str, str]:
    """A new key: its id, and the key itself, which nobody can show again."""
    if "\0" in name:  # no database keeps it, or none keeps what follows
        raise Refusal(422, "invalid", "a name has no NUL character", "name")
    number = secrets.token_hex(6)
    token = f"{number}.{secrets.token_urlsafe(32)}"
    values = {"id": number, "project": project, "role": role, "name": name, "hash": _hash(token), "at": time.time()}
    connection.execute(keys.insert(), values)
    return number, token


def revoke(connection: Connection, project: int | None, number: str) -> None:
    """From now on the key opens nothing."""
    own = (keys.c.id == number, keys.c.project == project)
    if connection.execute(sa.select(keys.c.id).where(*own)).first() is None:
        raise Refusal(404, "no-key", f"there is no key {number[:20]!r} of this project", "key")
    connection.execute(keys.update().where(*own, keys.c.revoked.is_(None)).values(revoked=time.time()))


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
