"""Which nodes a cluster has, where they are, and which of them serves a slot: asked for, remembered, doubted.

Looked at again after a redirection or a failure, at most once a second, by one thread; the others go on with what is
known, and are redirected if need be.
"""

import random
import time
from collections.abc import Iterator, Sequence

from tailrace import native
from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.location import Location
from tailrace.backends.redis.nodes import Question, SingleNode, Trouble
from tailrace.backends.redis.reaching import Reach
from tailrace.backends.redis.slots import ASK_SLOTS, SLOTS, Address, Remap, owners
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.forks import renew_in_child

EVERY = 1.0
"""Seconds between two looks."""

PATIENCE = 2.0
"""Seconds that one node has to say what it knows, before another is asked."""


class Atlas:
    """The map of a cluster. Thread-safe; the child of a fork keeps the map, and not the connections.

    Args:
        template: How to connect to a node, wherever it is.
        seeds: Where to look for the first one.
        remap: From what nodes call themselves to where they are.
    """

    def __init__(self, template: Location, seeds: Sequence[Address], remap: Remap | None = None) -> None:
        self._template = template
        self._seeds = tuple(seeds)
        self.remap = remap
        self.name = f"Redis Cluster at {', '.join(f'{host}:{port}' for host, port in self._seeds)}"
        self._owners: list[Address | None] = [None] * SLOTS
        self._primaries: tuple[Address, ...] = ()
        self._nodes: dict[Address, SingleNode] = {}
        self._stale = True
        self._looked = float("-inf")
        self._closed = False
        self.after_fork()
        renew_in_child(self)

    def after_fork(self) -> None:
        """Let no lock be held. Nodes see to themselves."""
        # Nobody ever waits for the first one, and nobody does I/O with the second.
        self._looking = native.lock()
        self._making = native.lock()

    def owner(self, slot: int) -> Address | None:
        """Return who serves a slot, as far as is known."""
        return self._owners[slot]

    def primaries(self) -> tuple[Address, ...]:
        """Return all nodes that serve slots, in a fixed order."""
        return self._primaries

    def any(self) -> Address | None:
        """Return one of them."""
        return random.choice(self._primaries) if self._primaries else None

    def node(self, address: Address) -> SingleNode:
        """Return the node there, with its connections."""
        node = self._nodes.get(address)
        if node is not None:
            return node
        with self._making:
            node = self._nodes.get(address)
            if node is None:
                place = self._template.at(address)
                node = self._nodes[address] = SingleNode(place.name, Reach(place).dial)
                if self._closed:
                    node.close()
            return node

    def dial_any(self, deadline: float) -> Wire:
        """Open a connection to any node.

        Raises:
            DurableStreamUnavailableError: None of them can be reached.
        """
        trouble: DurableStreamUnavailableError | None = None
        for address in self._places():
            try:
                return self.node(address).dial(max(0.001, min(PATIENCE, deadline - time.monotonic())))
            except DurableStreamUnavailableError as exc:
                trouble = exc
            if time.monotonic() >= deadline:
                break
        raise trouble or DurableStreamUnavailableError(f"{self.name} has no nodes")

    def moved(self, slot: int, address: Address) -> None:
        """Note what one node has said of one slot. More will have moved."""
        self._owners[slot] = address
        self._stale = True

    def doubt(self) -> None:
        """Note that something may have changed."""
        self._stale = True

    def refresh_if_stale(self, deadline: float) -> None:
        """Look again if need be. Never raises; without an answer, what was known holds."""
        if not self._stale or time.monotonic() - self._looked < EVERY or not self._looking.acquire(blocking=False):
            return
        try:
            if time.monotonic() - self._looked >= EVERY:
                self._look(deadline)
        except DurableStreamUnavailableError:
            return
        finally:
            self._looking.release()

    def refresh(self, deadline: float) -> None:
        """Look now.

        Raises:
            StoreUnusableError: This is no cluster, or it does not want us.
            DurableStreamUnavailableError: No node answered.
        """
        self._look(deadline)

    def close(self) -> None:
        """Close all connections. Idempotent, never raises."""
        with self._making:
            self._closed = True
            nodes = tuple(self._nodes.values())
        for node in nodes:
            node.close()

    def _look(self, deadline: float) -> None:
        # Before, not after: what changes while we look is looked at again.
        self._stale = False
        trouble: DurableStreamUnavailableError | None = None
        try:
            for address in self._places():
                left = min(PATIENCE, deadline - time.monotonic())
                if left <= 0:
                    break
                try:
                    self._learn(self._ask(address, left), address)
                except DurableStreamUnavailableError as exc:
                    # The one that keeps us out says more than those that are away.
                    trouble = exc if trouble is None or isinstance(exc, StoreUnusableError) else trouble
                else:
                    return
        finally:
            self._looked = time.monotonic()
        self._stale = True
        raise trouble or DurableStreamUnavailableError(f"{self.name} did not answer in time")

    def _ask(self, address: Address, timeout: float) -> Sequence[object]:
        node = self.node(address)
        answer = node.ask_one(Question(b"", ASK_SLOTS, 1), timeout)
        if isinstance(answer, Trouble):
            raise answer.error
        (reply,) = answer
        if isinstance(reply, Exception):
            if "cluster support disabled" in str(reply):
                raise StoreUnusableError(f"{node.name} is not part of a cluster: connect with redis://")
            raise explain(reply, node.name) from reply
        if not reply:
            raise DurableStreamUnavailableError(f"{node.name} knows nobody who serves a slot")
        found: Sequence[object] = reply
        return found

    def _learn(self, reply: Sequence[object], asked: Address) -> None:
        self._owners = owners(reply, asked, self.remap)
        self._primaries = tuple(sorted({owner for owner in self._owners if owner is not None}))
        for address in set(self._nodes).difference(self._primaries, self._seeds):
            # Conversations on its connections are still ended; no new one begins.
            self._nodes.pop(address).connections.retire()

    def _places(self) -> Iterator[Address]:
        # Not always the same one first: it may be cut off from the others without knowing.
        known = list(self._primaries)
        random.shuffle(known)
        yield from known
        yield from (seed for seed in self._seeds if seed not in known)
