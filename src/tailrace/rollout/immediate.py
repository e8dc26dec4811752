"""The blocking ways, in the shape of the awaited ones: a coroutine on them never suspends, it blocks instead.

So the rules are written once. ``finish`` performs one of them in the calling thread or greenlet, without a loop.
"""

from collections.abc import Coroutine
from typing import Any, Self, TypeVar

from typing_extensions import override

from tailrace import broadcast, subscription, topic
from tailrace.records import Closed, DurableStreamRecord, TopicCursor
from tailrace.rollout.ways import Kept, KeptTopic, Live, LiveTopic

T = TypeVar("T")


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Perform a coroutine that waits for nothing but what is made here. Blocks; raises what it raises."""
    try:
        work.send(None)
    except StopIteration as end:
        answer: T = end.value
        return answer
    raise AssertionError("it is suspended, and nobody will resume it")


class ImmediateLive(Live):
    """A blocking subscription to the channel."""

    def __init__(self, inner: broadcast.Subscription) -> None:
        self._inner = inner

    @property
    @override
    def dropped(self) -> int:
        return self._inner.dropped

    @override
    async def __aenter__(self) -> Self:
        self._inner.__enter__()
        return self

    @override
    async def receive(self, timeout: float = 0.1) -> bytes | Closed | None:
        return self._inner.receive(timeout)

    @override
    def close(self) -> None:
        self._inner.close()


class ImmediateKept(Kept):
    """A blocking subscription to the stream."""

    def __init__(self, inner: subscription.Subscription) -> None:
        self._inner = inner

    @property
    @override
    def cursor(self) -> TopicCursor:
        return self._inner.cursor

    @override
    async def __aenter__(self) -> Self:
        self._inner.__enter__()
        return self

    @override
    async def receive(self, timeout: float = 0.1) -> DurableStreamRecord | Closed | None:
        return self._inner.receive(timeout)

    @override
    def close(self) -> None:
        self._inner.close()


class ImmediateLiveTopic(LiveTopic):
    """A blocking topic of the channel."""

    def __init__(self, inner: broadcast.Topic) -> None:
        self._inner = inner

    @override
    async def publish(self, payload: bytes) -> None:
        self._inner.publish(payload)

    @override
    async def subscribe(self) -> ImmediateLive:
        return ImmediateLive(self._inner.subscribe())

    @override
    async def prepare(self) -> ImmediateLive:
        return ImmediateLive(self._inner.prepare())


class ImmediateKeptTopic(KeptTopic):
    """A blocking topic of the store."""

    def __init__(self, inner: topic.Topic) -> None:
        self._inner = inner

    @override
    async def append(self, payload: bytes) -> None:
        self._inner.append(payload)

    @override
    async def checkpoint(self) -> TopicCursor:
        return self._inner.checkpoint()

    @override
    async def subscribe_from_cursor(self, cursor: TopicCursor, /) -> ImmediateKept:
        return ImmediateKept(self._inner.subscribe_from_cursor(cursor))

    @override
    async def subscribe_from_tail(self) -> ImmediateKept:
        return ImmediateKept(self._inner.subscribe_from_tail())
