"""The keys of an emitter: which command of which attempt appends what. Pure, the same in both colours.

An attempt that is repeated gives the same commands the same keys, so that nothing is appended twice.
"""

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence

from tailrace.errors import InvalidArgumentError, InvalidTypeError
from tailrace.workflow import bounds
from tailrace.workflow.items import json_of
from tailrace.workflow.model import NewItem, Origin, Run, StreamRef

MAX_IDENTITY_CHARS = bounds.MAX_ID_CHARS - 16
"""So that a key, with its two numbers, is not too long."""


class Script:
    """The commands of one attempt, counted.

    Args:
        run: In which run.
        identity: The same in every attempt at the same piece of work, and in no other.
        lease_seconds: How long readers wait for the producer; ``None``: for ever.

    Raises:
        InvalidTypeError, InvalidArgumentError: The identity is no text, or has not 1 to 175 characters.
        InvalidFieldsError: The lease is out of bounds.
    """

    def __init__(self, run: Run, identity: str, lease_seconds: int | None) -> None:
        if not isinstance(identity, str):
            raise InvalidTypeError(f"a command identity must be text, not {type(identity).__name__}")
        if not 1 <= len(identity) <= MAX_IDENTITY_CHARS:
            raise InvalidArgumentError(f"a command identity must have 1 to {MAX_IDENTITY_CHARS} characters")
        if lease_seconds is not None:
            bounds.check_lease(lease_seconds)
        self.run = run
        self.identity = identity
        self.lease_seconds = lease_seconds
        self.ordinal = 0
        self._turn = threading.Lock()

    @contextlib.contextmanager
    def command(self) -> Iterator[None]:
        """Do one command inside. It is counted when it succeeds, and only then.

        What failed is not known to be undone: done again with the same number it finds what it may have stored. And
        an attempt in which it does not fail gives the commands after it the same numbers.

        Raises:
            InvalidArgumentError: Another command is under way: their order is part of what must be repeatable.
        """
        if not self._turn.acquire(blocking=False):
            raise InvalidArgumentError("an emitter does one command at a time: their order gives them their keys")
        try:
            yield
            self.ordinal += 1
        finally:
            self._turn.release()

    def stream(self, name: str) -> StreamRef:
        """Return the identity of a stream.

        Raises:
            InvalidStreamNameError: No stream can have that name.
        """
        return self.run.stream(bounds.check_name(name))

    def items(
        self, payloads: Iterable[object], *, item_type: str | None = None, content_type: str | None = None
    ) -> Sequence[NewItem]:
        """Return what the current command appends.

        Raises:
            InvalidTypeError, InvalidArgumentError: ``payloads`` are no JSON values.
        """
        if isinstance(payloads, str | bytes | bytearray | dict) or not isinstance(payloads, Iterable):
            raise InvalidTypeError(f"payloads must be a list of them, not {type(payloads).__name__}")
        return [
            NewItem(
                payload=json_of(payload),
                idempotency_key=f"{self.identity}:{self.ordinal}:{index}",
                origin=Origin.EXTERNAL,
                origin_reference=self.identity,
                item_type=item_type,
                content_type=content_type,
            )
            for index, payload in enumerate(payloads)
        ]

    def lease(self) -> int:
        """Return the lease, to renew it.

        Raises:
            InvalidArgumentError: There is none.
        """
        if self.lease_seconds is None:
            raise InvalidArgumentError("this emitter has no lease: make it with lease_seconds")
        return self.lease_seconds
