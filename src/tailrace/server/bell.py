"""One watch of the served store for all streams of hints: who follows what, and who is told.

A thread of its own, started by the first stream: a watch is waited for by one thread, and the engine's own follows what
has readers in this process. When the store's hints are interrupted, every stream ends, and no new one begins until
they are back: the clients ask by themselves meanwhile, as a reader in this process would.
"""

import logging
import threading
from collections.abc import Collection

from tailrace.engine import foreign_errors
from tailrace.errors import DurableStreamUnavailableError
from tailrace.server.listener import Listener
from tailrace.spi import Backend, Changes, Watch

_log = logging.getLogger("tailrace.server")

LOOK = 2.0
"""Seconds between two looks at whether hints still arrive."""


class Bell:
    """Thread-safe."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._by_topic: dict[str, set[Listener]] = {}
        self._listeners: set[Listener] = set()
        self._touched: set[str] = set()
        self._followed: set[str] = set()
        self._watch: Watch | None = None
        self._running = self._closed = False
        self._reliable = True

    @property
    def lock(self) -> threading.Lock:
        """Guards every listener."""
        return self._lock

    def join(self, listener: Listener) -> None:
        """Tell a listener from now on; it is woken once what it follows is confirmed. Does not block on the store."""
        with self._lock:
            if self._closed:
                listener.ended("the server is closing")
                return
            self._listeners.add(listener)
            for topic in listener.topics:
                self._by_topic.setdefault(topic, set()).add(listener)
            self._touched.update(listener.topics)
            start = not self._running
            self._running = True
            watch = self._watch
            self._changed.notify()
        if start:
            threading.Thread(target=self._run, name="tailrace-bell", daemon=True).start()
        elif watch is not None:
            watch.interrupt()

    def leave(self, listener: Listener) -> None:
        """Tell a listener nothing more. Idempotent."""
        with self._lock:
            self._listeners.discard(listener)
            for topic in listener.topics:
                here = self._by_topic.get(topic)
                if here is not None:
                    here.discard(listener)
                    if not here:
                        del self._by_topic[topic]
                        # Dropped with the next change: nobody waits for that.
                        self._touched.add(topic)

    def close(self) -> None:
        """End every stream. Does not wait; the thread ends with the store at the latest. Idempotent."""
        with self._lock:
            self._closed = True
            listeners = list(self._listeners)
            for listener in listeners:
                listener.ended("the server is closing")
            watch = self._watch
            self._changed.notify()
        if watch is not None:
            watch.interrupt()

    def _run(self) -> None:
        while True:
            with self._lock:
                while not (self._listeners or self._closed):
                    self._changed.wait()
                if self._closed:
                    return
            try:
                self._ring()
            except DurableStreamUnavailableError as error:
                self._interrupted(str(error))
            except Exception:  # noqa: BLE001 - the thread must go on: others will come
                _log.exception("the store's hints failed as they should not have")
                self._interrupted("the store's hints failed")

    def _ring(self) -> None:
        """Follow and tell, until the store's watch is lost or nobody listens."""
        with foreign_errors():
            watch = self._backend.watch()
            try:
                with self._lock:
                    self._watch, self._followed, self._touched = watch, set(), set(self._by_topic)
                    self._reliable = watch.reliable
                while self._turn(watch):
                    pass
            finally:
                with self._lock:
                    self._watch = None
                watch.close()

    def _turn(self, watch: Watch) -> bool:
        with self._lock:
            if self._closed or not self._listeners:
                return False
            waiting = [listener for listener in self._listeners if not listener.confirmed]
            added = self._touched.intersection(self._by_topic) - self._followed
            dropped = (self._touched & self._followed).difference(self._by_topic)
            self._touched = set()
        if added or dropped:
            watch.follow(added, dropped)
        with self._lock:
            self._followed = (self._followed | added) - dropped
            for listener in waiting:
                listener.confirmed = True
                listener.reliable = listener.told_reliable = self._reliable
                listener.wake()
            # Whoever joined meanwhile has interrupted a wait that has not begun: that one returns at once.
        changes = watch.wait(LOOK)
        self._tell(changes, reliable=watch.reliable)
        return True

    def _tell(self, changes: Changes, *, reliable: bool) -> None:
        with self._lock:
            if reliable is not self._reliable or changes.anything:
                self._reliable = reliable
                for listener in self._listeners:
                    listener.reliable = reliable
                    if changes.anything:
                        listener.anything()
                    listener.wake()
            for listener, topics in self._hit(changes.topics).items():
                listener.moved(topics)

    def _hit(self, topics: Collection[str]) -> dict[Listener, list[str]]:
        hit: dict[Listener, list[str]] = {}
        for topic in topics:
            for listener in self._by_topic.get(topic, ()):
                hit.setdefault(listener, []).append(topic)
        return hit

    def _interrupted(self, reason: str) -> None:
        with self._lock:
            for listener in self._listeners:
                listener.ended(reason)
            # They leave by themselves; here nobody may be taken for somebody who still waits.
            self._listeners = set()
            self._by_topic = {}
