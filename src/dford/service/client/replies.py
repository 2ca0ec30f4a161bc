"""What the service replied, or why it could not be asked."""

import re
from typing import Any

import httpx


class ServiceError(ValueError):
    """The service refused a request. The message says why.

    Attributes
    ----------
    status : int
        The status of the response, such as 409.
    code : str
        The reason for programs, such as "answered-otherwise".
    """

    def __init__(self, status: int, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.code = status, code


def checked_url(url: str) -> str:
    """The URL of a service, without a trailing slash; refused if no request could ever be sent there."""
    try:
        parts = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise _bad_url(url, str(error).rstrip(".")) from None
    if parts.scheme not in {"http", "https"}:
        raise _bad_url(url, "it does not begin with http:// or https://")
    if not parts.host or any(map(str.isspace, url)) or (parts.port or 0) > 65_535:
        raise _bad_url(url, "it has no valid host or port")
    if parts.query or parts.fragment:
        raise _bad_url(url, "it has a ? or #, like the address of a page")
    return url.rstrip("/")


def _bad_url(url: object, why: str) -> ValueError:
    return ValueError(f"{url!r} is not the URL of a service: {why}; expected one like 'http://127.0.0.1:8765'")


def authorization(key: str | None) -> dict[str, str]:
    """The header that carries a key; refused if no header can. Errors never repeat the key, as they may be logged."""
    if key is None:
        return {}
    if not re.fullmatch("[!-~]+", key):
        raise ValueError(
            "the key is empty or has a character that keys never have; expected a key printed by dford key"
        )
    return {"Authorization": f"Bearer {key}"}


def checked(response: httpx.Response) -> httpx.Response:
    """The response, if the service did what was asked; otherwise raises."""
    if response.is_success:
        return response
    try:
        raise refused(response.status_code, response.json())
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, ServiceError):
            raise
        sentence = f"{response.url} answered {response.status_code}, but not like a dford server; check the URL"
        raise ServiceError(response.status_code, "not-dford", sentence) from None


def refused(status: int, problem: Any) -> ServiceError:
    return ServiceError(status, problem["code"], problem["sentence"])
