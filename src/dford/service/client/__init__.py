"""Clients for the service, with the library's own words: ask, tell, predict."""

from dford.service.client.clients import AsyncClient, Client
from dford.service.client.operations import Asked
from dford.service.client.replies import ServiceError

__all__ = ["Asked", "AsyncClient", "Client", "ServiceError"]
