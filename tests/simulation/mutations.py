"""Deliberate faults: each is an edit of the engine's source, and the simulation must notice every one of them."""

from tests.simulation.weaving import Edit

_ENGINE = "tailrace.engine"

MUTATIONS: dict[str, Edit] = {
    "a reader that is ahead of the pump is lost": Edit(
        f"{_ENGINE}.hub",
        "            if chunk.more or feed.joined >= read_in:\n                return False\n"
        "            rest = Elsewhere.LOST\n"
        "        if isinstance(rest, Elsewhere):\n            if feed.joined >= read_in:\n",
        "            rest = Elsewhere.LOST\n        if isinstance(rest, Elsewhere):\n            if False:\n",
    ),
    "what does not fit into the buffer is dropped": Edit(
        f"{_ENGINE}.feed",
        "            self.state = FeedState.BEHIND\n            return False\n",
        "            self.place = chunk.end\n            return False\n",
    ),
    "a full buffer takes more": Edit(f"{_ENGINE}.feed", "if not self.buffer.fits(chunk):", "if False:"),
    "close leaves the buffer": Edit(
        f"{_ENGINE}.feed",
        "        self.state = FeedState.ENDED\n        self.buffer.clear()\n",
        "        self.state = FeedState.ENDED\n",
    ),
    "close leaves what is ready": Edit(
        f"{_ENGINE}.reader",
        "            self.ready.clear()\n            dismissal = self._engine.dismiss(self)\n",
        "            dismissal = self._engine.dismiss(self)\n",
    ),
    "close wakes nobody": Edit(
        f"{_ENGINE}.reader",
        "        self._engine.farewell(self, dismissal)\n        self.feed.waiter.fire()\n",
        "        self._engine.farewell(self, dismissal)\n",
    ),
    "a refused entry is settled as stored": Edit(
        f"{_ENGINE}.appender",
        "                each.settle(outcome)\n",
        "                each.settle(outcome if isinstance(outcome, AppendUnknown) else outcomes[0])\n",
    ),
    "leadership is not handed on": Edit(
        f"{_ENGINE}.lane",
        "        self.leader = fitting[-1] if fitting else None\n",
        "        self.leader = None\n",
    ),
    "an interrupted leader hands nothing on": Edit(
        f"{_ENGINE}.appender",
        "            if lane is not None and lane.abandon(ticket):\n                self._hand_on(lane, ticket)\n",
        "            if lane is not None:\n                lane.abandon(ticket)\n",
    ),
    "an unknown append is sent once more": Edit(
        f"{_ENGINE}.appender",
        "            failed = AppendUnknown(exc) if exc.maybe_stored else AppendRefused(exc)\n",
        "            if exc.maybe_stored:\n"
        "                self._backend.append(entries, timeout)\n"
        "            failed = AppendUnknown(exc) if exc.maybe_stored else AppendRefused(exc)\n",
    ),
    "a lost reply is told as refused": Edit(
        f"{_ENGINE}.appender", "AppendUnknown(exc) if exc.maybe_stored else AppendRefused(exc)", "AppendRefused(exc)"
    ),
    "a ticket whose time is over stays in the queue": Edit(
        f"{_ENGINE}.lane", "            self.queue.remove(ticket)\n        message", "            pass\n        message"
    ),
    "a page that says more is not followed by another": Edit(
        f"{_ENGINE}.hub", "        if chunk.more:\n            self._dirty[channel] = None\n", ""
    ),
    "a pull that was overtaken is accepted": Edit(
        f"{_ENGINE}.reader",
        " or feed.place is not chunk.start or feed.ending is not None:",
        " or feed.ending is not None:",
    ),
    "an outage is never over": Edit(
        f"{_ENGINE}.backoff",
        "            self.since, self._attempts, self.retry_at = None, 0, 0.0\n",
        "            pass\n",
    ),
    "an outage is never too long": Edit(
        f"{_ENGINE}.backoff", "        if now - self.since >= self._budget:\n            return False\n", ""
    ),
    "the end comes before what is buffered": Edit(
        f"{_ENGINE}.reader",
        "            if not self.ready and feed.buffer.records:\n                # Moved",
        "            if not self.ready and feed.buffer.records and feed.ending is None:\n                # Moved",
    ),
    "a seal is taken for the end with more to read": Edit(
        f"{_ENGINE}.feed", "if chunk.seal is not None and not chunk.more and", "if chunk.seal is not None and"
    ),
    "a lost place is told to readers who stand elsewhere": Edit(
        f"{_ENGINE}.hub", "            if feed.place != channel.place:\n", "            if False:\n"
    ),
    "the pump sleeps through a change": Edit(
        f"{_ENGINE}.pump", "            self._idle = not plan\n", "            self._idle = False\n"
    ),
    "a wake-up before the sleep is lost": Edit(
        f"{_ENGINE}.waiter",
        "            if self.generation == generation:\n                latch.wait(timeout)\n",
        "            latch.wait(timeout)\n",
    ),
    "a new watch follows nothing": Edit(
        f"{_ENGINE}.hub",
        "        self._followed, self._touched = set(), set(self._by_topic)\n",
        "",
    ),
    "an interruption leaves the queue torn": Edit(
        f"{_ENGINE}.lane",
        "if each not in gone and each.lane is self)",
        "if each.sent or each not in gone)",
    ),
    "what went on aside stays in the queue as well": Edit(
        f"{_ENGINE}.appender", "            lane.queue = deque(staying)\n", "            lane.queue.extend(staying)\n"
    ),
    "nobody is called to lead aside": Edit(f"{_ENGINE}.appender", "        _call(called)\n", ""),
    "a topic that is locked delays the others": Edit(
        f"{_ENGINE}.writing",
        "        return Entry(topic, payloads, may_wait=False)\n",
        "        return Entry(topic, payloads)\n",
    ),
    "the end of a pull wakes nobody": Edit(
        f"{_ENGINE}.reader",
        "        self._pulled(pull)\n        self.feed.waiter.fire()\n",
        "        self._pulled(pull)\n",
    ),
}
"""By what is wrong with it."""
