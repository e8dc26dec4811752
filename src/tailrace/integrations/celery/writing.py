"""How an attempt writes so that an earlier one, or one that still runs, doubles nothing. Blocks; of one thread.

``Repeated`` gives its commands the keys that an emitter gives them. ``Numbered`` makes a key of the offset that an
item is to have: the store takes only one item for each key, so of two attempts only one can write what comes next.
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, Protocol, TypeAlias

from tailrace.errors import InvalidArgumentError
from tailrace.integrations.celery.errors import SupersededError
from tailrace.workflow import Appended, IdempotencyConflictError, NewItem, RunStreams
from tailrace.workflow.bounds import MAX_PENDING_ITEMS
from tailrace.workflow.items import new_items

Attempts: TypeAlias = Literal["repeat", "restart", "continue"]
"""What a later attempt at a task does about the items of an earlier one."""

ATTEMPT = "attempt"
"""The ``item_type`` of the item that an attempt begins with where attempts start anew."""

CLAIMS = 10
"""How often an attempt tries to be the next one to write, while others write."""


class Writing(Protocol):
    """What one attempt appends to one stream."""

    def note(self, count: int) -> None:
        """Note how many items are there."""
        ...

    def begin(self) -> Appended | None:
        """Append what has to come first, if anything."""
        ...

    def append(self, payloads: Iterable[object], item_type: str | None, content_type: str | None, cap: int) -> Appended:
        """Append items, all or none."""
        ...

    def check_ours(self) -> None:
        """Return if it is for this attempt to end the stream.

        Raises:
            SupersededError: Another one has gone on with it.
        """
        ...


class Repeated:
    """Attempts that all do the same: what an earlier one has appended is found, and not stored again."""

    def __init__(self, run: RunStreams, name: str, identity: str, lease_seconds: int) -> None:
        self._emitter = run.emitter(identity, lease_seconds=lease_seconds)
        self._name = name

    def note(self, count: int) -> None:
        """Nothing: the numbers of the commands begin at 0 in each attempt."""

    def begin(self) -> Appended | None:
        """Nothing: there is no first command of its own."""
        return None

    def append(self, payloads: Iterable[object], item_type: str | None, content_type: str | None, cap: int) -> Appended:
        """Append under the number of this command."""
        return self._emitter.append(
            self._name, payloads, item_type=item_type, content_type=content_type, max_pending_items=cap
        )

    def check_ours(self) -> None:
        """Nothing: it does not matter which of them ends it."""


class Numbered:
    """Attempts that go on behind what is there. The stream has to be the task's own.

    Args:
        retries: Of the task, for readers.
        restart: Whether an attempt begins with an item that tells readers to start anew.
    """

    def __init__(
        self, run: RunStreams, name: str, identity: str, lease_seconds: int, *, retries: int, restart: bool
    ) -> None:
        # An emitter refuses an identity that would make keys too long; these keys are no longer than its own.
        run.emitter(identity)
        self._run = run
        self._name = name
        self._identity = identity
        self._lease_seconds = lease_seconds
        self._retries = retries
        self._restart = restart
        self._count = 0

    def note(self, count: int) -> None:
        """Go on behind so many items."""
        self._count = count

    def begin(self) -> Appended | None:
        """Where attempts start anew, take the next place, which ends the writing of any other.

        Raises:
            SupersededError: Another attempt writes so fast that there is no getting in front of it.
        """
        if not self._restart:
            return None
        # Of two attempts that claim the same place one must lose, so no two of these items are alike.
        payload = {"attempt": secrets.token_hex(8), "retries": self._retries}
        for _ in range(CLAIMS):
            try:
                return self.append([payload], ATTEMPT, None, MAX_PENDING_ITEMS)
            except SupersededError:
                self._count = self._run.describe(self._name).last_offset + 1
        raise SupersededError("another attempt at this task is writing to its stream")

    def append(self, payloads: Iterable[object], item_type: str | None, content_type: str | None, cap: int) -> Appended:
        """Append at the next offset.

        Raises:
            SupersededError: Another attempt has an item there.
            InvalidArgumentError: Something else has.
        """
        items = self._keyed(new_items(payloads, item_type=item_type, content_type=content_type))
        try:
            appended = self._run.append(self._name, items, max_pending_items=cap, lease_seconds=self._lease_seconds)
        except IdempotencyConflictError as exc:
            raise SupersededError("another attempt at this task has gone on with its stream") from exc
        if appended.offsets[0] != self._count:
            raise InvalidArgumentError(
                f"the stream {self._name} is not this task's alone: only attempts that repeat can share one"
            )
        self._count += len(items)
        return appended

    def check_ours(self) -> None:
        """Return if nothing follows what this attempt has written.

        An attempt that begins between this look and the end that follows finds its stream ended: this one was done.
        """
        if self._run.describe(self._name).last_offset + 1 != self._count:
            raise SupersededError("another attempt at this task has gone on with its stream")

    def _keyed(self, items: Sequence[NewItem]) -> Sequence[NewItem]:
        return [
            replace(item, idempotency_key=f"{self._identity}:{self._count + index}", origin_reference=self._identity)
            for index, item in enumerate(items)
        ]
