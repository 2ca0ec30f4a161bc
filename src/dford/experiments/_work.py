"""Work in many processes, and what comes out of it: tables for people and rows for programs."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from dford.experiments import processes
from dford.files import atomic_write

Record = dict[str, Any]
"""A row of results, by column."""
Task = tuple[Callable[..., list[Record]], tuple[Any, ...]]


class Table(NamedTuple):
    """A table for the screen and for a page. In a name, "- " is where a narrow screen may break it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def markdown(self) -> str:
        header, *rows = ([cell.replace("- ", "") for cell in line] for line in (self.header, *self.rows))
        lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"**{self.title}**\n\n{table}\n" + (f"\n{self.note}\n" if self.note else "")


def fan_out(tasks: Sequence[Task], jobs: int) -> Iterator[list[Record]]:
    """The results of the tasks, in their order whatever the number of processes."""
    if jobs == 1:
        yield from map(_alone, tasks)
        return
    early: dict[int, list[Record]] = {}
    with closing(processes.results(_alone, tasks, jobs)) as ended:
        for place in range(len(tasks)):
            while place not in early:
                done = next(ended)
                if done.error is not None:
                    raise done.error
                early[done.place] = done.value
            yield early.pop(place)


def _alone(task: Task) -> list[Record]:
    from threadpoolctl import threadpool_limits

    # threads would add up sums in another order, and wait for each other
    with threadpool_limits(1):
        return task[0](*task[1])


def write_csv(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write records with their keys as header; numbers with all digits."""
    records = list(records)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    with atomic_write(path) as draft:
        draft.write_text(text.getvalue(), encoding="utf-8")
