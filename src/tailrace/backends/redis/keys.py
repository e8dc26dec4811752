"""The names of a topic's keys, there and back. Pure.

One hash tag per topic, so that its keys are in one slot of a cluster: ``tailrace:{run:42}:i`` is its identity (a hash),
``...:s`` its records (a stream), ``...:h`` the channel of its hints.
"""

import functools
from dataclasses import dataclass

from tailrace.errors import InvalidArgumentError, InvalidTypeError

DEFAULT_PREFIX = "tailrace"
IDENTITY_SUFFIX = b"}:i"

_GLOB = frozenset(b"*?[]^\\")


@dataclass(frozen=True, slots=True)
class TopicKeys:
    """Where one topic lives."""

    identity: bytes
    stream: bytes
    channel: bytes

    def __str__(self) -> str:
        return f"{_shown(self.identity)} and {_shown(self.stream)}"


class Keys:
    """All keys of one prefix. Thread-safe.

    Args:
        prefix: Before the topic's name.
        database: Its number. Keys are a database's own, but channels are the whole server's: two databases with a copy
            of the same topic must not hear each other.
    """

    def __init__(self, prefix: str = DEFAULT_PREFIX, database: int = 0) -> None:
        if not isinstance(prefix, str):
            raise InvalidTypeError(f"a prefix of keys must be text, not {type(prefix).__name__}")
        if "{" in prefix or "}" in prefix:
            raise InvalidArgumentError(
                "a prefix of keys must not hold a brace, which decides over the slots of a cluster"
            )
        if not prefix or "\0" in prefix or not _encodable(prefix):
            raise InvalidArgumentError("a prefix of keys must not be empty, nor hold a NUL or half a character")
        self.prefix = prefix
        self._channel = b"}:h" + (b"%d" % database if database else b"")
        self._before = prefix.encode() + b":{"
        self.of = functools.lru_cache(8192)(self._of)

    def _of(self, topic: str) -> TopicKeys:
        stem = self._before + _tag(topic)
        return TopicKeys(stem + IDENTITY_SUFFIX, stem + b"}:s", stem + self._channel)

    def topic(self, identity: bytes) -> str | None:
        """Return whose identity a key is; ``None`` for a key that is none of ours."""
        if not (identity.startswith(self._before) and identity.endswith(IDENTITY_SUFFIX)):
            return None
        tag = identity[len(self._before) : -len(IDENTITY_SUFFIX)]
        try:
            name = tag.replace(b"%7D", b"}").replace(b"%25", b"%").decode()
        except UnicodeDecodeError:
            return None
        # One name, one spelling: what would be written otherwise was not written by us.
        return name if name and _tag(name) == tag else None

    def pattern(self, topics: str = "") -> bytes:
        """Return what ``SCAN`` matches the identities of all topics with, whose names start with ``topics``."""
        stem = self._before + _tag(topics)
        return b"".join(b"\\%c" % byte if byte in _GLOB else b"%c" % byte for byte in stem) + b"*" + IDENTITY_SUFFIX


def _tag(topic: str) -> bytes:
    # A brace would end the tag early: keys of one topic in two slots, or two topics with one key.
    return topic.encode().replace(b"%", b"%25").replace(b"}", b"%7D")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(key: bytes) -> str:
    return key.decode(errors="backslashreplace")
