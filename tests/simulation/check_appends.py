"""The rules of writing: acknowledged = stored once, refused = not stored, seals are final, nobody waits too long."""

import itertools
from collections.abc import Iterator

from tests.simulation.history import Call, History
from tests.simulation.plan import Plan
from tests.simulation.truth import Node
from tests.simulation.world import InterruptedHere

from tailrace.errors import DurableStreamUnavailableError, TopicSealedError

GRACE = 1.0
"""Virtual seconds for the store's latency and for threads that were not run."""


def check_appends(plan: Plan, history: History) -> Iterator[str]:
    """Yield one sentence per violation."""
    for payload, nodes in history.truth.by_payload.items():
        if len(nodes) > 1:
            yield f"append: {payload!r} was stored {len(nodes)} times"
    for call in history.calls:
        if not call.ended:
            continue
        if call.kind == "append":
            yield from (f"append: {what}: {call}" for what in _append(plan, history, call))
        elif call.kind == "seal":
            yield from (f"seal: {what}: {call}" for what in _seal(history, call))
    yield from _appended_after_seal(history)


def _append(plan: Plan, history: History, call: Call) -> Iterator[str]:
    payloads: tuple[bytes, ...] = call.args[0]
    stored: list[Node] = [node for payload in payloads for node in history.truth.by_payload.get(payload, [])[:1]]
    error = call.error
    if stored and len(stored) != len(payloads):
        yield "part of it was stored"
    elif any(later.parent is not earlier for earlier, later in itertools.pairwise(stored)):
        yield "it was torn apart or turned around"
    if error is None:
        if not stored:
            yield "it was acknowledged and not stored"
        elif not call.began < stored[0].sequence < stored[-1].sequence + 1 <= call.ended:
            yield "it was acknowledged before it was stored"
    elif isinstance(error, TopicSealedError):
        if stored:
            yield "it was refused and stored"
        if not any(version.sealed for version in history.truth.during(call.topic, call.began, call.ended)):
            yield "it was refused for a seal that was not there"
    elif isinstance(error, DurableStreamUnavailableError):
        if stored and not error.maybe_stored:
            yield "it was refused and stored"
        closed = history.closing is not None and history.closing.began < call.ended
        if not closed and not _troubled(history, call, plan.engine.append_timeout, "appends", "interrupt"):
            yield "it failed without a cause"
    elif not isinstance(error, InterruptedHere):
        yield "it raised what is not documented"
    if call.ended_at - call.began_at > plan.engine.append_timeout + GRACE:
        yield "it took longer than append_timeout"


def _seal(history: History, call: Call) -> Iterator[str]:
    if call.error is None:
        if not any(version.sealed for version in history.truth.during(call.topic, call.began, call.ended)):
            yield "it returned and the topic is open"
    elif isinstance(call.error, DurableStreamUnavailableError):
        closed = history.closing is not None and history.closing.began < call.ended
        if not closed and not _troubled(history, call, GRACE, "appends"):
            yield "it failed without a cause"
    else:
        yield "it raised what is not documented"


def _troubled(history: History, call: Call, before: float, *kinds: str) -> bool:
    return any(
        trouble.kind in kinds
        and trouble.began_at <= call.ended_at
        and trouble.ended_at + before + GRACE >= call.began_at
        for trouble in history.troubles
    )


def _appended_after_seal(history: History) -> Iterator[str]:
    for topic, versions in history.truth.versions.items():
        for before, after in itertools.pairwise(versions):
            if (
                before.sealed
                and after.tip is not before.tip
                and after.tip is not None
                and after.tip.parent is before.tip
            ):
                yield f"seal: a record was added to topic {topic!r} after its seal: {after.tip}"
