"""Lets in who has an access key."""

import hmac
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tailrace.server.access.keys import AccessKey, digest_of, id_of
from tailrace.server.access.refusal import refused
from tailrace.server.access.ring import AccessKeys
from tailrace.server.principals import Principal

if TYPE_CHECKING:
    from tailrace.server.request import Request


class KeyGate:
    """Knows access keys by their hashes.

    Args:
        keys: Returns the keys of this moment.
    """

    def __init__(self, keys: Callable[[], AccessKeys]) -> None:
        self._keys = keys
        self._decoy = os.urandom(32)

    def admit(self, text: str, request: "Request") -> Principal:
        """Return who holds a key.

        Raises:
            Problem: ``unauthenticated``. An id that does not exist takes as long as a secret that is wrong.
        """
        identity = id_of(text)
        keys = self._keys()
        key = keys.find(identity) if identity else None
        is_right = hmac.compare_digest(digest_of(text), self._decoy if key is None else key.digest)
        if key is None or not is_right:
            raise refused(f"no access key {identity}" if key is None else f"wrong secret for {identity}", request)
        if not _holds(key):
            raise refused(f"access key {identity} has expired", request)
        return keys.principal(key.id)

    def holds(self, identity: str) -> bool:
        """Return whether the key with an id is still good: what it was good for falls with it."""
        key = self._keys().find(identity)
        return key is not None and _holds(key)


def _holds(key: AccessKey) -> bool:
    return key.expires_at is None or time.time() < key.expires_at.timestamp()
