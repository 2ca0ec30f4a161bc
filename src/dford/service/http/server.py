"""How the application is served: by uvicorn, with limits on connections."""

import math
from typing import Any

import uvicorn

from dford.service.core import Service
from dford.service.http.app import make_app
from dford.service.http.connections import Connections


def configured(service: Service, version: str, **more: Any) -> uvicorn.Config:
    settings = service.settings
    connections = Connections(settings.connections_per_address, settings.request_seconds, settings.idle_seconds)
    how: dict[str, Any] = {
        "http": connections.protocol,
        "log_level": "warning",
        "access_log": False,
        "proxy_headers": False,  # connections are counted by their real address
        "timeout_keep_alive": math.ceil(settings.idle_seconds),
        "timeout_graceful_shutdown": 2,
        "server_header": False,
    }
    return uvicorn.Config(make_app(service, version, connections), **how | more)
