"""The words of ASGI that are spoken here, and one of our own."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

Offer: TypeAlias = Callable[[bytes], bool]
"""Writes a part of a body that has begun, there and then, and returns whether it did.

Only while no ``send`` of that response is under way. Where it returns false nothing was written: ``send`` waits for
what is in the way.
"""

OFFER = "tailrace.offer"
"""The extension of a scope that is an ``Offer``: none where the server is another, or something stands before it."""
