"""`dford` as a process, without the seconds that its imports take.

Every command is a fork of a process that has imported everything and loaded what was compiled. There is one such fork
server for each test process; a launcher between the two tells when and how the command ended.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

_FORK_SERVER = """
import gc, json, os, runpy, signal, socket, sys
import uvicorn
import dford.cli.label, dford.service.http.server, dford.service.program_run, dford.service.table_project
import dford
from dford.cli import main

def load(learner):
    model = getattr(dford, learner)(levels=[1, 2, 3], random_state=0)
    for n in range(210 if learner == "Auto" else 2):  # trees, too
        x = [n % 3, n % 5]
        model.learn(model.question(x, n), n % 4 > 1)
    model.predict([[1.0, 2.0]])

def become(words, environment, folder, streams):
    for stream, number in zip(streams, (1, 2)):
        os.dup2(stream, number)
    os.closerange(3, 256)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    if words[0].endswith(".py"):
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")
        sys.exit()
    sys.exit(main(words))

calls, loaded, launchers = socket.socket(fileno=int(sys.argv[1])), set(), 0
gc.freeze()
while True:
    head, streams, _, _ = socket.recv_fds(calls, 8, 3)
    if not head:
        break  # the tests have ended
    length, call = int.from_bytes(head), b""
    while len(call) < length:
        call += calls.recv(length - len(call))
    learners, *what = json.loads(call)
    for learner in set(learners) - loaded:
        load(learner)
        loaded.add(learner)
    if os.fork() == 0:
        child = os.fork()
        if child == 0:
            become(*what, streams[:2])
        for stream in streams[:2]:
            os.close(stream)
        os.write(streams[2], b"%d\\n" % child)
        os.write(streams[2], b"%d\\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        os._exit(0)
    launchers += 1
    for stream in streams:
        os.close(stream)
    while launchers and os.waitpid(-1, os.WNOHANG)[0]:  # those that have ended
        launchers -= 1
"""


@cache
def _fork_server() -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
    """Where to request a command; it ends with this process."""
    here, there = socket.socketpair()
    with there:
        process = subprocess.Popen(
            [sys.executable, "-c", _FORK_SERVER, str(there.fileno())],
            pass_fds=[there.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    atexit.register(process.wait)
    atexit.register(here.close)  # first
    return here, process


class Command:
    """A `dford` command that runs, or a program in Python.

    What it prints is read like a file, or goes where the tests' own stderr goes.
    """

    def __init__(
        self,
        words: Sequence[str],
        learners: Sequence[str] = (),
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        keeps_stderr: bool = False,
    ) -> None:
        line, process = _fork_server()
        assert process.poll() is None, "the fork server is gone"
        read, write = zip(*(os.pipe() for _ in range(3)), strict=True)
        given = [list(learners), list(words), dict(os.environ | (environment or {})), str(folder or Path.cwd())]
        call = json.dumps(given).encode()
        streams = [write[0], 2 if keeps_stderr else write[1], write[2]]
        socket.send_fds(line, [len(call).to_bytes(8)], streams)
        line.sendall(call)
        for one in write:
            os.close(one)
        self.stdout: IO[str]
        self.stdout, self.stderr, self._fate = (os.fdopen(one) for one in read)
        self.pid = int(self._fate.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        return self.wait(0.0)

    def wait(self, timeout: float | None = None) -> int | None:
        if self.returncode is None and select.select([self._fate], [], [], timeout)[0]:
            self.returncode = int(self._fate.readline())
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 600.0) -> tuple[str, str]:
        """Wait for the end; the rest of what it printed. It must be little: nobody reads it meanwhile."""
        assert self.wait(timeout) is not None, f"{self.pid} has not ended after {timeout:g} s"
        said = self.stdout.read(), self.stderr.read()
        self.close()
        return said

    def close(self) -> None:
        for stream in (self.stdout, self.stderr, self._fate):
            stream.close()
