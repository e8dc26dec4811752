"""Being told of appends: a subscription for each followed topic, on the one connection that there is.

What is subscribed to is not the subject that appends go to, but the one on which the server repeats what it has stored:
so a hint never comes before what it hints at can be read.
"""

import functools
from collections.abc import Collection

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from typing_extensions import override

from tailrace.backends.nats.core import Core
from tailrace.backends.nats.errors import explain
from tailrace.backends.nats.link import Link
from tailrace.backends.nats.news import News
from tailrace.backends.nats.stored import from_headers
from tailrace.backends.vigil import Vigil
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.spi import Changes


class NatsWatch(Vigil):
    """One engine's view of what moved."""

    def __init__(self, core: Core, news: News) -> None:
        super().__init__()
        self._loop = core.loop
        self._session = core.session
        self._reading = core.reading
        self._names = core.ground.names
        self._patience = core.patience
        self._news = news
        # What an earlier watch has heard may be no longer so.
        news.clear()
        self._moved: set[str] = set()
        self._told_last: set[str] = set()
        self._broken: DurableStreamUnavailableError | None = None
        self._subscriptions: dict[str, Subscription] = {}
        try:
            self._link = self._loop.run(self._open, self._patience)
        except BaseException:
            self.close()
            raise

    @property
    @override
    def reliable(self) -> bool:
        # The connection is asked every few seconds whether it is still there.
        return self._broken is None and not self._closed

    @override
    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        with self._inside():
            self._check()
            self._news.forget(dropped)
            self._loop.run(lambda: self._change(added, dropped), self._patience)
            self._check()

    @override
    def wait(self, timeout: float) -> Changes:
        with self._inside():
            # Whoever was woken by the last one has read by now, or is late: what came along then is no look of his
            # moment.
            self._news.forget(self._told_last)
            if not self._moved:
                self._sleep(timeout)
            self._check()
            with self._state:
                self._told_last, self._moved = self._moved, set()
            return Changes(frozenset(self._told_last))

    async def _open(self) -> Link:
        link = await self._session.link()
        link.on_end(self._ended)
        # What an earlier connection told may be of a store that was restored since.
        self._reading.forget()
        return link

    async def _change(self, added: Collection[str], dropped: Collection[str]) -> None:
        self._reading.forget(dropped)
        try:
            for topic in dropped:
                subscription = self._subscriptions.pop(topic, None)
                if subscription is not None:
                    await subscription.unsubscribe()
            for topic in added:
                if topic not in self._subscriptions:
                    told = functools.partial(self._told, topic)
                    self._subscriptions[topic] = await self._link.listen(self._names.hint(topic), told)
            await self._link.settle()
        except Exception as exc:  # noqa: BLE001 - whatever the driver met, this connection tells no more
            self._ended(exc)

    def _told(self, topic: str, msg: Msg) -> None:
        if self._closed:
            # Nobody waits here any more, so nobody would hear that what is kept is no longer so.
            return
        try:
            message = from_headers(msg.headers or {}, msg.data, topic)
            self._reading.hinted(topic, message.sequence)
            self._news.note(topic, message)
        except (KeyError, ValueError, StoreUnusableError):
            # Not one of ours. It is a hint all the same.
            self._news.forget((topic,))
        self._alert(topic)

    def _ended(self, why: BaseException) -> None:
        self._broken = explain(why, self._session.name)
        self._alert(None)

    def _alert(self, topic: str | None) -> None:
        with self._state:
            if self._closed:
                return
            first = not self._moved
            if topic is not None:
                self._moved.add(topic)
            if first or topic is None:
                self._ring()

    def _check(self) -> None:
        broken = self._broken
        if broken is not None:
            raise type(broken)(str(broken)) from broken

    @override
    def _release(self) -> None:
        self._news.clear()
        link = getattr(self, "_link", None)
        if link is not None:
            self._loop.post(functools.partial(self._leave, link))

    def _leave(self, link: Link) -> None:
        link.off_end(self._ended)
        subscriptions, self._subscriptions = self._subscriptions, {}
        if subscriptions and link.lost is None:
            link.spawn(_unsubscribe(subscriptions))

    @override
    def _abandon(self) -> None:
        self._subscriptions.clear()


async def _unsubscribe(subscriptions: dict[str, Subscription]) -> None:
    for subscription in subscriptions.values():
        await subscription.unsubscribe()
