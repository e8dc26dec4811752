"""A database server is killed again and again under writers and readers: nothing acknowledged is lost or doubled."""

import threading
from collections import Counter

import pytest
from tests.faults.running import SQL, running

import tailrace
from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.reading import PATIENCE, Background

ROUNDS = 10
WRITERS = 8
READERS = 4


class Writer:
    """Appends until it is told to stop; remembers what was acknowledged, and what nobody knows of."""

    def __init__(self, url: str, number: int, stop: threading.Event) -> None:
        self.acknowledged: list[bytes] = []
        self.unknown: list[bytes] = []
        self.progressed = threading.Event()
        self._url, self._number, self._stop = url, number, stop

    def run(self) -> None:
        """Append, each payload once."""
        sent = 0
        with tailrace.connect(self._url, append_timeout=5.0) as streams:
            topic = streams.topic("t")
            while not self._stop.is_set():
                payload = b"%d:%d" % (self._number, sent)
                sent += 1
                try:
                    topic.append(payload)
                except DurableStreamUnavailableError as error:
                    if error.maybe_stored:
                        self.unknown.append(payload)
                    # A refusal comes at once; do not fill the log with them.
                    self._stop.wait(0.01)
                else:
                    self.acknowledged.append(payload)
                    self.progressed.set()


def follow(subscription: tailrace.Subscription) -> list[bytes]:
    """Read to the end of the topic, with no help."""
    found: list[bytes] = []
    while (answer := subscription.receive(timeout=5)) is not tailrace.CLOSED:
        if answer is not None:
            found.append(answer.payload)
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", SQL)
def test_what_was_acknowledged_is_there_once_in_one_order_and_readers_go_on_by_themselves(kind: str) -> None:
    stop = threading.Event()
    with running(kind) as there, tailrace.connect(there.url, outage_budget=60.0) as reading:
        topic = reading.topic("t")
        live = [topic.subscribe_from_tail().__enter__() for _ in range(READERS)]
        readers = [Background(lambda one=one: follow(one)) for one in live]  # type: ignore[misc]
        writers = [Writer(there.url, number, stop) for number in range(WRITERS)]
        writing = [Background(writer.run) for writer in writers]
        for _ in range(ROUNDS):
            for writer in writers:
                writer.progressed.clear()
            # Killed in the middle of the work of all of them, never between two lives.
            assert all(writer.progressed.wait(PATIENCE) for writer in writers)
            there.server.kill()
            there.server.start()
        for writer in writers:
            writer.progressed.clear()
            assert writer.progressed.wait(PATIENCE)
        stop.set()
        for one in writing:
            one.result(PATIENCE)
        topic.seal()
        seen = [reader.result(2 * PATIENCE) for reader in readers]
        with topic.subscribe_from_beginning() as again:
            order = follow(again)
        for one in live:
            one.close()

    assert [each == order for each in seen] == [True] * READERS
    assert [payload for payload, times in Counter(order).items() if times > 1] == []
    place = {payload: index for index, payload in enumerate(order)}
    acknowledged = [payload for writer in writers for payload in writer.acknowledged]
    assert [payload for payload in acknowledged if payload not in place] == []
    assert set(order) - set(acknowledged) <= {payload for writer in writers for payload in writer.unknown}
    for writer in writers:
        places = [place[payload] for payload in writer.acknowledged]
        assert places == sorted(places)
    unknown = sum(len(writer.unknown) for writer in writers)
    print(f"{kind}: {len(order)} stored, {len(acknowledged)} acknowledged, {unknown} unknown")  # noqa: T201
