"""The rules of handing over, at moments that nobody can bring about from outside."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import pytest
from typing_extensions import override

import tailrace
from tailrace.broadcast import BroadcastUnavailableError
from tailrace.rollout.doors import Doors
from tailrace.rollout.handover import Event, Handover, ToChannel, ToStream
from tailrace.rollout.immediate import ImmediateKeptTopic, finish
from tailrace.rollout.ledger import Ledger
from tailrace.testing.reading import numbered
from tailrace.topic import Topic

FOREVER = 3600.0


class _Heard:
    """Stands for the channel: what has been heard so far; an error instead of a message is raised."""

    dropped = 0

    def __init__(self) -> None:
        self.messages: deque[bytes | BaseException] = deque()

    async def receive(self, timeout: float = 0.1) -> bytes | None:
        message = self.messages.popleft() if self.messages else None
        if isinstance(message, BaseException):
            raise message
        return message


class _Doors(Doors):
    """A stream; that all has been heard is told by ``arrive``."""

    def __init__(self, stream: Topic, arrive: Callable[[], None]) -> None:
        super().__init__(_Heard(), ImmediateKeptTopic(stream))  # type: ignore[arg-type]
        self.arrive = arrive

    @override
    async def hear_everything(self) -> None:
        self.arrive()


@pytest.fixture
def stream() -> Iterator[Topic]:
    with tailrace.connect("memory://") as streams:
        yield streams.topic("t")


def _to_stream(
    live: _Heard, stream: Topic, arrive: Callable[[], None] = lambda: None, earlier: Ledger | None = None
) -> ToStream:
    doors = _Doors(stream, arrive)
    return ToStream(live, doors, stream.checkpoint(), FOREVER, earlier or Ledger())  # type: ignore[arg-type]


def _payloads(events: Sequence[Event]) -> list[bytes]:
    return [event if isinstance(event, bytes) else event.payload for event in events]


def _step(handover: Handover) -> list[bytes]:
    return _payloads(finish(handover.step(0)))


def test_what_is_still_on_the_connection_goes_before_what_was_appended_after_it(stream: Topic) -> None:
    live = _Heard()
    # Published before the record was appended, and not heard when the stream was read.
    handover = _to_stream(live, stream, lambda: live.messages.append(b"1"))
    stream.append(b"2")
    assert _step(handover) == [b"1", b"2"]


def test_what_is_read_on_the_side_comes_next_or_at_the_end(stream: Topic) -> None:
    live = _Heard()
    arriving = [b"2", b"3", b"4"]

    def arrive() -> None:
        # Somebody appends and publishes another one just then.
        event = arriving.pop(0)
        stream.append(event)
        live.messages.append(event)

    handover = _to_stream(live, stream, arrive)
    stream.append(b"1")
    live.messages.append(b"1")
    assert _step(handover) == [b"1"]
    live.messages.append(b"0")
    assert _step(handover) == [b"0", b"2"]
    assert _payloads(finish(handover.end())) == [b"3", b"4"]


def test_what_was_read_before_the_last_handover_and_is_heard_in_this_one_is_no_event(stream: Topic) -> None:
    live, earlier = _Heard(), Ledger()
    earlier.note(b"read")
    handover = _to_stream(live, stream, earlier=earlier)
    live.messages += [b"read", b"new", b"read"]
    assert _step(handover) == [b"new", b"read"]


class _Interrupted(BaseException):
    """Stands for a cancellation, or a time limit of whoever waits."""


def _interrupting(moments: set[int]) -> Callable[[str], None]:
    """Return what is called at every wait: it interrupts those whose numbers are given."""
    waits = iter(range(1000))

    def wait(_: str) -> None:
        if next(waits) in moments:
            raise _Interrupted

    return wait


class _Shaky:
    """Stands for anything awaited: every wait there may be interrupted."""

    def __init__(self, inner: object, wait: Callable[[str], None]) -> None:
        self._inner = inner
        self._wait = wait

    def __getattr__(self, name: str) -> object:
        found = getattr(self._inner, name)
        if name not in ("receive", "__aenter__", "subscribe_from_cursor"):
            return found

        async def call(*given: object) -> object:
            self._wait(name)
            answer = await found(*given)
            return _Shaky(answer, self._wait) if name == "subscribe_from_cursor" else answer

        return call

    async def __aenter__(self) -> object:
        self._wait("__aenter__")
        await self._inner.__aenter__()  # type: ignore[attr-defined]
        return self


@pytest.mark.parametrize("direction", [ToStream, ToChannel])
def test_a_wait_that_is_interrupted_anywhere_loses_and_doubles_nothing(
    stream: Topic, direction: type[Handover]
) -> None:
    for moment in range(40):
        live = _Heard()
        wait = _interrupting({moment, moment + 7})
        arriving = deque([b"b", b"c"])

        def arrive() -> None:
            wait("arrive")  # noqa: B023 - called in this round only
            while arriving:  # noqa: B023
                stream.append(arriving[0])  # noqa: B023
                live.messages.append(arriving.popleft())  # noqa: B023

        doors = _Doors(stream, arrive)
        doors._stream = _Shaky(doors._stream, wait)  # type: ignore[assignment]
        place = stream.checkpoint()
        shaky = _Shaky(live, wait)
        if direction is ToStream:
            handover: Handover = ToStream(shaky, doors, place, FOREVER, Ledger())  # type: ignore[arg-type]
            live.messages.append(b"old")
            expected = [b"old", b"a", b"b", b"c"]
        else:
            handover = ToChannel(shaky, doors, place, FOREVER)  # type: ignore[arg-type]
            expected = [b"a"]
        stream.append(b"a")
        live.messages.append(b"a")
        seen: list[bytes] = []
        # Interrupted twice at most, so two of the ends, at least, come to something.
        for ask in [handover.step] * 4 + [lambda _: handover.end()] * 4:  # noqa: B023
            handover._tick = 0.0
            with contextlib.suppress(_Interrupted):
                seen += _payloads(finish(ask(0)))
        assert seen == expected, moment


def test_what_was_heard_and_read_before_the_channel_is_lost_is_still_returned(stream: Topic) -> None:
    live = _Heard()
    handover = _to_stream(live, stream)
    stream.append(b"kept")
    live.messages += [b"old", BroadcastUnavailableError("lost")]
    assert _step(handover) == [b"old", b"kept"]
    assert isinstance(handover.broken, BroadcastUnavailableError)


class _Slow:
    """Stands for a store that answers too late to say what it has."""

    def __init__(self, stream: ImmediateKeptTopic) -> None:
        self._stream = stream

    async def subscribe_from_cursor(self, cursor: str) -> "_Slow":
        return self

    async def __aenter__(self) -> None:
        pass

    async def receive(self, timeout: float) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_store_that_is_too_slow_holds_back_what_was_heard_and_is_asked_again(
    stream: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = _Heard()
    handover = _to_stream(live, stream)
    stream.append(b"1")
    live.messages.append(b"1")
    quick = handover._doors._stream
    handover._doors._stream = _Slow(quick)  # type: ignore[arg-type, assignment]
    monkeypatch.setattr("tailrace.rollout.handover.SLOW", -1.0)
    assert finish(handover.step(0)) == finish(handover.end()) == []
    assert handover.behind
    monkeypatch.undo()
    handover._doors._stream = quick
    assert _step(handover) == [b"1"]
    assert not handover.behind


def test_whoever_comes_to_the_channel_from_far_back_is_told_page_by_page(
    stream: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailrace.rollout.handover.PAGE", 10)
    live, place = _Heard(), stream.checkpoint()
    stream.append_many(numbered(25))
    live.messages.append(b"24")
    handover = ToChannel(live, _Doors(stream, lambda: None), place, FOREVER)  # type: ignore[arg-type]
    seen = [_step(handover), _step(handover)]
    assert handover.behind
    seen.append(_payloads(finish(handover.end())))
    assert not handover.behind
    assert seen == [numbered(10), numbered(10, 10), numbered(5, 20)]
    assert len(handover.ledger) == 24


def test_a_ledger_strikes_off_as_often_as_it_noted() -> None:
    ledger = Ledger()
    for payload in (b"a", b"b", b"a"):
        ledger.note(payload)
    assert len(ledger) == 3
    assert [ledger.settle(payload) for payload in (b"a", b"a", b"a", b"c", b"b")] == [True, True, False, False, True]
    assert len(ledger) == 0


def test_a_ledger_forgets_what_did_not_come_in_time() -> None:
    ledger = Ledger()
    ledger.note(b"a")
    ledger.until = 0.0
    assert not ledger.settle(b"a")
    assert len(ledger) == 0
