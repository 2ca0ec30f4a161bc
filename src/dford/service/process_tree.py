"""The processes of a program: all that it started, also those that left its session or lost their parent."""

import os
import signal
from contextlib import suppress
from pathlib import Path

VARIABLE = "DFORD_PROGRAM"
"""A variable of the environment, which every process inherits: its value marks the processes of one program."""


def kill(leader: int, mark: str) -> bool:
    """End the session of a process and, on Linux, every process below it or with its mark; whether there were any.

    Call it until there are none, as a process may start another one meanwhile. Elsewhere, a process that starts a
    session of its own is left; so is one on Linux that has lost its parent and cleared its environment.
    """
    found = _find(leader, mark)  # before parents end: they tell whose a process is
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for pid in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


def _find(leader: int, mark: str) -> set[int]:
    """The running processes that descend from the leader, itself included, or from one that has the mark."""
    variable = f"{VARIABLE}={mark}".encode()
    parents, found = dict[int, int](), set[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended, or is another user's
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if state in "ZX":  # it has ended, though its parent has not noticed yet
                continue
            pid = int(folder.name)
            parents[pid] = int(parent)
            if pid == leader or variable in (folder / "environ").read_bytes().split(b"\0"):
                found.add(pid)
    for pid in parents:
        line = [pid]
        while line[-1] in parents and line[-1] not in found:
            line.append(parents[line[-1]])
        if line[-1] in found:
            found |= set(line)
    return found
