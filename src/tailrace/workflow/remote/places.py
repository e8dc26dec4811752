"""From a URL to a service over HTTP. Makes no connection yet."""

import dataclasses

from tailrace.backends.http.location import Location, locate
from tailrace.options import parse_url
from tailrace.workflow.remote.awaited import AsyncRemoteService
from tailrace.workflow.remote.service import RemoteService


def open_service(url: str, *, token: str | None, timeout: float) -> RemoteService:
    """Return the runs that a server serves.

    Args:
        token: What lets us in, instead of the URL's key and the environment's.
        timeout: Seconds that a call may take, apart from what it waits for items.

    Raises:
        InvalidArgumentError: The URL or the token can not be used.
        StoreUnusableError: The file of certificates can not be used.
    """
    return RemoteService(_location(url, token), timeout)


def open_async_service(url: str, *, token: str | None, timeout: float) -> AsyncRemoteService:
    """Return the runs that a server serves, for coroutines.

    Raises:
        As ``open_service``.
    """
    return AsyncRemoteService(_location(url, token), timeout)


def _location(url: str, token: str | None) -> Location:
    location = locate(parse_url(url))
    return location if token is None else dataclasses.replace(location, key=token)
