"""The stream and the bucket of a store: what they must be like, whether they are, and making them so."""

import time
from collections.abc import Mapping
from typing import Any

from tailrace.backends.nats.errors import NO_STREAM, ApiError
from tailrace.backends.nats.location import Location
from tailrace.backends.nats.names import Names
from tailrace.backends.nats.session import Session
from tailrace.backends.nats.stored import microseconds
from tailrace.errors import StoreUnusableError

FORMAT = 1
"""Of messages and entries; part of the charter."""

BATCHED = (2, 11, 0)
"""The first release with one answer of many messages, and the first whose comparison holds between replicas."""

_WORD = "Tailrace"


class Ground:
    """What is known about the stream of a store. For one thread.

    Attributes:
        replicas: How many servers have each message.
        limited: The limits by which the server itself may remove messages.
        settings: Of the stream, as the server tells them.
    """

    def __init__(self, session: Session, location: Location) -> None:
        self.names: Names = location.names
        self.replicas = location.replicas or 1
        self.limited: tuple[str, ...] = ()
        self.settings: Mapping[str, Any] = {}
        self.created = ""
        self._session = session
        self._location = location

    @property
    def batched(self) -> bool:
        """Whether the server answers one question with many messages."""
        return self._session.version >= BATCHED

    @property
    def version(self) -> tuple[int, int, int]:
        """The server's release."""
        return self._session.version

    @property
    def max_payload(self) -> int:
        """Bytes in one message, at most."""
        return self._session.max_payload

    @property
    def durability(self) -> str:
        """What an acknowledgement means."""
        if self.replicas == 1:
            return (
                "An acknowledged record is in the server's files, which it flushes to the disk every two minutes "
                "unless sync_interval says otherwise: it outlives a crash of the server, and with sync_interval: "
                "always one of the machine."
            )
        return (
            f"An acknowledged record is on most of {self.replicas} servers, each of which flushes its files every two "
            "minutes unless sync_interval says otherwise: it outlives the loss of any server, and with sync_interval: "
            "always one of all of them at once."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a careful user would want to know."""
        notes = [
            "Age, number and size are enforced by sweeps.",
            "An append_many that is larger than one message is stored in parts: a crash may leave the first of them.",
        ]
        if self.limited:
            notes.append(
                f"The stream has {', '.join(self.limited)} set: the server may remove records by itself, and then a "
                "place at the end of a topic that it emptied is told as lost, although nothing was."
            )
        return tuple(notes)

    def inherit(self, other: "Ground") -> None:
        """Know what another one does, of the same store."""
        self.replicas, self.limited = other.replicas, other.limited
        self.settings, self.created = other.settings, other.created
        self._session.recall(other.version, other.max_payload)

    async def look(self, deadline: float) -> bool:
        """Look at the stream and the bucket; return whether they are there.

        Raises:
            StoreUnusableError: They can not be used.
        """
        names = self.names
        bucket = await self._info(names.bucket, deadline)
        store = await self._info(names.store, deadline) if names.shared else None
        if bucket is not None and f"layout {names.layout}" not in str(bucket["config"].get("description", "")):
            raise _unlike(names, bucket["config"])
        if bucket is None or (names.shared and store is None):
            return False
        self._read(store if store is not None else bucket)
        if not names.shared:
            # The first page of them: who sets limits on one stream by hand sets them on others.
            body = {"subject": names.topics}
            answer = await self._session.insist("STREAM.LIST", body, deadline)
            found = {limit for each in answer.get("streams") or () for limit in _limits_of(each["config"])}
            self.limited = tuple(sorted(found))
        return True

    async def make(self, deadline: float) -> None:
        """Make what is missing, and bring up to date what is there. Safe to call from many processes at once.

        Raises:
            StoreUnusableError: The server does not take it, or something else is there under these names.
        """
        names = self.names
        await self.look(deadline)
        # Known now, with the first connection.
        self._check_version(self._location.replicas or 1)
        await self._create_or_update(bucket_settings(names, self._location.replicas), deadline)
        if names.shared:
            await self._create_or_update(stream_settings(names, self._location.replicas), deadline)
        await self.look(deadline)

    async def make_stream(self, topic: str, deadline: float) -> None:
        """Make the stream of one topic, where each has its own."""
        await self._create_or_update(stream_settings(self.names, self.replicas, topic), deadline)

    async def _info(self, stream: str, deadline: float) -> dict[str, Any] | None:
        try:
            info = await self._session.insist(f"STREAM.INFO.{stream}", None, deadline)
        except ApiError as exc:
            if exc.code == NO_STREAM:
                return None
            raise
        return info

    def _read(self, info: Mapping[str, Any]) -> None:
        settings = self.settings = info["config"]
        self.replicas = int(settings.get("num_replicas", 1))
        self.created = str(info.get("created", ""))
        stamp = info.get("ts")
        if stamp:
            self._session.ahead = microseconds(stamp) / 1e6 - time.time()
        if self.names.shared:
            self.limited = _limits_of(settings)
        self._check_version(self.replicas)
        self._check(settings)

    def _check_version(self, replicas: int) -> None:
        version = self._session.version
        if replicas > 1 and version < BATCHED:
            raise StoreUnusableError(
                f"{self._session.name} is NATS {'.'.join(map(str, version))}, which with several replicas may accept "
                "two appends in the same place: use NATS 2.11 or newer, or replicas=1"
            )

    def _check(self, settings: Mapping[str, Any]) -> None:
        wanted = bucket_settings(self.names, None) if not self.names.shared else stream_settings(self.names, None)
        for name in ("subjects", "retention", "republish", "allow_direct"):
            if name in wanted and settings.get(name) != wanted[name]:
                raise StoreUnusableError(
                    f"the stream {settings.get('name')} was not made by this library, or its {name} was changed: "
                    "use another stream=, or run `tailrace migrate`"
                )

    async def _create_or_update(self, settings: dict[str, Any], deadline: float) -> None:
        info = await self._info(settings["name"], deadline)
        if info is None:
            await self._session.insist(f"STREAM.CREATE.{settings['name']}", settings, deadline)
            return
        there = info["config"]
        if not str(there.get("description", "")).startswith(_WORD):
            raise StoreUnusableError(
                f"the stream {settings['name']} was not made by this library: use another stream=, or remove it"
            )
        changed = {name: value for name, value in settings.items() if there.get(name) != value}
        if changed:
            await self._session.insist(f"STREAM.UPDATE.{settings['name']}", {**there, **changed}, deadline)


def _limits_of(settings: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(name for name in _LIMITS if (settings.get(name) or -1) > 0)


_LIMITS = ("max_msgs", "max_bytes", "max_age", "max_msgs_per_subject")


def stream_settings(names: Names, replicas: int | None, topic: str | None = None) -> dict[str, Any]:
    """Return what a stream must be like, of all topics or of one."""
    settings: dict[str, Any] = {
        "name": names.store if topic is None else names.stream(topic),
        "description": f"{_WORD}: records of topics, layout {names.layout}",
        "subjects": [names.topics if topic is None else names.subject(topic)],
        "storage": "file",
        "retention": "limits",
        # Nothing is removed by the server: a message that does not fit is refused.
        "discard": "new",
        # Nothing is recognized by an id of its own, so none has to be remembered: the least that there is.
        "duplicate_window": 100_000_000,
        "allow_direct": True,
        "republish": {
            "src": names.topics if topic is None else names.subject(topic),
            "dest": names.hints if topic is None else names.hint(topic),
        },
    }
    if replicas is not None:
        settings["num_replicas"] = replicas
    return settings


def bucket_settings(names: Names, replicas: int | None) -> dict[str, Any]:
    """Return what the bucket must be like: as one of NATS's own, so that its tools show it."""
    settings: dict[str, Any] = {
        "name": names.bucket,
        "description": f"{_WORD}: identities of topics, layout {names.layout}",
        "subjects": [f"$KV.{names.store}.>"],
        "storage": "file",
        "retention": "limits",
        "discard": "new",
        "max_msgs_per_subject": 1,
        "allow_rollup_hdrs": True,
        "allow_direct": True,
    }
    if replicas is not None:
        settings["num_replicas"] = replicas
    return settings


def _unlike(names: Names, there: Mapping[str, Any]) -> StoreUnusableError:
    other = "dedicated" if names.shared else "shared"
    if f"layout {other}" in str(there.get("description", "")):
        return StoreUnusableError(
            f"the store {names.store} has the layout {other}: use layout={other}, or another stream="
        )
    return StoreUnusableError(
        f"the bucket {names.store} was not made by this library: use another stream=, or remove the bucket"
    )
