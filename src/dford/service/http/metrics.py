"""Counts, in the text format of Prometheus."""

from collections.abc import Iterable
from typing import TypeAlias

from dford.service.core import Service

_Family: TypeAlias = tuple[str, str, str, list[tuple[dict[str, str], float]]]


def metrics_text(service: Service) -> str:
    folds = service.folds()
    families: list[_Family] = [
        (
            "dford_requests_total",
            "counter",
            "Requests by method, path and status.",
            [
                ({"method": method, "path": path, "status": str(status)}, count)
                for (method, path, status), count in service.requests.items()
            ],
        ),
        (
            "dford_request_seconds_total",
            "counter",
            "Seconds spent on requests, by path.",
            [({"path": path}, seconds) for path, seconds in service.seconds.items()],
        ),
        ("dford_commits_total", "counter", "Transactions committed.", [({}, service.writer.commits)]),
        ("dford_writes_waiting", "gauge", "Writes in the queue.", [({}, service.writer.waiting())]),
        (
            "dford_learned_sequence",
            "gauge",
            "The last sequence number that a project's learner has learned.",
            [({"project": fold.project.name}, fold.sequence) for fold in folds],
        ),
        (
            "dford_snapshots_failed_total",
            "counter",
            "Snapshots of a project's learner that could not be written.",
            [({"project": fold.project.name}, fold.unkept) for fold in folds],
        ),
        (
            "dford_learning_failed",
            "gauge",
            "Whether a project's learner has failed to learn.",
            [({"project": fold.project.name}, int(fold.failure is not None)) for fold in folds],
        ),
    ]
    return "".join(line for family in families for line in _lines(*family))


def _lines(name: str, kind: str, help: str, samples: Iterable[tuple[dict[str, str], float]]) -> Iterable[str]:
    yield f"# HELP {name} {help}\n# TYPE {name} {kind}\n"
    for labels, value in samples:
        # methods, paths of routes, statuses and names of projects: none has a character to escape
        inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
        yield f"{name}{{{inside}}} {value}\n" if inside else f"{name} {value}\n"
