"""The names of a topic's channel and stream. Pure.

``tailrace:{run:42}:b`` is the channel that messages go through. Where they are kept for a while, ``...:bs`` is their
stream and ``...:bh`` the channel of its hints. One hash tag per topic, so that they are in one slot of a cluster.
"""

import functools
from typing import NamedTuple

from tailrace.backends.redis.keys import Keys


class TopicNames(NamedTuple):
    """Where one topic's live messages go."""

    channel: bytes
    stream: bytes
    hints: bytes


class Names:
    """All names of one prefix. Thread-safe.

    Args:
        prefix: Before the topic's name.
        database: Its number. Streams are a database's own, but channels are the whole server's.
    """

    def __init__(self, prefix: str, database: int = 0) -> None:
        self._keys = Keys(prefix)
        self._database = b"%d" % database if database else b""
        self.of = functools.lru_cache(8192)(self._of)

    def _of(self, topic: str) -> TopicNames:
        stem = self._keys.of(topic).identity.removesuffix(b":i")
        return TopicNames(stem + b":b" + self._database, stem + b":bs", stem + b":bh" + self._database)
