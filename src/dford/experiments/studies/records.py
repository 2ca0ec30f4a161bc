"""The tasks of a study, and their results: rows for programs and tables for people."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from dford import document
from dford.experiments.fan_out import fan_out
from dford.files import atomic_write

Record = dict[str, Any]
"""A row of results, by column."""
Task = tuple[Callable[..., list[Record]], tuple[Any, ...]]


class Table(NamedTuple):
    """A table for the screen and for a page. In a name, "- " is where a narrow screen may break the line."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def markdown(self) -> str:
        header, *rows = ([cell.replace("- ", "") for cell in line] for line in (self.header, *self.rows))
        note = [document.Paragraph(self.note)] if self.note else []
        return document.markdown([document.Paragraph(f"**{self.title}**"), document.Table(header, rows), *note])


def run_tasks(tasks: Sequence[Task], jobs: int) -> Iterator[list[Record]]:
    """The results of the tasks, in order, whatever the number of processes."""
    early: dict[int, list[Record]] = {}
    with closing(fan_out(_in_one_thread, tasks, jobs)) as outcomes:
        for place in range(len(tasks)):
            while place not in early:
                done = next(outcomes)
                if done.error is not None and jobs > 1 and not isinstance(done.error, (ValueError, OSError)):
                    why = f"{type(done.error).__name__}: {done.error}"  # its traceback stayed in the other process
                    raise ValueError(f"a run failed ({why}); use one process (--jobs 1) to see where") from done.error
                if done.error is not None:
                    raise done.error
                early[done.place] = done.value
            yield early.pop(place)


def _in_one_thread(task: Task) -> list[Record]:
    from threadpoolctl import threadpool_limits

    # threads would sum in another order, and wait for each other
    with threadpool_limits(1):
        records = task[0](*task[1])
    for record in records:
        if isinstance(error := record.get("mae"), float) and not math.isfinite(error):
            name = record.get("learner") or record.get("model")
            raise ValueError(f"the error of {name} on {record['dataset']} is {error}: it predicts no levels")
    return records


def write_csv(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write records with their keys as the header, and numbers with all their digits."""
    records = list(records)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    with atomic_write(path) as draft:
        draft.write_text(text.getvalue(), encoding="utf-8")


def cells_of(records: Sequence[Record], figure: str, shares: Sequence[float]) -> str:
    """The means of a figure after these numbers of answers per item."""
    means = [fmean(r[figure] for r in records if r["answers"] == share) for share in shares]
    return " / ".join(f"{mean:.3f}".removeprefix("0") for mean in means)
