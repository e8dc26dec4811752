"""What things are called on the server. Pure.

Topic names may be any text and subjects may not, so a subject has 128 bits of a hash in its place; the name travels in
each message, and is compared there.
"""

import functools
import hashlib
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tailrace.errors import InvalidArgumentError

DEFAULT_NAME = "tailrace"

Layout: TypeAlias = Literal["shared", "dedicated"]

DIGEST = 32
"""Characters of what stands for a topic."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,48}")


@functools.lru_cache(16384)
def digest(topic: str) -> str:
    """Return what stands for a topic in subjects, keys and names of streams."""
    return hashlib.blake2b(topic.encode(), digest_size=DIGEST // 2).hexdigest()


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one store.

    Attributes:
        store: The first word of all others.
        layout: ``shared``: all topics are in one stream; ``dedicated``: each is in one of its own.
    """

    store: str = DEFAULT_NAME
    layout: Layout = "shared"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.store):
            raise InvalidArgumentError("stream must have 1 to 48 letters, digits, hyphens or underscores")
        if self.layout not in ("shared", "dedicated"):
            raise InvalidArgumentError(f"layout must be shared or dedicated, not {self.layout}")

    @property
    def shared(self) -> bool:
        """Whether all topics are in one stream."""
        return self.layout == "shared"

    @property
    def bucket(self) -> str:
        """The stream of the key-value bucket, whose own name is the store's."""
        return f"KV_{self.store}"

    @property
    def topics(self) -> str:
        """The subjects of all topics."""
        return f"{self.store}.t.>"

    @property
    def hints(self) -> str:
        """The subjects where stored messages are repeated for whoever follows."""
        return f"{self.store}.n.>"

    def stream(self, topic: str) -> str:
        """Return the stream that a topic is in."""
        return self.store if self.shared else self.stream_of(digest(topic))

    def stream_of(self, key: str) -> str:
        """Return the stream of the topic with that digest."""
        return self.store if self.shared else f"{self.store}-t-{key}"

    def subject(self, topic: str) -> str:
        """Return the subject of a topic's messages."""
        return f"{self.store}.t.{digest(topic)}"

    def hint(self, topic: str) -> str:
        """Return the subject on which they are repeated."""
        return f"{self.store}.n.{digest(topic)}"

    def key(self, topic: str) -> str:
        """Return the subject of a topic's entry in the bucket."""
        return f"$KV.{self.store}.{digest(topic)}"
