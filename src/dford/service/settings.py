"""What can be set: by flag, environment variable (DFORD_…) or TOML file, in this order."""

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self


def _set(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Settings:
    """Each is described in docs/service.md; a test fails if one is not."""

    database: str = _set(
        "", "A SQLite file or a URL such as postgresql+psycopg://…; by default a file in the user's home."
    )
    files: str = _set("", "The folder of the images that items name.")
    encoder: str = _set("", "An ONNX model that turns images into vectors, instead of dford's own features.")
    host: str = _set("127.0.0.1", "The address to listen on; any address other than loopback needs a key.")
    port: int = _set(8765, "The port to listen on.")
    body_bytes: int = _set(10_000_000, "The largest request body, in bytes.")
    items_per_call: int = _set(10_000, "The most items, predictions or answers in one request.")
    features_per_item: int = _set(1_000, "The most features per item.")
    open_questions: int = _set(1_000, "The most questions waiting for an answer in a project.")
    open_per_person: int = _set(200, "The most questions waiting for an answer by one person in a project.")
    queue_length: int = _set(1_000, "The most writes that may wait; further ones are refused until there is room.")
    request_seconds: float = _set(10.0, "How many seconds a request may take to arrive, and the database to answer it.")
    work_seconds: float = _set(120.0, "How many seconds large requests may take: files, and thousands of predictions.")
    idle_seconds: float = _set(30.0, "How many seconds a connection may be open without a request.")
    connections_per_address: int = _set(
        200, "The most connections from one address; the longest idle one is closed to make room."
    )
    lease_seconds: float = _set(300.0, "How many seconds an item stays reserved for the person who was asked about it.")
    snapshot_every: int = _set(1_000, "The fewest answers between two snapshots of a learner.")

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.type in {int, float} and not 0 < value < math.inf and one.name != "port":
                raise ValueError(f"{one.name} must be a finite number greater than 0; got {value!r}")
        for name in ("database", "files", "encoder"):
            if "://" not in (path := getattr(self, name)):
                object.__setattr__(self, name, os.path.expanduser(path))  # where no shell did
        if not 0 <= self.port < 2**16:
            raise ValueError(f"port must be between 0 and 65535; got {self.port}")

    @classmethod
    def read(
        cls, flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ, file: Path | None = None
    ) -> Self:
        """The first source that has a value wins: flags (if not None), environment, file, default."""
        try:
            written = tomllib.loads(file.read_bytes().decode()) if file is not None else {}
        except ValueError as error:
            raise ValueError(f"{file} cannot be read as TOML: {error}") from None
        if unknown := set(written) - {one.name for one in fields(cls)}:
            raise ValueError(f"{file} sets {min(unknown)!r}, which is not a setting; check how it is spelled")
        chosen = {}
        for one in fields(cls):
            variable = f"DFORD_{one.name.upper()}"
            if flags.get(one.name) is not None:
                chosen[one.name] = flags[one.name]
            elif variable in environment:
                chosen[one.name] = _parsed(environment[variable], one.type, variable)
        try:
            of_file = {
                one.name: _parsed(written[one.name], one.type, one.name)
                for one in fields(cls)
                if one.name in written and one.name not in chosen
            }
            cls(**of_file)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        return cls(**of_file, **chosen)


def _parsed(value: Any, kind: Any, name: str) -> Any:
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be of type {kind.__name__}; got {value!r}") from None


def default_database() -> Path:
    """Where the log is kept by default: a file in the user's home."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "dford" / "dford.db"
