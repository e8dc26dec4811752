"""Writers and readers under blows: whatever is killed, nothing acknowledged is lost, doubled or out of order."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence

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


def survive(
    url: str,
    blow: Callable[[], None],
    *,
    rounds: int = ROUNDS,
    writers: int = WRITERS,
    readers: int = READERS,
    patience: float = PATIENCE,
) -> str:
    """Let writers and readers work on a topic while blows fall, then compare what each of them knows.

    Args:
        url: Of a store that is there.
        blow: Kills something, and brings it back.
        patience: Seconds that writers may take to go on after a blow.

    Returns:
        How much there was of everything, in one line.
    """
    stop = threading.Event()
    with tailrace.connect(url, outage_budget=60.0) as reading:
        topic = reading.topic("t")
        live = [topic.subscribe_from_tail().__enter__() for _ in range(readers)]
        following = [Background(lambda one=one: follow(one)) for one in live]  # type: ignore[misc]
        crew = [Writer(url, number, stop) for number in range(writers)]
        writing = [Background(writer.run) for writer in crew]
        try:
            for _ in range(rounds):
                # Killed in the middle of the work of all of them, never between two lives.
                _progress(crew, patience)
                blow()
            _progress(crew, patience)
        finally:
            stop.set()
        for one in writing:
            one.result(PATIENCE)
        topic.seal()
        seen = [reader.result(2 * PATIENCE) for reader in following]
        with topic.subscribe_from_beginning() as again:
            order = follow(again)
        for one in live:
            one.close()
    _compare(crew, seen, order)
    acknowledged, unknown = (sum(map(len, lists)) for lists in zip(*map(_told, crew), strict=True))
    return f"{len(order)} stored, {acknowledged} acknowledged, {unknown} unknown"


def _progress(crew: Sequence[Writer], patience: float) -> None:
    for writer in crew:
        writer.progressed.clear()
    assert all(writer.progressed.wait(patience) for writer in crew)


def _told(writer: Writer) -> tuple[list[bytes], list[bytes]]:
    return writer.acknowledged, writer.unknown


def _compare(crew: Sequence[Writer], seen: Sequence[list[bytes]], order: list[bytes]) -> None:
    assert [each == order for each in seen] == [True] * len(seen)
    assert [payload for payload, times in Counter(order).items() if times > 1] == []
    place = {payload: index for index, payload in enumerate(order)}
    acknowledged = [payload for writer in crew for payload in writer.acknowledged]
    assert [payload for payload in acknowledged if payload not in place] == []
    assert set(order) - set(acknowledged) <= {payload for writer in crew for payload in writer.unknown}
    for writer in crew:
        places = [place[payload] for payload in writer.acknowledged]
        assert places == sorted(places)
