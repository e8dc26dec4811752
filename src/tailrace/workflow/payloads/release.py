"""Deleting payloads that nobody refers to any more: first the object, then its row and the last claim.

In steps, each of which may be the last one before a crash: the row loses its name, so that nobody claims it; the object
is deleted; the row goes. A pass that finds a row without its name goes on where the other one has ended.
"""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from typing_extensions import override

from tailrace.errors import DurableStreamError, DurableStreamUnavailableError
from tailrace.spi import Database
from tailrace.workflow.errors import RunNotFoundError
from tailrace.workflow.model import SECOND, Run
from tailrace.workflow.objects import Objects, Released
from tailrace.workflow.payloads.errors import PayloadHeldError, PayloadUnavailableError
from tailrace.workflow.payloads.storage import Storage
from tailrace.workflow.store import claims, holds, runs
from tailrace.workflow.store.claims import NOBODY, Fate, Found

Find: TypeAlias = Callable[..., list[tuple[int, int]]]

CLAIMS = 100
"""Claims that one look finds."""

_ANY = 2**31

ATTEMPT_SECONDS = 300
"""How long one deletion may take: longer than any driver tries."""


class PayloadRelease(Objects):
    """Thread-safe; any number of them may be at work on one database.

    Args:
        grace: Microseconds that an upload is kept for somebody to claim it.
        timeout: Seconds that one transaction may take.
    """

    def __init__(self, database: Database, storage: Storage, grace: int, timeout: float) -> None:
        self._database = database
        self._storage = storage
        self._grace = grace
        self._timeout = timeout

    @property
    @override
    def grace(self) -> int:
        return self._grace

    @override
    def release_stream(self, stream_id: int, most: int) -> Released:
        return self._release(partial(claims.of_stream, stream_id=stream_id), most)

    @override
    def release_run(self, run_id: int, most: int) -> Released:
        return self._release(partial(claims.of_run, run_id=run_id), most)

    def release(self, run: Run) -> None:
        """Release all of a run, which is about to be deleted; nothing happens if it is not there.

        Raises:
            DurableStreamError: An object could not be deleted: the run is to stay.
        """
        with contextlib.suppress(RunNotFoundError):
            row = self._database.look(partial(runs.find, run=run))
            if not self.release_run(row.id, _ANY).done:
                raise PayloadUnavailableError("somebody else is deleting a payload of the run")

    @override
    def discard(self, payload_id: int) -> bool:
        return self._give_up(payload_id, NOBODY) is Found.DOOMED

    def _release(self, find: Find, most: int) -> Released:
        deleted = steps = 0
        while steps < most:
            found = self._database.look(partial(find, most=min(CLAIMS, most - steps)))
            if not found:
                return Released(deleted, steps, done=True)
            for payload_id, stream_id in found:
                outcome = self._give_up(payload_id, stream_id)
                steps += 1
                if outcome is Found.BUSY:
                    return Released(deleted, steps, done=False)
                deleted += outcome is Found.DOOMED
        return Released(deleted, steps, done=False)

    def _give_up(self, payload_id: int, stream_id: int) -> Found:
        give_up = partial(
            claims.give_up,
            payload_id=payload_id,
            stream_id=stream_id,
            grace=self.grace,
            attempt=ATTEMPT_SECONDS * SECOND,
        )
        fate = self._database.change(give_up, self._timeout)
        if fate.found is Found.HELD:
            raise _held()
        if fate.found is Found.DOOMED:
            self._delete(payload_id, fate)
        return fate.found

    def _delete(self, payload_id: int, fate: Fate) -> None:
        try:
            # A hold that came between the look for one and the commit waits for nobody whom it did not see.
            if self._database.look(partial(holds.held, namespace=fate.namespace)):
                raise _held()
            self._storage.delete(fate.uri)
        except DurableStreamError:
            with contextlib.suppress(DurableStreamUnavailableError):
                self._database.change(partial(claims.attempted, payload_id=payload_id), self._timeout)
            raise
        self._database.change(partial(claims.drop, payload_id=payload_id), self._timeout)


def _held() -> PayloadHeldError:
    return PayloadHeldError("a hold on the namespace keeps a payload that would have to go")
