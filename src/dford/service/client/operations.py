"""What the service can be asked to do, written once: `AsyncClient` has these as they are, `Client` blocks on them."""

import csv
import io
import operator
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, SupportsIndex
from urllib.parse import quote

import httpx
import numpy as np

from dford.columns.values import whole
from dford.service.client import replies
from dford.service.client.replies import ServiceError
from dford.service.client.rows import MOST, Row, as_rows, in_parts, plain_row, to_json

_PAUSES = (0.2, 0.4, 0.8, 1.6, 3.2)  # seconds between attempts
_TRY_AGAIN = {408, 429, 502, 503, 504}  # a proxy says 502 or 504 while the server restarts
_LONG = 150.0  # seconds for what the server may work on for its `work_seconds`
Bool = bool | np.bool_


class Asked(NamedTuple):
    """ "Is the right level of this item above `level`?" """

    number: int
    """The number of the question in its project."""
    item: int | None
    """The number of the item, or None if the question is about features that were sent."""
    shown: Row
    """The item or the features, to show to the person."""
    level: str
    """The level asked about. An answer of yes means that the right level is above it."""
    prediction: str
    """The level that the learner predicts."""
    propensity: float
    """The probability with which this level was asked about, at the time."""
    expires: float
    """The time, in seconds since 1970, until which nobody else is asked about the item."""


class Operations(ABC):
    """One project of a service, and what can be done there."""

    def __init__(self, url: str, project: str, key: str | None = None) -> None:
        self._url, self._project = replies.checked_url(url), project
        self._place = f"/projects/{quote(project, safe='')}"
        headers = replies.authorization(key)
        self._settings: dict[str, Any] = {"base_url": self._url, "headers": headers, "timeout": 30.0}

    @abstractmethod
    async def _send(self, method: str, path: str, **request: Any) -> httpx.Response: ...

    @abstractmethod
    async def _pause(self, seconds: float) -> None: ...

    async def _create(self, levels: Iterable[Any], settings: Mapping[str, Any]) -> None:
        from dford.scale import Scale  # takes a second to import, and is only needed here

        names = [str(level) for level in Scale(levels).names]
        body = {"name": self._project, "levels": names, **settings}
        await self._add("/projects", content=to_json(body))

    async def add(self, items: Any, *, idempotency_key: str | None = None) -> list[int]:
        """Add items and return their numbers. Needs the role `admin`.

        Items are a list of dicts, a pandas or polars frame, or the path of a .csv or .parquet file, optionally with
        vectors in a .npy file beside it. If columns are not set yet, the first items decide how they are read. More
        than 5,000 items are sent in parts, each added entirely or not at all; an error says how many were added before
        it. Calling it again with the same `idempotency_key` and items adds nothing twice.
        """
        numbers: list[int] = []
        parts = in_parts(items)
        for place, part in enumerate(parts):
            key = None if idempotency_key is None else f"{idempotency_key}/{place}"
            body = {"content": part.content, "timeout": _LONG}
            try:
                added = await self._add(f"{self._place}/items", key, **body)
            except Exception as error:
                if numbers:
                    count = sum(part.items for part in parts)
                    error.add_note(f"The first {len(numbers):,} of the {count:,} items were added.")
                raise
            numbers += range(added["first"], added["first"] + added["count"])
        return numbers

    async def invite(self, name: str) -> str:
        """Create a key for a person and return the link that opens the page with it. Needs the role `admin`.

        Anyone with the link answers as that person. It is not shown again.
        """
        made = await self._add(f"{self._place}/keys", json={"role": "answer", "name": name})
        return f"{self._url}/#/{quote(self._project, safe='')}/answer?key={quote(made['key'], safe='')}"

    async def ask(
        self, features: Row | None = None, *, item: SupportsIndex | None = None, program: bool = False
    ) -> Asked:
        """The next question of the pool, or one about features by name, or about an item by its number.

        If a program answers, pass `program=True`: audit questions are for people.
        """
        body: dict[str, Any] = {} if features is None else {"features": plain_row(features)}
        if item is not None:
            body["item"] = operator.index(item)
        if program:
            body["program"] = True
        reply = await self._add(f"{self._place}/questions", json=body)
        return Asked(*(reply[name] for name in Asked._fields))

    async def tell(self, question: Asked | SupportsIndex, higher: Bool, confidence: float | None = None) -> int:
        """Answer: is the right level above `question.level`? Returns once it is on the service's disk.

        The question can be given by its number, which is all that must be kept until the answer arrives.
        The confidence says how sure the person is of the answer, from 0.5 (a guess, which says nothing) to 1.
        """
        body = _answer(higher, confidence)
        return int((await self._post(f"/questions/{_number(question)}/answer", json=body))["sequence"])

    async def tell_many(
        self, answers: Sequence[tuple[Asked | SupportsIndex, Bool] | tuple[Asked | SupportsIndex, Bool, float | None]]
    ) -> list[int | ServiceError]:
        """Answer many questions in one call; for each, return what `tell` returns, or the error it would raise.

        An answer is a tuple of a question, whether the level is higher, and optionally the confidence.
        """
        told = [{"question": _number(question), **_answer(*answer)} for question, *answer in answers]
        if not told:
            return []
        reply = await self._post("/answers", json={"answers": told})
        return [
            one["answer"]["sequence"] if one["problem"] is None else replies.refused(one["status"], one["problem"])
            for one in reply["outcomes"]
        ]

    async def rate(self, item: Any, level: Any = None, person: str | None = None, *, program: bool = False) -> Any:
        """Give ratings: the level of an item, instead of yes or no.

        `rate(question, "mild")` answers a question that `ask` returned. `rate(7, "mild")` is about an item by its
        number, and returns the number of the rating. `rate(table)` gives many, from a frame, a list of dicts or a file
        with the columns item, level and, if it is known, person, and returns their numbers. Another person's ratings
        need the role `admin`. The same level for an item by the same person counts once. If a program gives them, pass
        `program=True`: what it says informs, and people decide.
        """
        if isinstance(item, Asked):
            return int((await self._post(f"/questions/{item.number}/answer", json={"rating": str(level)}))["sequence"])
        is_one = level is not None
        rows = [{"item": operator.index(item), "level": level, "person": person}] if is_one else as_rows(item)
        sent = [
            {
                "item": whole(row["item"], f"the item of row {i} of the ratings"),
                "level": str(row["level"]),
                "person": row.get("person") or None,
            }
            for i, row in enumerate(rows)
        ]
        numbers: list[int] = []
        for begin in range(0, len(sent), MOST):
            body = {"ratings": sent[begin : begin + MOST], "program": program}
            numbers += (await self._add(f"{self._place}/ratings", json=body, timeout=_LONG))["ratings"]
        return numbers[0] if is_one else numbers

    async def unrate(self, rating: SupportsIndex) -> int:
        """Take back a rating of an item, by the number that `rate` returned."""
        path = f"{self._place}/ratings/{operator.index(rating)}"
        return int((await self._exchange("DELETE", path)).json()["sequence"])

    async def drop(self, question: Asked | SupportsIndex) -> None:
        """Skip the question. Nothing is learned."""
        await self._post(f"/questions/{_number(question)}/skip")

    async def retract(self, question: Asked | SupportsIndex) -> int:
        """Take the answer back: the service learns again without it."""
        return int((await self._post(f"/questions/{_number(question)}/retract"))["sequence"])

    async def predict(self, rows: Any = (), items: Iterable[SupportsIndex] = ()) -> list[dict[str, Any]]:
        """Level, probabilities and score of items of the pool by number, then of rows, in any form that `add` takes."""
        body = {"items": [operator.index(item) for item in items], "rows": as_rows(rows)}
        return list((await self._post("/predictions", json=body, timeout=_LONG))["predictions"])

    async def levels(self) -> dict[int, str]:
        """The level of every item by its number, with all answers so far learned. Needs the role `admin`."""
        response = await self._exchange("GET", f"{self._place}/levels.csv", params={"final": True}, timeout=_LONG)
        return {int(row["item"]): row["level"] for row in csv.DictReader(io.StringIO(response.text, newline=""))}

    async def state(self) -> dict[str, Any]:
        """Counts, thresholds, and the error estimated from the answers alone."""
        return dict((await self._exchange("GET", f"{self._place}/state")).json())

    async def people(self) -> dict[str, dict[str, Any]]:
        """What the answers say about each person, by name, as in `GET …/people`. Needs the role `admin`."""
        response = await self._exchange("GET", f"{self._place}/people", timeout=_LONG)
        return {one["name"]: one for one in response.json()["people"]}

    async def settle(self, item: SupportsIndex, level: Any, highest: Any = None) -> int:
        """Settle the level of an item, or the lowest and highest it can have. Needs the role `admin`."""
        ends = {"lowest": str(level), "highest": str(level if highest is None else highest)}
        path = f"{self._place}/settled/{operator.index(item)}"
        return int((await self._exchange("PUT", path, json=ends)).json()["sequence"])

    async def unsettle(self, item: SupportsIndex) -> None:
        """Undo the settling of an item, so that its answers place it again. Needs the role `admin`."""
        await self._exchange("DELETE", f"{self._place}/settled/{operator.index(item)}")

    async def settings(self, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Change gold, answers_per_item, auditors, own_figures, ratings or certify; returns all. Needs `admin`."""
        path = f"{self._place}/settings"
        request: dict[str, Any] = {"method": "PUT", "json": dict(changes)} if changes else {"method": "GET"}
        return dict((await self._exchange(path=path, **request)).json())

    async def _add(self, path: str, key: str | None = None, **request: Any) -> Any:
        """Post a request that adds something. With the key, sending it again after a lost reply adds nothing twice."""
        headers = {"Idempotency-Key": key or uuid.uuid4().hex, "Content-Type": "application/json"}
        return (await self._exchange("POST", path, headers=headers, **request)).json()

    async def _post(self, path: str, **request: Any) -> Any:
        return (await self._exchange("POST", f"{self._place}{path}", **request)).json()

    async def _exchange(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request until there is a response. It is applied once, however often it arrives."""
        for pause in _PAUSES:
            with suppress(httpx.TransportError):
                response = await self._send(method, path, **request)
                if response.status_code not in _TRY_AGAIN:
                    return replies.checked(response)
            await self._pause(pause)
        try:
            return replies.checked(await self._send(method, path, **request))
        except httpx.TransportError as error:
            why = str(error) or type(error).__name__
            sentence = f"no reply from {self._url} after {len(_PAUSES) + 1} attempts: {why}"
            raise ConnectionError(sentence) from error


def _number(question: Asked | SupportsIndex) -> int:
    if isinstance(question, Asked):
        return question.number
    try:
        return operator.index(question)
    except TypeError:
        raise TypeError(f"expected a question that ask returned, or its number; got {question!r}") from None


def _answer(higher: Any, confidence: Any = None) -> dict[str, Any]:
    if not isinstance(higher, (bool, np.bool_)):
        raise TypeError(f"higher must be True or False; got {higher!r}")
    return {"higher": bool(higher)} | ({} if confidence is None else {"confidence": float(confidence)})
