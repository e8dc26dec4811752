"""Performs a plan: one simulated thread per actor, each calling nothing but the public API."""

from collections.abc import Callable
from typing import Any

from tests.simulation.history import History, Subscribed
from tests.simulation.plan import Actor, Plan
from tests.simulation.store import SimulatedStore
from tests.simulation.world import Task, World

from tailrace import CLOSED, Subscription
from tailrace.client import StreamClient
from tailrace.engine import Engine
from tailrace.spi import Entry

SETTLE = {"exact": 5.0, "late": 6.0, "unsure": 7.0, "lost": 25.0}
"""Virtual seconds after the last operation, by what hints do: more than two fallback reads where they are needed."""

STAY_TIMEOUT = 13.0
"""Of the receives of those who stay: longer than a fallback read."""


class Cast:
    """All actors of one plan, and what they share."""

    def __init__(self, plan: Plan, world: World, history: History, store: SimulatedStore, client: StreamClient) -> None:
        self.plan = plan
        self.world = world
        self.history = history
        self.store = store
        self.client = client
        self.current: dict[str, tuple[Subscription, Subscribed]] = {}
        self.cursors: dict[str, list[tuple[Any, Any]]] = {topic: [] for topic in plan.topics}
        self.backup: Any = None
        self.scripted: list[Task] = []
        self.staying: list[Task] = []

    def start(self) -> None:
        """Start everybody, and who waits for them."""
        for actor in self.plan.actors:
            self.scripted.append(self.world.spawn(actor.name, self._body(actor)))
        self.world.spawn("the end", self._end)

    def _body(self, actor: Actor) -> Callable[[], None]:
        def perform() -> None:
            for number, op in enumerate(actor.ops):
                self.world.sleep(op.delay)
                getattr(self, "_" + op.kind.replace(" ", "_"))(actor, f"{actor.name}.{number}", *op.args)
            if actor.name in self.current:
                self.staying.append(self.world.spawn(f"{actor.name} stays", lambda: self._stay(actor.name)))

        return perform

    def _end(self) -> None:
        for task in self.scripted:
            self.world.join(task)
        for what in ("reads", "appends", "watch"):
            self.store.recover(what)
        self.store.append_faults.clear()
        delivered = -1
        while delivered != (delivered := self._delivered()):
            # A slow reader of a slow store is still on its way.
            self.world.sleep(SETTLE[self.plan.hints])
        self.history.settled = self.world.tick(), self.world.now
        self._close()
        for task in self.staying:
            self.world.join(task)

    def _delivered(self) -> int:
        return sum(isinstance(call.result, bytes) for call in self.history.calls)

    # Writers

    def _append(self, actor: Actor, name: str, topic: str) -> None:
        payloads = (name.encode(),)
        with self.history.call("append", topic, payloads):
            self.client.topic(topic).append(payloads[0])

    def _append_many(self, actor: Actor, name: str, topic: str, count: int) -> None:
        payloads = tuple(f"{name}.{n}".encode() for n in range(count))
        with self.history.call("append", topic, payloads):
            self.client.topic(topic).append_many(payloads)

    def _append_interrupted(self, actor: Actor, name: str, topic: str, after: int) -> None:
        self.history.trouble("interrupt", self.plan.engine.append_timeout)
        payloads = (name.encode(),)
        with self.history.call("append", topic, payloads):
            self.world.interrupt_after(after)
            try:
                self.client.topic(topic).append(payloads[0])
            finally:
                self.world.interrupt_after(0)

    def _submit(self, actor: Actor, name: str, topic: str) -> None:
        """Append as the facade for event loops does: a callback instead of a wait."""
        payloads = (name.encode(),)
        task = self.world.current
        settled = False

        def settle() -> None:
            nonlocal settled
            settled = True
            self.world.wake(task)

        with self.history.call("append", topic, payloads):
            submission = self._engine.writing.submit(topic, payloads, settle)
            if not settled:
                self.world.block(self.plan.engine.append_timeout)
            if not settled:
                submission.expire()
            while not settled:
                self.world.block()
            submission.result()

    def _seal(self, actor: Actor, name: str, topic: str, error: str | None) -> None:
        with self.history.call("seal", topic, error):
            self.client.topic(topic).seal(error=error)

    # Readers

    def _subscribe_from_beginning(self, actor: Actor, name: str, topic: str, which: int) -> None:
        self._subscribe(actor, topic, "beginning", None, self.client.topic(topic).subscribe_from_beginning)

    def _subscribe_from_tail(self, actor: Actor, name: str, topic: str, which: int) -> None:
        self._subscribe(actor, topic, "tail", None, self.client.topic(topic).subscribe_from_tail)

    def _subscribe_from_cursor(self, actor: Actor, name: str, topic: str, which: int) -> None:
        known = self.cursors[topic]
        if known:
            cursor, source = known[which % len(known)]
            self._subscribe(
                actor, topic, "cursor", source, lambda: self.client.topic(topic).subscribe_from_cursor(cursor)
            )
        else:
            self._subscribe_from_beginning(actor, name, topic, which)

    def _subscribe_from_checkpoint(self, actor: Actor, name: str, topic: str, which: int) -> None:
        with self.history.call("checkpoint", topic) as call:
            cursor = self.client.topic(topic).checkpoint()
        if call.error is None:
            self.cursors[topic].append((cursor, call))
            self._subscribe(
                actor, topic, "cursor", call, lambda: self.client.topic(topic).subscribe_from_cursor(cursor)
            )

    def _subscribe(
        self, actor: Actor, topic: str, how: str, source: Any, subscribe: Callable[[], Subscription]
    ) -> None:
        if actor.name in self.current:
            self._close_subscription(actor.name)
        subscription = None
        with self.history.call(f"subscribe from {how}", topic) as call:
            subscription = subscribe()
        subscribed = Subscribed(actor.name, topic, how, source, call)
        self.history.subscriptions.append(subscribed)
        if subscription is not None:
            self.current[actor.name] = subscription, subscribed

    def _enter(self, actor: Actor, name: str) -> None:
        if actor.name not in self.current:
            return
        subscription, subscribed = self.current[actor.name]
        if subscribed.entered is not None:
            with self.history.call("enter again", subscribed.topic) as call:
                subscription.__enter__()
            return
        with self.history.call("enter", subscribed.topic) as call:
            subscribed.entered = call
            subscription.__enter__()
        if call.error is not None:
            self._receive_once(subscription, subscribed, 0.0)
            self.current.pop(actor.name, None)

    def _receive(self, actor: Actor, name: str, count: int, timeout: float) -> None:
        for _ in range(count):
            if actor.name not in self.current:
                return
            subscription, subscribed = self.current[actor.name]
            call = self._receive_once(subscription, subscribed, timeout)
            if call.error is not None or call.result is CLOSED:
                self._receive_once(subscription, subscribed, timeout)
                subscribed.end = subscription.end
                self.current.pop(actor.name, None)

    def _receive_once(self, subscription: Subscription, subscribed: Subscribed, timeout: float) -> Any:
        with self.history.call("receive", subscribed.topic, timeout) as call:
            subscribed.receives.append(call)
            call.result = subscription.receive(timeout)
        if call.result is not None and call.result is not CLOSED:
            record = call.result
            call.result = record.payload
            self.cursors[subscribed.topic].append((record.cursor, record.payload))
        held = int(repr(subscription).rpartition(", ")[2].split()[0])
        subscribed.held = max(subscribed.held, held)
        return call

    def _pull_abandoned(self, actor: Actor, name: str) -> None:
        """A caller for whom a worker pulls is cancelled, and asks again while the worker still reads."""
        if actor.name in self.current:
            subscription, subscribed = self.current[actor.name]
            if subscribed.entered is not None:
                self.world.spawn(f"{name} pull", subscription._reader.pull)

    def _keep_cursor(self, actor: Actor, name: str) -> None:
        if actor.name in self.current:
            subscription, subscribed = self.current[actor.name]
            self.cursors[subscribed.topic].append((subscription.cursor, (subscribed, len(subscribed.receives))))

    def _close(self, actor: Actor | None = None, name: str = "") -> None:
        if actor is not None:
            self._close_subscription(actor.name)
            return
        with self.history.call("close client") as call:
            if self.history.closing is None:
                self.history.closing = call
            self.client.close()

    def _close_subscription(self, name: str) -> None:
        if name in self.current:
            subscription, subscribed = self.current.pop(name)
            with self.history.call("close", subscribed.topic) as call:
                subscribed.closes.append(call)
                subscription.close()
            self._receive_once(subscription, subscribed, 0.0)
            subscribed.end = subscription.end

    def _stay(self, name: str) -> None:
        """Receive until the end."""
        subscription, subscribed = self.current[name]
        if subscribed.entered is None:
            return
        subscribed.staying = True
        while True:
            call = self._receive_once(subscription, subscribed, STAY_TIMEOUT)
            if call.error is not None or call.result is CLOSED:
                break
        self._receive_once(subscription, subscribed, 0.0)
        subscribed.end = subscription.end

    # Operators and other processes

    def _peer_append(self, actor: Actor, name: str, topic: str, count: int) -> None:
        payloads = tuple(f"{name}.{n}".encode() for n in range(count))
        self.store.commit([Entry(topic, payloads)])

    def _trim(self, actor: Actor, name: str, topic: str, keep: int) -> None:
        self.store.trim(topic, keep)

    def _delete(self, actor: Actor, name: str, topic: str) -> None:
        self.store.delete(topic)

    def _backup(self, actor: Actor, name: str) -> None:
        self.backup = self.store.backup()

    def _restore(self, actor: Actor, name: str) -> None:
        if self.backup is not None:
            self.store.restore(self.backup)

    def _close_reader(self, actor: Actor, name: str, number: int) -> None:
        entry = self.current.get(f"reader{number}")
        if entry is not None:
            subscription, subscribed = entry
            with self.history.call("close", subscribed.topic) as call:
                subscribed.closes.append(call)
                subscription.close()

    def _close_client(self, actor: Actor, name: str) -> None:
        self._close()

    # Trouble

    def _outage(self, actor: Actor, name: str, what: str, how: str, seconds: float) -> None:
        kinds = ("reads", "appends", "watch") if what == "everything" else (what,)
        for kind in kinds:
            self.history.trouble(kind, seconds)
            self.store.fail(kind, how)
        self.world.sleep(seconds)
        for kind in kinds:
            self.store.recover(kind)

    def _lock(self, actor: Actor, name: str, topic: str, seconds: float) -> None:
        self.history.trouble("appends", seconds)
        self.store.lock(topic, seconds)

    def _append_fault(self, actor: Actor, name: str, fault: str) -> None:
        self.store.append_faults.append(fault)

    def _watch_breaks(self, actor: Actor, name: str) -> None:
        self.history.trouble("watch")
        self.store.break_watch()

    def _read_interrupted(self, actor: Actor, name: str) -> None:
        self.store.interrupt_read = True

    def _anything_may_have_moved(self, actor: Actor, name: str) -> None:
        self.store.move_everything()

    @property
    def _engine(self) -> Engine:
        return self.client._engine
