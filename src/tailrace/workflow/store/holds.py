"""Holds on the payloads of a namespace: while there is one, no object of it is deleted."""

from typing import NamedTuple

from tailrace.spi import Ask
from tailrace.workflow.store.clock import now

_HELD = "SELECT 1 FROM {workflow_holds} WHERE namespace = ? AND ends_at > {now} LIMIT 1"
_LIST = "SELECT name, placed_at, ends_at FROM {workflow_holds} WHERE namespace = ? AND ends_at > {now} ORDER BY name"
_ANEW = "UPDATE {workflow_holds} SET placed_at = ?, ends_at = ? WHERE namespace = ? AND name = ?"
_DROP = "DELETE FROM {workflow_holds} WHERE namespace = ? AND name = ?"
# What seems to be said twice is what the index is made for.
_DELETING = """
SELECT 1 FROM {workflow_payloads} WHERE namespace = ? AND attempt_until > 0 AND attempt_until > {now} LIMIT 1
"""
_NEW = {"namespace": bytes, "name": bytes, "placed_at": int, "ends_at": int}


class Hold(NamedTuple):
    """A hold; instants are microseconds since the epoch by the database's clock."""

    name: str
    placed_at: int
    ends_at: int


def held(ask: Ask, namespace: str) -> bool:
    """Whether there is a hold on a namespace now."""
    return bool(ask(_HELD, namespace.encode()))


def place(ask: Ask, namespace: str, name: str, lasting: int) -> tuple[Hold, list[str]]:
    """Place a hold, or have one of that name begin anew."""
    at = now(ask)
    hold = Hold(name, at, at + lasting)
    ask.add("workflow_holds", _NEW, [(namespace.encode(), name.encode(), hold.placed_at, hold.ends_at)], if_new=True)
    ask.do(_ANEW, hold.placed_at, hold.ends_at, namespace.encode(), name.encode())
    return hold, []


def lift(ask: Ask, namespace: str, name: str) -> tuple[None, list[str]]:
    """Remove a hold; nothing happens if there is none of that name."""
    ask.do(_DROP, namespace.encode(), name.encode())
    return None, []


def on(ask: Ask, namespace: str) -> list[Hold]:
    """Return the holds on a namespace, by name."""
    return [Hold(name.decode(), placed_at, ends_at) for name, placed_at, ends_at in ask(_LIST, namespace.encode())]


def deleting(ask: Ask, namespace: str) -> bool:
    """Whether somebody may be deleting an object of a namespace now."""
    return bool(ask(_DELETING, namespace.encode()))
