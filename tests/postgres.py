"""A temporary PostgreSQL server that nobody else can reach."""

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ports import free_port

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


@contextmanager
def temporary_cluster() -> Iterator[str]:
    """Its address; root has to run it as another user."""
    folder = Path("/tmp") / f"dford-postgres-{os.getpid()}"
    folder.mkdir()
    user = pwd.getpwnam("postgres") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    os.chown(folder, user.pw_uid, user.pw_gid)
    port = free_port()

    def run(program: str, *arguments: str) -> None:
        command = [str(BINARIES[-1] / program), *arguments]
        subprocess.run(command, check=True, user=user.pw_uid, stdout=subprocess.DEVNULL, cwd=folder)

    run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "dford", "--no-sync")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    run("pg_ctl", "-D", str(folder / "data"), "-o", options, "-w", "-l", str(folder / "log"), "start")
    try:
        yield f"postgresql+psycopg://dford@127.0.0.1:{port}"
    finally:
        run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(folder)


@contextmanager
def frozen() -> Iterator[None]:
    """This process's cluster, stopped in the middle of whatever it does: connections stay open, with no reply."""
    folder = Path("/tmp") / f"dford-postgres-{os.getpid()}"
    first = int((folder / "data" / "postmaster.pid").read_text().split()[0])
    pids = [first, *(int(one) for one in Path(f"/proc/{first}/task/{first}/children").read_text().split())]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):  # the first to continue may have ended others
                os.kill(pid, signal.SIGCONT)


def new_database(cluster: str, name: str) -> str:
    import psycopg

    with psycopg.connect(cluster.replace("+psycopg", "") + "/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{cluster}/{name}"
