"""The processes of a program: all that it started, also those that left its session or lost their parent."""

import os
import signal
from collections.abc import Set
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

VARIABLE = "DFORD_PROGRAM"
"""A variable of the environment, which every process inherits: its value marks the processes of one program."""


class Process(NamedTuple):
    """A process; its number alone may be given to another one after its end."""

    pid: int
    began: str


def kill(leader: int, mark: str, noted: Set[Process] = frozenset()) -> bool:
    """End the session of a process and, on Linux, all that `find` finds; whether there were any.

    Call it until there are none, as a process may start another one meanwhile. Elsewhere, a process that starts a
    session of its own is left; so is one on Linux that has cleared its environment and lost its parent unnoted.
    """
    found = find(leader, mark, noted)  # before parents end: they tell whose a process is
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for pid, _ in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


def find(leader: int, mark: str, noted: Set[Process] = frozenset()) -> set[Process]:
    """The running processes that descend from the leader, itself included, or from one with the mark or noted."""
    variable = f"{VARIABLE}={mark}".encode()
    parents, processes, found = dict[int, int](), dict[int, Process](), set[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended, or is another user's
            state, parent, *more = (folder / "stat").read_text().rpartition(")")[2].split()
            if state in "ZX":  # it has ended, though its parent has not noticed yet
                continue
            pid = int(folder.name)
            parents[pid], processes[pid] = int(parent), (one := Process(pid, more[17]))
            if pid == leader or one in noted or variable in (folder / "environ").read_bytes().split(b"\0"):
                found.add(pid)
    for pid in parents:
        line = [pid]
        while line[-1] in parents and line[-1] not in found:
            line.append(parents[line[-1]])
        if line[-1] in found:
            found |= set(line)
    return {processes[pid] for pid in found}
