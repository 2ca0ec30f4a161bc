"""The service: answers kept durably, folded into learners, served over HTTP."""

from typing import Any


def __getattr__(name: str) -> Any:
    # the client needs httpx and the rest does not; neither is needed to import the package
    if name in {"AsyncClient", "Client"}:
        from dford.service import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
