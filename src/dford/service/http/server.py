"""How the application is served: by uvicorn, with limits on connections."""

import logging
import math
from types import TracebackType
from typing import Any

import uvicorn

from dford.document import printable
from dford.service.core import Service
from dford.service.http.app import make_app
from dford.service.http.connections import Connections


class LogFormatter(logging.Formatter):
    """Lines of the log, which is often read in a terminal: it must not obey what is in requests and files."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        record.message = printable(record.message.rstrip("\n"))
        return super().formatMessage(record)

    def formatException(  # noqa: N802
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return "\n".join(map(printable, super().formatException(ei).split("\n")))


_LOG: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"printable": {"()": LogFormatter}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "printable"}},
    "loggers": {"uvicorn": {"handlers": ["stderr"], "propagate": False}, "dford": {"handlers": ["stderr"]}},
}


def configured(service: Service, version: str, **more: Any) -> uvicorn.Config:
    settings = service.settings
    connections = Connections(settings.connections_per_address, settings.request_seconds, settings.idle_seconds)
    how: dict[str, Any] = {
        "http": connections.protocol,
        "log_config": _LOG,
        "log_level": "warning",
        "access_log": False,
        "proxy_headers": False,  # connections are counted by their real address
        "timeout_keep_alive": math.ceil(settings.idle_seconds),
        "timeout_graceful_shutdown": 2,
        "server_header": False,
    }
    return uvicorn.Config(make_app(service, version, connections), **how | more)
