"""The two colours have the same names, parameters and meanings; no logic lives twice."""

import importlib
import inspect
from types import ModuleType

import pytest

import tailrace
import tailrace.broadcast.aio
import tailrace.rollout.aio
from tailrace import aio, broadcast, rollout

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


BESIDE = [
    (blocking, awaited, cls)
    for blocking, awaited, classes in [
        (broadcast, broadcast.aio, ["Channel", "Topic", "Producer", "Subscriber", "Subscription"]),
        (rollout, rollout.aio, ["Rollout", "Topic", "Producer", "Subscriber", "Subscription"]),
    ]
    for cls in classes
]


@pytest.mark.parametrize(("blocking", "awaited", "cls"), BESIDE, ids=lambda value: getattr(value, "__name__", value))
def test_live_delivery_and_the_way_from_it_have_the_same_names_and_parameters(
    blocking: ModuleType, awaited: ModuleType, cls: str
) -> None:
    # What the package calls a topic is a Protocol; the channel makes the class of that name.
    mine, theirs = members(_made(blocking, cls)), members(_made(awaited, cls))
    assert {RENAMED.get(name, name) for name in mine} == theirs.keys()
    for name, value in mine.items():
        other = theirs[RENAMED.get(name, name)]
        assert isinstance(other, property) == isinstance(value, property)
        if callable(value) and callable(other) and name not in RENAMED:
            signatures = [inspect.signature(one).parameters.values() for one in (value, other)]
            assert [(p.name, p.kind, p.default) for p in signatures[0]] == [
                (p.name, p.kind, p.default) for p in signatures[1]
            ]


def _made(module: ModuleType, cls: str) -> type:
    where = {"Channel": "channel", "Subscription": "subscription", "Rollout": "rollout"}.get(cls, "topic")
    found: type = getattr(importlib.import_module(f"{module.__name__}.{where}"), cls)
    return found
