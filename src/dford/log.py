"""The log: rounds in order, as plain columns. Everything else can be rebuilt from it."""

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dford import sparse_rows
from dford.answer_ids import OF_POOL, checked_id, id_of
from dford.feedback import Question, as_names, check_columns, difference, labels_of, split_names
from dford.files import atomic_write, quoting, read_parquet
from dford.log_columns import (
    ABOUT,
    COLUMNS,
    ID,
    UNKNOWN,
    About,
    about_columns,
    check_feature_names,
    check_level_names,
    checked_about,
    invented,
    is_guess,
    read_about,
    read_ids,
    read_numbers,
    read_rounds,
    read_yes_or_no,
)
from dford.scale import Scale

_OF_A_TABLE = (
    " names; for a model that learned from a table, name the features of the log with "
    "model.columns_.get_feature_names_out()"
)
_RUN = 10  # questions that were asked again are among others
LEAST_PROPENSITY = 1e-100  # its inverse weighs an answer, and must stay finite in sums


class FeedbackLog:
    """Answered questions, in the order of their answers. Rows are only added, never changed.

    Each answer has an id, by which it is there once: an answer with an id that the log has is not added again. So logs
    that overlap can be added with `+`, and a file can be read, written and merged any number of times.

    Parameters
    ----------
    levels : sequence
        The scale, lowest first.
    feature_names : sequence of str, optional
        The names of the features, such as a model's `feature_names_in_`, or for a model that learned from a table,
        `columns_.get_feature_names_out()`. Learners check them, so that a log is never read with its columns mixed up.

    Examples
    --------
    >>> from dford import DFORD
    >>> levels = ["low", "mid", "top"]
    >>> model, log = DFORD(levels=levels, random_state=0), FeedbackLog(levels)
    >>> for x, label in [([0.1, 2.0], "top"), ([1.0, 0.3], "low")]:
    ...     question = model.ask(x)
    ...     log.append(question, higher=levels.index(label) > levels.index(question.level))
    >>> log.X.shape, log.level.tolist(), log.higher.tolist()
    ((2, 2), ['low', 'low'], [True, False])
    """

    def __init__(self, levels: Sequence[Any], feature_names: Iterable[str] | None = None) -> None:
        self.scale = Scale(levels)
        self.feature_names = None if feature_names is None else as_names(feature_names)
        self._rows: list[Any] = []  # vectors, or sparse rows
        self._answers: list[tuple[int, int, float, bool]] = []  # levels by their places, from 1
        self._about: list[About] = []
        self._ids: dict[str, int] = {}  # with the places of their answers, which are in this order
        self._alike = Counter[str]()  # how many more answers say the same, by the id of the first

    def append(
        self,
        question: Question,
        higher: bool,
        *,
        item: int | None = None,
        person: str | None = None,
        time: float | datetime | None = None,
        confidence: float | None = None,
        rating: Any = None,
        program: bool = False,
        purpose: str | None = None,
        id: str | None = None,
    ) -> None:
        """Add an answered question and, if known, which item it is about, who answered, when, and how sure they were.

        If the person gave a level instead of yes or no, `rating` is that level, and `higher` whether it is above the
        level asked about. `program` says that the person is a program, and `purpose` why the question was asked: place,
        check, audit or gold.

        The time is in seconds since 1970, as from `time.time()`, or a datetime with a time zone, and the confidence is
        between 0.5 and 1. An answer with the confidence 0.5 is a guess, and says nothing.

        With an `id`, such as that of a message that may arrive twice, the same answer again changes nothing, and
        another one raises an error. Without one, the answer is a new one, and gets an id.
        """
        values, names = split_names(question.x)
        if names is not None and names != self.feature_names:
            if self.feature_names is not None:
                raise ValueError(f"the row does not fit the log: {difference(names, self.feature_names)}")
            if len(self):
                raise ValueError("the row has feature names, but the rows before it do not; give the log feature names")
        if sparse.issparse(values):
            row = sparse.csr_matrix(values, dtype=np.float64)
        else:
            x = np.asarray(values, dtype=np.float64)
            row = x[0] if x.ndim == 2 and len(x) == 1 else x
        about = checked_about(item, person, time, confidence, rating, program, purpose)
        answer = question.level, question.prediction, question.propensity, higher
        self._add(row, *answer, about, None if id is None else checked_id(id), question.id)
        self.feature_names = names or self.feature_names

    def _add(
        self,
        x: Any,
        level: Any,
        prediction: Any,
        propensity: float,
        higher: bool,
        about: About = UNKNOWN,
        id: str | None = None,
        question: str = "",
        mark: str = "",
    ) -> None:
        width = x.shape[-1]
        size = self._rows[0].shape[-1] if self._rows else len(self.feature_names or ()) or width
        if width != size or x.ndim != 1 + (sparse.issparse(x) and x.shape[0] == 1):
            is_named = self.feature_names is not None and not self._rows
            raise ValueError(f"the row has {width} features, but the log has {size}{_OF_A_TABLE if is_named else ''}")
        if self._rows and sparse.issparse(x) != self.is_sparse:
            x = sparse.csr_matrix(x) if self.is_sparse else x.toarray()[0]
        if not LEAST_PROPENSITY <= propensity <= 1:
            raise ValueError(f"a propensity must be a probability greater than 0 and at most 1; got {propensity}")
        if not isinstance(higher, (bool, np.bool_)):
            raise TypeError(f"higher must be True or False; got {higher!r}")
        answer = self.scale.number(level), self.scale.number(prediction), float(propensity), bool(higher)
        if about.rating is not None and (self.scale.number(about.rating) > answer[0]) != answer[3]:
            raise ValueError(
                f"the rating {about.rating!r} and higher={bool(higher)} contradict each other, as the question is "
                f"about {level!r}"
            )
        if id is None:
            id = self._new_id(x, question, answer, about, mark)
        elif (place := self._ids.get(id)) is not None:
            if self._answers[place] != answer:
                raise ValueError(
                    f"answer {place + 1} has the id {id!r} too, but says something else; give every answer its own id"
                )
            return
        self._ids[id] = len(self)
        self._rows.append(x.copy())
        self._answers.append(answer)
        self._about.append(about)

    def _new_id(self, x: Any, question: str, answer: tuple[Any, ...], about: About, mark: str) -> str:
        """The id of an answer without one: what it says, so that it is the same whenever the same log is read.

        Without a time, answers of other logs may well say the same. So the answers before it are then part of it.
        """
        before = next(reversed(self._ids), "") if about.time is None else ""
        said = found = mark + id_of(
            sparse_rows.pack(x)[0] if sparse.issparse(x) else x.tobytes(), question, *answer, *about[:4], before,
            *([] if about.rating is None else [about.rating]), *([about.program] if about.program else []),
        )  # fmt: skip
        while found in self._ids:
            self._alike[said] += 1
            found = mark + id_of(said.encode(), self._alike[said])
        return found

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse, as the first one was."""
        return bool(self._rows) and sparse.issparse(self._rows[0])

    def __add__(self, other: "FeedbackLog") -> "FeedbackLog":
        """Both logs, one after the other, and what is in both once. Their scales must be the same."""
        if self.scale.names != other.scale.names:
            raise ValueError(f"the logs have different levels: {self.scale.names} and {other.scale.names}")
        named = self.feature_names or other.feature_names
        if named and other.feature_names and named != other.feature_names:
            raise ValueError(
                f"the logs have different features: in the second, {difference(other.feature_names, named)}"
            )
        both = FeedbackLog(self.scale.names, named)
        for log in (self, other):
            for row, about, id in zip(log, log._about, log._ids, strict=True):
                both._add(*row, about, id)
        return both

    def __iter__(self) -> Iterator[tuple[Any, Any, Any, float, bool]]:
        """(features, level asked about, prediction, propensity, higher) of every answer, with the names of levels."""
        names = self.scale.names
        for x, (level, prediction, propensity, higher) in zip(self._rows, self._answers, strict=True):
            yield x, names[level - 1], names[prediction - 1], propensity, higher

    def rounds(self) -> Iterator[tuple[bytes, int, int, float, bool, About]]:
        """The same with the features as bytes, levels by their places from 1, and what else is known."""
        packed = sparse_rows.pack(self.X) if self.is_sparse else [x.tobytes() for x in self._rows]
        for x, answer, about in zip(packed, self._answers, self._about, strict=True):
            yield x, *answer, about

    @property
    def X(self) -> Any:  # noqa: N802
        """The rows of features: an array, or a sparse matrix where the questions were about sparse rows."""
        if self.is_sparse:
            return sparse.vstack(self._rows, "csr")
        return np.array(self._rows) if self._rows else np.empty((0, 0))

    @property
    def level(self) -> NDArray[Any]:
        """The levels asked about, by name."""
        return self.scale.array[self.level_numbers - 1]

    @property
    def level_numbers(self) -> NDArray[np.int64]:
        """The levels asked about, by their places on the scale, the lowest being 1."""
        return np.array([answer[0] for answer in self._answers], dtype=np.int64)

    @property
    def prediction(self) -> NDArray[Any]:
        """The learner's predictions when it asked, by name."""
        return self.scale.array[self.prediction_numbers - 1]

    @property
    def prediction_numbers(self) -> NDArray[np.int64]:
        """The predictions, by their places on the scale, the lowest being 1."""
        return np.array([answer[1] for answer in self._answers], dtype=np.int64)

    @property
    def propensity(self) -> NDArray[np.float64]:
        """The probabilities with which these levels were asked about."""
        return np.array([answer[2] for answer in self._answers], dtype=np.float64)

    @property
    def higher(self) -> NDArray[np.bool_]:
        """The answers: whether the right level is above the one asked about."""
        return np.array([answer[3] for answer in self._answers], dtype=bool)

    @property
    def item(self) -> NDArray[Any]:
        """The numbers of the items that the answers are about; None if unknown."""
        return np.array([about.item for about in self._about], dtype=object)

    @property
    def person(self) -> NDArray[Any]:
        """Who answered; None if unknown."""
        return np.array([about.person for about in self._about], dtype=object)

    @property
    def time(self) -> NDArray[np.float64]:
        """When the answers were given, in seconds since 1970; NaN if unknown."""
        return np.array([about.time for about in self._about], dtype=np.float64)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """How sure the person was of each answer, from 0.5 to 1; NaN if they did not say."""
        return np.array([about.confidence for about in self._about], dtype=np.float64)

    @property
    def rating(self) -> NDArray[Any]:
        """The levels that people gave instead of yes or no; None for other answers."""
        return np.array([about.rating for about in self._about], dtype=object)

    @property
    def program(self) -> NDArray[np.bool_]:
        """Which answers are known to be a program's."""
        return np.array([about.program for about in self._about], dtype=bool)

    @property
    def purpose(self) -> NDArray[Any]:
        """Why each question was asked: place, check, audit or gold; None if unknown."""
        return np.array([about.purpose for about in self._about], dtype=object)

    @property
    def id(self) -> NDArray[Any]:
        """The ids of the answers, each of which is there once."""
        return np.array(list(self._ids), dtype=object)

    def without_guesses(self) -> "FeedbackLog":
        """The answers that say something: all but those with a confidence of 0.5."""
        found = FeedbackLog(self.scale.names, self.feature_names)
        kept = [i for i, guess in enumerate(is_guess(self.confidence).tolist()) if not guess]
        for name in ("_rows", "_answers", "_about"):
            setattr(found, name, [getattr(self, name)[i] for i in kept])
        found._ids = {id: place for place, id in enumerate(self.id[kept])}
        return found

    def refuse_guesses(self) -> None:
        """Raise an error if some answers are guesses, which nothing can be learned from."""
        if count := int(is_guess(self.confidence).sum()):
            raise ValueError(
                f"{count} of the log's {len(self)} answers are guesses, with a confidence of 0.5, and say nothing; "
                "use log.without_guesses()"
            )

    def count_of_pool(self) -> int:
        """How many answers come from the log of a pool, by their ids."""
        return sum(id.startswith(OF_POOL) for id in self._ids)

    def refuse_copies(self) -> None:
        """Raise an error if some answers are there twice under two ids, as far as items and times show it."""
        seen = [
            (*self._answers[n], *about)
            for n, about in enumerate(self._about)
            if about.item is not None and about.time is not None and about.time % 86400  # more than a date
        ]
        if count := len(seen) - len(set(seen)):
            raise ValueError(
                f"{count} of the log's {len(self)} answers are there more than once, with the same person, item and "
                "time; leave the copies out"
            )

    def warn_of_copies(self, stacklevel: int) -> None:
        """Warn if many answers in a row say what as many earlier ones said in a row, as in a copy under other ids."""
        keys = [hash(one) for one in self.rounds()]
        runs = [tuple(keys[n : n + _RUN]) for n in range(len(keys) - _RUN + 1)]
        if len(set(runs)) < len(runs):
            warnings.warn(
                f"at least {_RUN} answers in a row say the same as {_RUN} earlier ones in a row, features included; if "
                "these are copies, leave them out, or they count twice",
                stacklevel=stacklevel + 1,
            )

    def to_frame(self, feature_names: Sequence[str] | None = None) -> Any:
        """A pandas frame: `level`, `prediction` (names), `propensity`, `higher`, `id`, and a column for each feature.

        If any of them is known for any answer, `item`, `person` and `time` come next, followed by `confidence`,
        `rating`, `program` and `purpose` if any answer has one. The last column before the features is `id`. Features
        without names are called x0, x1, ... Sparse rows have a column for each named feature, starting with the first,
        and one for texts and all others, such as "3:0.5 17:1.0".
        `polars.from_pandas` takes the frame too.
        """
        import pandas as pd

        names, X = np.array(self.scale.names, dtype=object), self.X
        features = feature_names if feature_names is not None else self.feature_names
        if self.is_sparse:
            features = list(takewhile(lambda name: name != "#0", features or ()))  # the first place of texts
            rest = X[:, len(features) :]
            X = np.concatenate(
                [X[:, : len(features)].toarray().astype(object), np.array(sparse_rows.to_texts(rest))[:, None]], axis=1
            )
            features = [*features, sparse_rows.column_name(rest.shape[1])]
        features = features or invented(X.shape[1])
        has_more = any(about != UNKNOWN for about in self._about)
        check_feature_names(features[:-1] if self.is_sparse else features, has_more)
        frame = pd.DataFrame(
            {
                "level": names[self.level_numbers - 1],
                "prediction": names[self.prediction_numbers - 1],
                "propensity": self.propensity,
                "higher": self.higher,
            }
        )
        if has_more:
            frame["item"] = pd.array(self.item, dtype="Int64")
            frame["person"] = self.person
            frame["time"] = pd.to_datetime(np.round(1e6 * self.time), unit="us", utc=True)
            if any(about.confidence is not None for about in self._about):
                frame["confidence"] = self.confidence
            if any(about.rating is not None for about in self._about):
                frame["rating"] = self.rating
            if any(about.program for about in self._about):
                frame["program"] = self.program
            if any(about.purpose is not None for about in self._about):
                frame["purpose"] = self.purpose
        frame[ID] = self.id
        return pd.concat([frame, pd.DataFrame(X, columns=list(features))], axis=1)

    def write(self, path: str | os.PathLike[str], feature_names: Sequence[str] | None = None) -> None:
        """Write the frame to a file that ends in .csv or .parquet, atomically.

        The file does not contain the scale; pass it to `read`.
        """
        path = Path(path)
        suffix = _suffix(path)
        check_level_names(self.scale, suffix)
        frame = self.to_frame(feature_names)
        with atomic_write(path) as draft:
            if suffix == ".csv":
                texts = {*frame.columns, *map(str, self.scale.names), *(about.person or "" for about in self._about)}
                frame.to_csv(draft, index=False, float_format="%.17g", quoting=quoting(texts))  # all digits
            else:
                frame.to_parquet(draft, index=False)

    @classmethod
    def read(cls, path: str | os.PathLike[str], levels: Sequence[Any]) -> Self:
        """Read the log from a file written by `write`, or one with the same columns."""
        if _suffix(Path(path)) == ".parquet":
            log = cls.from_frame(read_parquet(path), levels)
        else:
            log = cls.from_frame(read_rounds(path, levels), levels)
            with open(path, "rb") as file:
                file.seek(-1, os.SEEK_END)
                if file.read() not in b"\r\n":
                    warnings.warn(
                        f"the last line of {Path(path).name} does not end, as if the file had been cut: check that its "
                        "last row is whole",
                        stacklevel=2,
                    )
        above = log.higher & (log.level_numbers == len(log.scale))
        if above.any():
            top, lowest = log.scale.names[-1], log.scale.names[0]
            warnings.warn(
                f"{int(above.sum())} of {len(log)} answers say that an item is above {top!r}, the highest level; check "
                f"that the levels are in order: they were read as going from {lowest!r} up to {top!r}",
                stacklevel=2,
            )
        return log

    @classmethod
    def from_frame(cls, frame: Any, levels: Sequence[Any]) -> Self:
        """Read the log from a pandas or polars frame, or a dict of columns, with the columns of `to_frame`.

        Columns called x0, x1, ..., in this order, are features without names. Columns called `item`, `person` and
        `time` describe the answers if all three are there, and are features otherwise; the same goes for `confidence`,
        `rating`, `program` and `purpose`. Without a column `id`, an answer's id is a hash of its row and, if it has no
        time, of the rows before it: so the same file has the same ids whenever it is read.
        """
        if isinstance(frame, Mapping):
            check_columns(frame)
            labels = list(frame)
        else:
            found = labels_of(frame)
            labels = [] if found is None else list(found)
        if missing := [name for name in COLUMNS if name not in labels]:
            raise ValueError(
                f"a log needs the columns {', '.join(COLUMNS)} and features; {', '.join(missing)} not found"
            )
        more = about_columns(labels)
        if not more and (some := [name for name in ABOUT if name in labels]):
            warnings.warn(
                f"a log has all of {', '.join(ABOUT)}, or none; {' and '.join(some)} was read as a feature",
                stacklevel=2,
            )
        names = [name for name in labels if name not in (*COLUMNS, ID, *more)]
        rest = sparse_rows.find_column(names)
        names = [name for name in names if rest is None or name != rest[0]]
        unnamed = names == invented(len(names))
        more_names = [f"#{place}" for place in range(rest[1] if rest is not None else 0)]  # as `Columns` names them
        log = cls(levels, None if unnamed else [*names, *more_names])
        level, prediction, propensity, higher = (np.asarray(frame[name]) for name in COLUMNS)
        columns = level, prediction, read_numbers(propensity, "propensity"), read_yes_or_no(higher)
        features = [_feature(np.asarray(frame[name]), name) for name in names]
        rows: Any = np.stack(features, axis=1) if features else np.empty((len(level), 0))
        if rest is not None:
            more_rows = sparse_rows.from_texts(np.asarray(frame[rest[0]]), rest[1])
            rows = sparse.hstack([sparse.csr_matrix(rows), more_rows], "csr")
        about = read_about({name: frame[name] for name in more}) if more else [UNKNOWN] * len(level)
        ids = read_ids(frame[ID]) if ID in labels else [None] * len(level)
        for row, (x, *answer) in enumerate(zip(rows, *columns, about, ids, strict=True), 1):
            try:
                log._add(x, *answer)
            except (TypeError, ValueError) as error:
                raise ValueError(f"row {row} of the log: {error}") from None
        return log


def _feature(column: Any, name: str) -> Any:
    return column.astype(np.float64) if column.dtype.kind == "b" else read_numbers(column, name)


def _suffix(path: Path) -> str:
    if path.suffix not in {".csv", ".parquet"}:
        raise ValueError(f"a log must be a .csv or .parquet file; got {path.name!r}")
    return path.suffix
