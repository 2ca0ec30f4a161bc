"""Ports for servers that tests start with a port of their choice."""

import socket
from contextlib import suppress
from random import SystemRandom


def free_port() -> int:
    """One that is still free a few seconds later: systems take those of connections, and of port 0, from above."""
    while True:
        port = SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
