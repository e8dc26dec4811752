"""One process's listening: asked by any thread, done by one of its own, which is started by the first who listens."""

import threading
import time
from collections import deque
from collections.abc import Callable

import hiredis
from typing_extensions import override

from tailrace import native
from tailrace.backends.redis.broadcast.bell import Bell
from tailrace.backends.redis.broadcast.ear import Wish
from tailrace.backends.redis.broadcast.ears import Ears, Homes
from tailrace.backends.redis.broadcast.reception import Reception
from tailrace.backends.redis.errors import explain
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Line, Listener, Mark


class RedisLine(Line):
    """Thread-safe.

    Args:
        era: Tells another number once other servers have taken over.
        patience: Seconds that connecting and sending may take.
    """

    def __init__(
        self, homes: Homes, reception: Reception, listener: Listener, era: Callable[[], int], patience: float
    ) -> None:
        self._listener = listener
        self._name = homes.name
        self._reception = reception
        self._ears = Ears(homes, reception, patience)
        self._era = era
        self._asked: deque[tuple[bool, str, Mark | None]] = deque()
        self._starting = native.lock()
        self._bell: Bell | None = None
        self._closed = False

    @override
    def follow(self, topic: str, start: Mark | None) -> bool:
        self._asked.append((True, topic, start))
        self._wake()
        return False

    @override
    def leave(self, topic: str) -> None:
        self._asked.append((False, topic, None))
        self._wake()

    @override
    def close(self) -> None:
        with self._starting:
            self._closed = True
            bell = self._bell
        if bell is not None:
            bell.ring()

    @override
    def disown(self) -> None:
        # A greenlet goes on in the child, a thread does not.
        self._closed = True
        self._starting = native.lock()
        self._ears.disown()
        if self._bell is not None:
            self._bell.disown()

    def _wake(self) -> None:
        with self._starting:
            bell = self._bell
            first = bell is None and not self._closed
            if first:
                bell = self._bell = Bell()
        if bell is None:
            return
        if not first:
            bell.ring()
            return
        # Not under a lock of native threads: among greenlets this one waits until the other has begun.
        threading.Thread(target=self._serve, args=(bell,), name="tailrace-broadcast", daemon=True).start()

    def _serve(self, bell: Bell) -> None:
        try:
            self._listen(bell)
        except (OSError, hiredis.ProtocolError) as exc:
            self._end(explain(exc, self._name))
        except DurableStreamUnavailableError as exc:
            self._end(exc)
        except BaseException as exc:
            # Nobody may wait for what nobody brings any more.
            self._end(DurableStreamUnavailableError(f"listening to {self._name} failed: {exc!r}"))
            raise
        finally:
            self._ears.close()
            bell.close()

    def _listen(self, bell: Bell) -> None:
        era = self._era()
        while not self._closed:
            self._obey()
            more = self._reception.look()
            until = min(self._ears.due, self._reception.due)
            ready = bell.wait(0.0 if more else min(until - time.monotonic(), 3600.0), self._ears.descriptors)
            if self._closed:
                return
            self._ears.hear(ready)
            if self._era() != era:
                raise DurableStreamUnavailableError(f"{self._name} has been replaced")

    def _obey(self) -> None:
        wishes: list[Wish] = []
        while self._asked:
            follow, topic, start = self._asked.popleft()
            reception = self._reception
            wishes.append(Wish(follow, reception.follow(topic, start) if follow else reception.leave(topic)))
        if wishes:
            self._ears.change(wishes)

    def _end(self, error: DurableStreamUnavailableError) -> None:
        if not self._closed:
            self._listener.lost(None, error)
