"""The service: answers kept durably, folded into learners, served over HTTP."""

from typing import Any


def __getattr__(name: str) -> Any:
    # imported on first use, because only the client needs httpx
    if name in {"AsyncClient", "Client"}:
        from dford.service import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
