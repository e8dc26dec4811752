"""Writers and readers that work while a test moves or kills servers under them, and what became of it."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

from tailrace import CLOSED, CursorUnavailableError, DurableStreamUnavailableError, StreamClient
from tailrace.topic import Topic

PATIENCE = 30.0


class Writer:
    """Appends ``name:0``, ``name:1``, ... one after the other, each once more if it was refused.

    Attributes:
        acknowledged: What certainly was stored.
        unknown: What may have been.
        refusals: Why something certainly was not.
    """

    def __init__(self, topic: Topic, name: str, pause: float) -> None:
        self.acknowledged: list[bytes] = []
        self.unknown: list[bytes] = []
        self.refusals: list[DurableStreamUnavailableError] = []
        self._topic, self._name, self._pause = topic, name, pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Stop, and wait until it has."""
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        number = 0
        while not self._stop.wait(self._pause):
            payload = f"{self._name}:{number}".encode()
            try:
                self._topic.append(payload)
            except DurableStreamUnavailableError as error:
                if not error.maybe_stored:
                    self.refusals.append(error)
                    continue
                self.unknown.append(payload)
            else:
                self.acknowledged.append(payload)
            number += 1


class Reader:
    """Reads a topic from its beginning to its end.

    Attributes:
        found: The payloads.
        lost: Set when it was told that it lost its place.
        failed: What it ended with otherwise, if not with the end of the topic.
    """

    def __init__(self, topic: Topic) -> None:
        self.found: list[bytes] = []
        self.lost: CursorUnavailableError | None = None
        self.failed: BaseException | None = None
        self._subscription = topic.subscribe_from_beginning()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Wait until it has read the topic to its end, or has been told something."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def abandon(self) -> None:
        """Stop in any case."""
        self._stop.set()
        self._subscription.close()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        try:
            with self._subscription as subscription:
                while not self._stop.is_set():
                    record = subscription.receive(timeout=0.5)
                    if record is CLOSED:
                        return
                    if record is not None:
                        self.found.append(record.payload)
        except CursorUnavailableError as error:
            self.lost = error
        except BaseException as error:  # noqa: BLE001 - for the test
            self.failed = error


class Crowd:
    """Writers and readers of one topic; a context manager that lets none of them stay.

    Args:
        client: Of the writers.
        others: Of the readers; another one, or they would know from the writers what there is to read.
    """

    def __init__(
        self,
        client: StreamClient,
        others: StreamClient,
        topic: str,
        *,
        writers: int = 4,
        readers: int = 2,
        pause: float = 0.003,
    ) -> None:
        self._topic = client.topic(topic)
        self.readers = [Reader(others.topic(topic)) for _ in range(readers)]
        self.writers = [Writer(self._topic, f"w{number}", pause) for number in range(writers)]

    def until_read(self, more: int, within: float = PATIENCE) -> None:
        """Block until every writer has stored, and every reader that was not told of a loss has read, so many more."""
        written = [len(writer.acknowledged) for writer in self.writers]
        found = [len(reader.found) for reader in self.readers]
        until(
            lambda: all(len(w.acknowledged) >= was + more for w, was in zip(self.writers, written, strict=True)), within
        )
        until(
            lambda: all(
                reader.lost or len(reader.found) >= was + more for reader, was in zip(self.readers, found, strict=True)
            ),
            within,
        )

    def end(self) -> None:
        """Let the writers stop, seal the topic, and let the readers read to the end."""
        for writer in self.writers:
            writer.end()
        self._topic.seal()
        for reader in self.readers:
            reader.end()
        assert [reader.failed for reader in self.readers if reader.failed] == []

    def check(self, final: Sequence[bytes]) -> None:
        """Check what everybody was told against the history that is left."""
        kept = set(final)
        assert in_order(final)
        assert kept <= self.acknowledged | self.unknown
        lost = (self.acknowledged | self.unknown) - kept
        for reader in self.readers:
            if reader.lost is None:
                assert reader.found == final
            else:
                # Told, and rightly so: it had read what is no part of this history.
                common = next(at for at, payload in enumerate(reader.found) if payload not in kept)
                assert reader.found[:common] == final[:common]
                assert lost.issuperset(reader.found[common:])

    @property
    def acknowledged(self) -> set[bytes]:
        """What all writers know to be stored."""
        return {payload for writer in self.writers for payload in writer.acknowledged}

    @property
    def unknown(self) -> set[bytes]:
        """What some writer does not know of."""
        return {payload for writer in self.writers for payload in writer.unknown}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self.writers:
            writer.end()
        for reader in self.readers:
            reader.abandon()


def until(condition: Callable[[], bool], within: float = PATIENCE) -> None:
    """Block until something is so that others bring about."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.005)


def in_order(payloads: Sequence[bytes]) -> bool:
    """Return whether each writer's records are in its order, and none is there twice."""
    last: dict[bytes, int] = {}
    for payload in payloads:
        name, _, number = payload.partition(b":")
        if int(number) <= last.get(name, -1):
            return False
        last[name] = int(number)
    return True
