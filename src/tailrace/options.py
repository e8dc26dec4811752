"""Options of each layer as frozen dataclasses, and store URLs. No I/O."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from tailrace import limits
from tailrace.errors import InvalidArgumentError, InvalidTypeError
from tailrace.retention import Retention, for_topic, strictest


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """What a store needs to know.

    Attributes:
        retention: Applied by the store itself where it can, by ``sweep`` where it can not.
        topic_retention: Instead of ``retention`` for topics that match a pattern (``*``, ``?``, ``[abc]``, as file
            names are matched; case counts). The first one that matches holds.
        append_timeout: Seconds; bounds the store's part of an append.
        tombstone_for: Seconds that a deleted topic is remembered, for subscriptions made before it existed.
        forget_after: Seconds after which an emptied, idle topic loses its identity in a sweep; ``None`` keeps it.
        create: Whether a missing store may be created; ``None``: an embedded one, and one that needs nothing made.
    """

    retention: Retention = field(default_factory=Retention)
    topic_retention: Mapping[str, Retention] = field(default_factory=dict)
    append_timeout: float = 10.0
    tombstone_for: float = 30 * 86400.0
    forget_after: float | None = None
    create: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.retention, Retention):
            raise InvalidTypeError(f"retention must be a tailrace.Retention, not {type(self.retention).__name__}")
        if not isinstance(self.topic_retention, Mapping):
            raise InvalidTypeError("topic_retention must map patterns to retentions, as {'run:*': Retention()} does")
        for pattern, kept in self.topic_retention.items():
            if not isinstance(pattern, str) or not isinstance(kept, Retention):
                raise InvalidTypeError("topic_retention must map patterns, as text, to tailrace.Retention")
        if self.create is not None and not isinstance(self.create, bool):
            raise InvalidTypeError(f"create must be True, False or None, not {type(self.create).__name__}")
        positive_seconds("append_timeout", self.append_timeout)
        positive_seconds("tombstone_for", self.tombstone_for)
        if self.forget_after is not None:
            positive_seconds("forget_after", self.forget_after)

    def kept(self, topic: str) -> Retention:
        """Return the bounds of one topic."""
        return for_topic(topic, self.topic_retention, self.retention) if self.topic_retention else self.retention

    @property
    def strictest(self) -> Retention:
        """The tightest of each bound, whatever the topic: who keeps to them needs no sweep."""
        return strictest((self.retention, *self.topic_retention.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """What the engine needs to know.

    Attributes:
        append_timeout: Seconds that one ``append`` may take, waiting for its turn included.
        outage_budget: Seconds from the first failure that a reader rides out a store that is away; 0 raises at once.
        buffer_records: Undelivered records held per subscription, at most (plus one page).
        buffer_bytes: Undelivered payload bytes held per subscription, at most (plus one page).
        page_records: Records read at once.
        page_bytes: Payload bytes read at once; a single larger record still comes whole.
        batch_records: Records of concurrent appends sent at once.
        batch_bytes: Payload bytes of concurrent appends sent at once.
        poll_unsure: Seconds between fallback reads while the store's hints may be lost.
        poll_healthy: Seconds between fallback reads while its hints are known to arrive.
        max_payload: Bytes in one payload.
    """

    append_timeout: float = 10.0
    outage_budget: float = 30.0
    buffer_records: int = 2048
    buffer_bytes: int = 4 * 2**20
    page_records: int = 512
    page_bytes: int = 2**20
    batch_records: int = 1024
    batch_bytes: int = 4 * 2**20
    poll_unsure: float = 1.0
    poll_healthy: float = 30.0
    max_payload: int = limits.MAX_PAYLOAD_BYTES

    def __post_init__(self) -> None:
        positive_seconds("append_timeout", self.append_timeout)
        positive_seconds("poll_unsure", self.poll_unsure)
        positive_seconds("poll_healthy", self.poll_healthy)
        if self.outage_budget != 0:
            positive_seconds("outage_budget", self.outage_budget)
        for name in ("buffer_records", "buffer_bytes", "page_records", "page_bytes", "batch_records", "batch_bytes"):
            positive_count(name, getattr(self, name))
        positive_count("max_payload", self.max_payload, at_most=limits.MAX_PAYLOAD_BYTES)


def positive_seconds(name: str, value: object) -> None:
    """Refuse anything but a finite number of seconds above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidTypeError(f"{name} must be a number of seconds, not {type(value).__name__}")
    if not 0 < value <= limits.MAX_TIMEOUT:
        raise InvalidArgumentError(f"{name} must be above 0 and at most {limits.MAX_TIMEOUT:.0f} seconds, not {value}")


def positive_count(name: str, value: object, *, at_most: int = 2**31) -> None:
    """Refuse anything but a whole number from 1 to ``at_most``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidTypeError(f"{name} must be a whole number, not {type(value).__name__}")
    if not 1 <= value <= at_most:
        raise InvalidArgumentError(f"{name} must be from 1 to {at_most}, not {value}")


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")


@dataclass(frozen=True, slots=True)
class StoreURL:
    """A store URL, taken apart.

    Attributes:
        text: The URL as given, without its passwords: safe to print.
        scheme: Which adapter, for example ``sqlite``.
        location: What follows ``scheme://`` up to the query, percent-decoded; may hold a password.
        query: Settings of the adapter; an adapter refuses the ones it does not know.
        raw: The URL exactly as given; may hold a password.
    """

    text: str
    scheme: str
    location: str = field(repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    raw: str = field(default="", repr=False)


def parse_url(url: object) -> StoreURL:
    """Take a store URL apart, without touching the store.

    Raises:
        InvalidArgumentError: It is not a URL with a scheme, or a setting is named twice.
    """
    if not isinstance(url, str):
        raise InvalidTypeError(f"a store URL must be text, not {type(url).__name__}")
    if "\0" in url:
        raise InvalidArgumentError("a store URL can not hold a NUL character")
    # Cut by hand: the standard library refuses lists of hosts with an IPv6 address in them, or not, by its version.
    scheme, separator, rest = url.partition("#")[0].partition("://")
    if not separator or not _SCHEME.fullmatch(scheme):
        raise InvalidArgumentError("not a store URL: it must look like sqlite:///events.db or redis://localhost:6379/0")
    place, _, asked = rest.partition("?")
    pairs = parse_qsl(asked, keep_blank_values=True)
    query = dict(pairs)
    if len(query) != len(pairs):
        raise InvalidArgumentError("a setting is named twice in the store URL")
    login, at, hosts = place.partition("/")[0].rpartition("@")
    if hosts.count("[") != hosts.count("]"):
        raise InvalidArgumentError("not a store URL: an IPv6 address stands in brackets, as in redis://[::1]:6379/0")
    _, colon, password = login.partition(":")
    printable = url.replace(f":{password}@", ":***@", 1) if at and colon else url
    # Also those that drivers take as settings: password, sentinel_password, ssl_keyfile_password.
    printable = re.sub(r"(?i)([?&][^=&#]*password=)[^&#]*", r"\1***", printable)
    return StoreURL(text=printable, scheme=scheme.lower(), location=unquote(place), query=query, raw=url)
