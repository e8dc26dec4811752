"""What is said on which channel of LISTEN and NOTIFY, and how it is said.

A topic's channel is one of a few fixed ones, so that a process which follows ten thousand topics listens on no more
than these. A message names its topics by fingerprints: names may be longer than a message, and hold characters that a
database's encoding does not have. Hints only: two topics that share a fingerprint cost a needless look.
"""

import base64
import functools
import hashlib
from collections.abc import Collection, Sequence
from typing import NamedTuple

COUNT = 64
"""Channels of one set of tables. Never changed: processes of two releases have to meet on the same ones."""

NAMED = 500
"""Topics named in one message, at most; of more it says "anything here". The server takes less than 8,000 bytes."""

_LENGTH = 8


class Addressed(NamedTuple):
    """Where a topic is talked about, and by which word."""

    channel: str
    word: str


class Channels:
    """The channels of one set of tables. Thread-safe.

    Args:
        tables: What tells these tables from others of the same database: its schema and prefix.
    """

    def __init__(self, tables: str) -> None:
        self._prefix = f"tailrace_{hashlib.blake2b(tables.encode(), digest_size=6).hexdigest()}"
        self.of = functools.lru_cache(4096)(self._of)

    def statement(self, topics: Collection[str]) -> str:
        """Return what says that topics changed: one text, however many topics and channels.

        It is to be run by itself, after the commit. Nothing in it has to be quoted.
        """
        said: dict[str, list[str]] = {}
        for topic in topics:
            channel, word = self.of(topic)
            said.setdefault(channel, []).append(word)
        return "; ".join(
            [f"NOTIFY {channel}, '{'' if len(some) > NAMED else ''.join(some)}'" for channel, some in said.items()]
        )

    def own(self, secret: str) -> str:
        """Return a channel beside these, on which nobody talks about topics."""
        return f"{self._prefix}_{secret}"

    def _of(self, topic: str) -> Addressed:
        digest = hashlib.blake2b(topic.encode(), digest_size=_LENGTH * 6 // 8).digest()
        return Addressed(f"{self._prefix}_{digest[0] % COUNT}", base64.urlsafe_b64encode(digest).decode())


def words(message: str) -> Sequence[str]:
    """Return the words of a message; none if it means all topics of its channel."""
    return [message[at : at + _LENGTH] for at in range(0, len(message), _LENGTH)]
