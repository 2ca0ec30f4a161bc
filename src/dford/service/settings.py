"""What can be set: by flag, by environment (DFORD_…), by a TOML file, in this order."""

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
    """Each is described in docs/service.md; a test fails where one is not."""

    database: str = _set("", "A SQLite file, or a URL such as postgresql+psycopg://…; a file of the user's by default.")
    files: str = _set("", "A folder with the images that items name.")
    encoder: str = _set("", "An ONNX model to make vectors of images by, in place of dford's own numbers.")
    host: str = _set("127.0.0.1", "The address to listen on; any but loopback needs a key.")
    port: int = _set(8765, "The port to listen on.")
    body_bytes: int = _set(10_000_000, "The largest body of a request.")
    items_per_call: int = _set(10_000, "The most items, or predictions, in one call.")
    features_per_item: int = _set(1_000, "The most features that the columns of a project may make.")
    open_questions: int = _set(1_000, "The most questions that wait for an answer, in a project.")
    open_per_person: int = _set(200, "The most of them that one person may have.")
    queue_length: int = _set(1_000, "The most writes that wait; more are refused for the moment.")
    request_seconds: float = _set(10.0, "How long a request may take to arrive, and the database to answer it.")
    work_seconds: float = _set(120.0, "How long large work may take: files, and predictions in thousands.")
    idle_seconds: float = _set(30.0, "How long a connection may be open without a request.")
    connections_per_address: int = _set(200, "The most connections from one address; the longest idle one makes room.")
    lease_seconds: float = _set(300.0, "How long an item is kept for whoever was asked about it.")
    snapshot_every: int = _set(1_000, "How many answers, at least, between two snapshots of a learner.")

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.type in {int, float} and not value > 0 and one.name != "port":
                raise ValueError(f"{one.name} must be above 0; got {value!r}")
        if not 0 <= self.port < 2**16:
            raise ValueError(f"port must be between 0 and 65535; got {self.port}")

    @classmethod
    def read(
        cls, flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ, file: Path | None = None
    ) -> Self:
        """The first that says something wins: flags (those that are not None), environment, file, default."""
        written = tomllib.loads(file.read_text()) if file is not None else {}
        if unknown := set(written) - {one.name for one in fields(cls)}:
            raise ValueError(f"{file} sets {min(unknown)!r}, which is no setting")
        chosen = {}
        for one in fields(cls):
            variable = f"DFORD_{one.name.upper()}"
            if flags.get(one.name) is not None:
                chosen[one.name] = flags[one.name]
            elif variable in environment:
                chosen[one.name] = _parsed(environment[variable], one.type, variable)
            elif one.name in written:
                chosen[one.name] = _parsed(written[one.name], one.type, one.name)
        return cls(**chosen)


def _parsed(value: Any, kind: Any, name: str) -> Any:
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be of type {kind.__name__}; got {value!r}") from None


def default_database() -> Path:
    """Where the log is kept if nobody says: a file of the user's."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "dford" / "dford.db"
