"""S13b: whoever is sending for all is interrupted. Nobody hangs, nothing is stored twice, nobody is lied to."""

import random
import threading

import pytest

from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.calls import interrupt
from tailrace.testing.drivers import Driver, Topic
from tailrace.testing.faults import Fail, FaultyBackend, LoseReply, Stall
from tailrace.testing.fixtures import Connect
from tailrace.testing.outcome import not_run
from tailrace.testing.reading import PATIENCE, Background, numbered
from tailrace.testing.stores import StoreUnderTest

THREADS = 16


class SoftTimeLimit(BaseException):
    """What task queues raise in a thread whose time is up."""


@pytest.fixture(autouse=True)
def _interruptible(driver: Driver) -> None:
    if not driver.callers_send:
        not_run("a worker sends for its callers, and nothing interrupts a worker")


def _append(topic: Topic, payload: bytes) -> str:
    try:
        topic.append(payload)
    except DurableStreamUnavailableError as error:
        return "unknown" if error.maybe_stored else "refused"
    except (KeyboardInterrupt, SoftTimeLimit):
        return "interrupted"
    return "stored"


def _start(topic: Topic) -> dict[bytes, Background[str]]:
    return {payload: Background(lambda payload=payload: _append(topic, payload)) for payload in numbered(THREADS)}  # type: ignore[misc]


def _check(topic: Topic, store: StoreUnderTest, told: dict[bytes, str]) -> None:
    found = store.contents(topic.name)
    assert len(found) == len(set(found)), "stored twice"
    for payload, outcome in told.items():
        if outcome == "stored":
            assert payload in found
        if outcome == "refused":
            assert payload not in found
    before = len(found)
    topic.append(b"the appender still works")
    assert len(store.contents(topic.name)) == before + 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SoftTimeLimit])
@pytest.mark.parametrize("fault", [Fail, LoseReply], ids=["before-the-store", "after-the-store"])
def test_one_leader_of_many_is_interrupted_inside_the_store(
    connect: Connect,
    faulty: FaultyBackend,
    name: str,
    store: StoreUnderTest,
    fault: type[Fail | LoseReply],
    kind: type[BaseException],
) -> None:
    topic = connect(faulty).topic(name)
    stall = Stall()
    faulty.next("append", stall)
    faulty.next("append", fault(kind))
    calls = _start(topic)
    assert stall.reached.wait(PATIENCE)
    stall.release()
    told = {payload: call.result() for payload, call in calls.items()}
    assert list(told.values()).count("interrupted") == 1
    _check(topic, store, told)


@pytest.mark.parametrize("times", [2, 5, THREADS])
def test_leader_after_leader_is_interrupted(
    connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest, times: int
) -> None:
    topic = connect(faulty).topic(name)
    for turn in range(times):
        faulty.next("append", (LoseReply if turn % 2 else Fail)(KeyboardInterrupt))
    told = {payload: call.result() for payload, call in _start(topic).items()}
    assert "interrupted" in told.values()
    faulty.heal()
    _check(topic, store, told)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SoftTimeLimit])
def test_the_thread_that_is_sending_gets_an_asynchronous_exception(
    connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest, kind: type[BaseException]
) -> None:
    topic = connect(faulty).topic(name)
    stall = LeaderStall()
    faulty.next("append", stall)
    calls = _start(topic)
    assert stall.reached.wait(PATIENCE)
    interrupt(stall.leader, kind)
    stall.release()
    told = {payload: call.result() for payload, call in calls.items()}
    assert list(told.values()).count("interrupted") == 1
    _check(topic, store, told)


# One may also hit the few lines of this test that run outside of append, and end their thread.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.usefixtures("swallowed_interrupts")
def test_asynchronous_exceptions_at_any_instruction_hang_and_double_nobody(
    connect: Connect, name: str, store: StoreUnderTest
) -> None:
    topic = connect(append_timeout=5.0).topic(name)
    dice = random.Random(13)
    told: list[tuple[bytes, str]] = []
    wrong: list[Exception] = []
    stop = threading.Event()

    def work(index: int) -> None:
        number = 0
        while not stop.is_set():
            payload = b"%d.%d" % (index, number)
            number += 1
            try:
                told.append((payload, _append(topic, payload)))
            except (KeyboardInterrupt, SoftTimeLimit):
                # It came between two statements of this test; what became of the payload is not known here.
                continue
            except Exception as error:  # noqa: BLE001 - nothing else may come out of append
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        victim = dice.choice(threads).ident
        assert victim is not None
        interrupt(victim, SoftTimeLimit)
        stop.wait(0.003)
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert not [thread for thread in threads if thread.is_alive()], "somebody hangs"
    assert wrong == []
    found = store.contents(name)
    kept = set(found)
    assert len(found) == len(kept), "stored twice"
    assert not [payload for payload, outcome in told if outcome == "stored" and payload not in kept]
    assert not [payload for payload, outcome in told if outcome == "refused" and payload in kept]
    topic.append(b"the appender still works")
    assert store.contents(name)[-1] == b"the appender still works"


class LeaderStall(Stall):
    """Remembers which thread waits here."""

    leader = 0

    def __call__(self, call):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204
        self.leader = threading.get_ident()
        return super().__call__(call)
