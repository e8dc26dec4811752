"""The rules of reading: order, no loss, no repeat, exact gaps, ends, closes, bounds, and nobody is forgotten."""

from collections.abc import Iterator, Sequence

from tests.simulation.history import Call, History, Subscribed
from tests.simulation.plan import Plan
from tests.simulation.truth import BeforeBirth, Node, Spot, Version
from tests.simulation.watch import LATEST

from tailrace import CLOSED
from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError

GRACE = 1.5
"""Virtual seconds for the store's latency, for a retry after an outage, and for threads that were not run."""

RETRY = 1.3
"""Virtual seconds between two tries of a reader whose store is away: outages closer than that may look like one."""


def check_readers(plan: Plan, history: History) -> Iterator[str]:
    """Yield one sentence per violation."""
    for subscribed in history.subscriptions:
        for what in _Reader(plan, history, subscribed).check():
            yield f"reader: {what} [{subscribed.actor} of {subscribed.topic!r}, {subscribed.opened}]"


class _Reader:
    """Follows one subscription from place to place.

    While it has not been given a record, its place may be any of several: where the topic began or ended at some
    moment of the call that fixed it.
    """

    def __init__(self, plan: Plan, history: History, subscribed: Subscribed) -> None:
        self.plan = plan
        self.history = history
        self.truth = history.truth
        self.it = subscribed
        self.spots = self._start(subscribed)
        self.over: Call | None = None

    def check(self) -> Iterator[str]:
        opened, entered = self.it.opened, self.it.entered
        if self.it.how == "cursor":
            yield from self._began(opened)
        elif isinstance(opened.error, CursorUnavailableError):
            yield f"a start that needs no place was refused: {opened}"
        elif opened.error is not None and not self._excused(opened):
            yield f"refused without a cause: {opened}"
        if opened.error is not None:
            return
        if entered is not None:
            yield from self._began(entered)
            if entered.error is not None:
                self.over = entered
        for call in self.it.receives:
            if call.ended:
                yield from (f"{what}: {call}" for what in self._receive(call))
        yield from self._closes()
        bound = self.plan.engine.buffer_records + self.plan.engine.page_records
        if self.it.held > bound:
            yield f"it held {self.it.held} records, and {bound} is the bound"
        yield from self._settled()

    def _start(self, it: Subscribed) -> list[Spot]:
        source = it.source
        if it.how == "cursor" and isinstance(source, bytes):
            return list(self.truth.by_payload[source])
        if it.how == "cursor" and isinstance(source, tuple):
            other, count = source
            given = [call.result for call in other.receives[:count] if isinstance(call.result, bytes)]
            return list(self.truth.by_payload[given[-1]]) if given else self._start(other)
        call = source if isinstance(source, Call) else it.opened
        versions = self.truth.during(it.topic, call.began, call.ended)
        return list(dict.fromkeys(v.start if it.how == "beginning" else v.tail for v in versions))

    def _began(self, call: Call) -> Iterator[str]:
        """A place was resolved, or found to be gone."""
        versions = self.truth.during(self.it.topic, call.began, call.ended)
        if call.error is None:
            if not any(version.holds(spot) for version in versions for spot in self.spots):
                yield f"a place that is gone was accepted: {call}"
        elif isinstance(call.error, CursorUnavailableError):
            if all(version.holds(spot) for version in versions for spot in self.spots):
                yield f"a place that holds was refused: {call}"
        elif isinstance(call.error, DurableStreamUnavailableError):
            if not self._excused(call) and not any(close.began < call.ended for close in self.it.closes):
                yield f"refused without a cause: {call}"
        else:
            yield f"it raised what is not documented: {call}"

    def _receive(self, call: Call) -> Iterator[str]:
        closed = self._closed_by(call.began, ended=True)
        if self.it.entered is None or self.it.entered.began > call.began:
            if not isinstance(call.error, DurableStreamUnavailableError) and call.result is not CLOSED:
                yield "received from a subscription that was not entered"
            return
        if self.over is not None or closed:
            self.over = self.over or call
            if call.result is not CLOSED or call.error is not None:
                yield "it had ended or was closed before, and this is not CLOSED"
            return
        if isinstance(call.error, CursorUnavailableError):
            self.over = call
            if not any(not version.holds(spot) for spot in self.spots for version in self._since(spot, call)):
                yield "told a loss, and nothing was lost"
        elif isinstance(call.error, DurableStreamUnavailableError):
            self.over = call
            if not self._outage_justifies(call):
                yield "gave up without an outage longer than the budget"
        elif call.error is not None:
            self.over = call
            yield "it raised what is not documented"
        elif call.result is CLOSED:
            self.over = call
            if not self._closed_by(call.ended, ended=False) and not self._drained(call):
                yield "CLOSED, and neither was it closed nor is the topic sealed and read to its end"
            yield from self._end(call)
        elif call.result is None:
            yield from self._nothing(call)
        else:
            yield from self._record(call)
        yield from self._in_time(call)

    def _record(self, call: Call) -> Iterator[str]:
        nodes = self.truth.by_payload.get(call.result, [])
        if not nodes or nodes[0].sequence > call.ended:
            yield "a record that nobody appended"
            return
        node = nodes[0]
        if not any(self._follows(node, spot, call) for spot in self.spots):
            yield f"it does not follow its place {self.spots}, but {node.parent}: a gap, a repeat, or another order"
        self.spots = [node]

    def _follows(self, node: Node, spot: Spot, call: Call) -> bool:
        if isinstance(spot, Node):
            return node.parent is spot
        if node.parent is None or node.parent.payload is not None:
            return False
        return any(
            version.holds(spot) and version.tip is not None and version.tip.life == node.life
            for version in self.truth.during(self.it.topic, self.it.opened.began, call.ended)
        )

    def _nothing(self, call: Call) -> Iterator[str]:
        """It returned None: was there anything to tell, and for too long?"""
        engine = self.plan.engine
        polls = {"exact": 0.0, "late": LATEST, "unsure": engine.poll_unsure, "lost": engine.poll_healthy}
        patience = polls[self.plan.hints] + GRACE
        begin = call.ended_at - patience
        if call.began_at <= begin and not self._troubled(begin - GRACE, call.ended_at, "reads", "watch", "pump"):
            versions = self.truth.between(self.it.topic, begin, call.ended_at)
            if all(version.news(spot) for version in versions for spot in self.spots):
                yield f"left waiting for {patience:g} s with something to be told"
        budget = engine.outage_budget
        # Without a budget nobody hurries to look: it is told when it is noticed.
        poll = min(engine.poll_healthy, max(budget / 3, 0.05)) if budget else engine.poll_healthy
        patience = budget + poll + GRACE
        for trouble in self.history.troubles:
            lasts = trouble.kind == "reads" and trouble.ended_at >= call.ended_at
            if lasts and call.ended_at - max(trouble.began_at, call.began_at) > patience:
                yield "the outage is longer than the budget, and it was not told"

    def _in_time(self, call: Call) -> Iterator[str]:
        timeout = call.args[0]
        took = call.ended_at - call.began_at
        if took > timeout + GRACE:
            yield f"it took {took:g} s"
        if call.result is None and call.error is None and took < timeout - 0.001:
            yield f"it returned None after {took:g} s"
        for close in self.it.closes:
            if close.ended and call.began < close.ended < call.ended and call.ended_at - close.ended_at > 0.6:
                yield "a close did not unblock it"

    def _closes(self) -> Iterator[str]:
        for close in self.it.closes:
            if close.error is not None:
                yield f"close raised: {close}"
            elif close.ended and close.ended_at - close.began_at > 0.3:
                yield f"close took too long: {close}"

    def _end(self, call: Call) -> Iterator[str]:
        end = self.it.end
        if end is None:
            return
        errors = {version.seal_error for version in self._drained(call)}
        fits = (end.kind == "closed" and self._closed_by(call.ended, ended=False)) or (
            (end.kind == "sealed" and None in errors) or (end.kind == "failed" and end.error in errors - {None})
        )
        if not fits:
            yield f"its end says {end}"

    def _settled(self) -> Iterator[str]:
        """After everything came to rest: whoever still waits has been told everything."""
        settled = self.history.settled
        if settled is None or not self.it.staying:
            return
        if self.over is not None and self.over.ended < settled[0]:
            return
        if self.it.closes or self._closed_by(settled[0], ended=False):
            return
        [version] = self.truth.during(self.it.topic, *[settled[0]] * 2)
        if all(version.news(spot) for spot in self.spots):
            yield f"it still waits at {self.spots}, and the topic stands at {version}"

    def _since(self, spot: Spot, call: Call) -> Sequence[Version]:
        versions = self.truth.during(self.it.topic, self.it.opened.began, call.ended)
        if isinstance(spot, BeforeBirth):
            return versions
        return [version for version in versions if version.sequence > spot.sequence]

    def _drained(self, call: Call) -> Sequence[Version]:
        versions = self.truth.during(self.it.topic, self.it.opened.began, call.ended)
        return [
            version
            for version in versions
            if version.sealed and any(version.holds(spot) and version.at_tail(spot) for spot in self.spots)
        ]

    def _closed_by(self, moment: int, *, ended: bool) -> bool:
        closes = [*self.it.closes, *([self.history.closing] if self.history.closing is not None else [])]
        return any((0 < close.ended < moment) if ended else close.began < moment for close in closes)

    def _outage_justifies(self, call: Call) -> bool:
        if any(trouble.kind == "pump" for trouble in self.history.troubles):
            return True
        budget = self.plan.engine.outage_budget
        began = ended = -1e9
        for trouble in self.history.troubles:
            if trouble.kind != "reads":
                continue
            began = trouble.began_at if trouble.began_at - ended > RETRY else began
            ended = max(ended, trouble.ended_at)
            overlaps = ended + 0.001 >= self.it.opened.began_at and began <= call.ended_at - budget + 0.001
            if overlaps and ended - began >= budget - 0.001:
                return True
        return False

    def _excused(self, call: Call) -> bool:
        closing = self.history.closing
        closed = closing is not None and closing.began < call.ended
        return closed or self._troubled(call.began_at, call.ended_at, "reads")

    def _troubled(self, began_at: float, ended_at: float, *kinds: str) -> bool:
        return any(
            trouble.kind in kinds and trouble.began_at <= ended_at and trouble.ended_at >= began_at
            for trouble in self.history.troubles
        )
