"""The two colours have the same names, parameters and meanings; no logic lives twice."""

import inspect

import pytest

import tailrace
from tailrace import aio

# What only one colour has, and why.
ONLY_BLOCKING = {
    "StreamClient": {"maintenance"},  # operations on a store are for scripts and the command line
    "Topic": {"append_in"},  # it belongs to a transaction, whose statements block as well
    "Producer": {"append_in"},
    "Subscription": set(),
}
ONLY_AWAITED: dict[str, set[str]] = {}
RENAMED = {"__enter__": "__aenter__", "__exit__": "__aexit__"}

CLASSES = ["StreamClient", "Topic", "Producer", "Subscription"]


def members(cls: type) -> dict[str, object]:
    found: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("tailrace"):
            found |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
            found |= {name: value for name, value in vars(base).items() if name in RENAMED or name in RENAMED.values()}
    return found


def pairs() -> list[tuple[str, str, object, object]]:
    found = []
    for cls in CLASSES:
        blocking, awaited = members(getattr(tailrace, cls)), members(getattr(aio, cls))
        for name, value in blocking.items():
            other = awaited.get(RENAMED.get(name, name))
            if other is not None:
                found.append((cls, name, value, other))
    return found


@pytest.mark.parametrize("cls", CLASSES)
def test_both_colours_have_the_same_names(cls: str) -> None:
    blocking = {RENAMED.get(name, name) for name in members(getattr(tailrace, cls))}
    awaited = set(members(getattr(aio, cls)))
    # The blocking classes name their Protocol's bases too; a Protocol adds nothing of its own.
    assert blocking - ONLY_BLOCKING.get(cls, set()) == awaited - ONLY_AWAITED.get(cls, set())


@pytest.mark.parametrize(("cls", "name", "blocking", "awaited"), pairs(), ids=lambda value: str(value)[:24])
def test_both_colours_have_the_same_parameters(cls: str, name: str, blocking: object, awaited: object) -> None:
    if isinstance(blocking, property):
        assert isinstance(awaited, property)
        return
    assert callable(blocking)
    assert callable(awaited)
    mine = [(p.name, p.kind, p.default) for p in inspect.signature(blocking).parameters.values()]
    theirs = [(p.name, p.kind, p.default) for p in inspect.signature(awaited).parameters.values()]
    assert mine == theirs, f"{cls}.{name}"


@pytest.mark.parametrize(("cls", "name", "blocking", "awaited"), pairs(), ids=lambda value: str(value)[:24])
def test_both_colours_say_the_same_in_their_first_line(cls: str, name: str, blocking: object, awaited: object) -> None:
    if name.startswith("__"):
        return
    mine, theirs = inspect.getdoc(blocking), inspect.getdoc(awaited)
    assert mine
    assert theirs
    neutral = {"block until": "wait until", "Blocks on the store": "Waits for the store"}
    first = mine.splitlines()[0]
    for blocked, waited in neutral.items():
        first = first.replace(blocked, waited)
    assert theirs.splitlines()[0].startswith(first.split(".")[0]), f"{cls}.{name}"


def test_connect_takes_the_same_options() -> None:
    blocking, awaited = inspect.signature(tailrace.connect), inspect.signature(aio.connect)
    assert [str(p) for p in blocking.parameters.values()] == [str(p) for p in awaited.parameters.values()]
