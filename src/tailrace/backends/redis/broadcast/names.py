"""The names of a topic's channel and stream. Pure.

``tailrace:{run:42}:b`` is the channel that messages go through. Where they are kept for a while, ``...:bs`` is their
stream and ``...:bh`` the channel of its hints. One hash tag per topic, so that they are in one slot of a cluster.

An application that has channels already can go on with their names: there are listeners and publishers on them.
"""

import functools
from typing import NamedTuple

from tailrace.backends.redis.keys import Keys
from tailrace.errors import InvalidArgumentError

PLACE = "{}"
"""Stands for the topic's name in the name of its channel."""


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
        channel: What the channel of a topic is called, whatever the database: ``events.{}``.

    Raises:
        InvalidArgumentError: Such a name could not be told from those of other topics.
    """

    def __init__(self, prefix: str, database: int = 0, channel: str | None = None) -> None:
        if channel is not None and channel.count(PLACE) != 1:
            raise InvalidArgumentError(f"channel must hold {PLACE} once, for the topic's name, as in events.{PLACE}")
        self._keys = Keys(prefix)
        self._channel = channel
        self._database = b"%d" % database if database else b""
        self.of = functools.lru_cache(8192)(self._of)

    def _of(self, topic: str) -> TopicNames:
        stem = self._keys.of(topic).identity.removesuffix(b":i")
        channel = stem + b":b" + self._database
        if self._channel is not None:
            channel = self._channel.replace(PLACE, topic).encode()
        return TopicNames(channel, stem + b":bs", stem + b":bh" + self._database)
