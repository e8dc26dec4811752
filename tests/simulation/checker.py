"""Decides from a recorded history alone whether every rule of the contract held."""

from collections.abc import Iterator

from tests.simulation.check_appends import check_appends
from tests.simulation.check_readers import check_readers
from tests.simulation.history import History
from tests.simulation.plan import Plan

from tailrace.errors import DurableStreamUnavailableError


def check(plan: Plan, history: History) -> Iterator[str]:
    """Yield one sentence per violation."""
    world = history.world
    if world.stuck is not None:
        yield f"hang: {world.stuck}"
    for task in world.tasks:
        if task.failure is not None:
            yield f"escaped: {task.name} died of {task.failure!r}"
    yield from check_appends(plan, history)
    yield from check_readers(plan, history)
    for call in history.calls:
        if call.kind == "enter again" and not isinstance(call.error, DurableStreamUnavailableError):
            yield f"enter: a subscription was entered twice: {call}"
    closing = history.closing
    if closing is not None and closing.ended and closing.ended_at - closing.began_at > plan.engine.append_timeout + 1:
        yield f"close: the client took too long: {closing}"
