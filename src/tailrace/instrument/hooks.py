"""How events reach the application: a hook is anything that can be called with one."""

import logging
from collections.abc import Iterable
from typing import Protocol

from tailrace.errors import InvalidTypeError
from tailrace.instrument.events import Event

_log = logging.getLogger("tailrace.hooks")


class Hook(Protocol):
    """Called with every event, from whichever thread it happens in; must be thread-safe and quick."""

    def __call__(self, event: Event, /) -> None:
        """Take one event. What it raises is logged and goes no further."""
        ...


class Hooks:
    """The hooks of one client. False when there are none, so that nobody makes an event for nobody."""

    __slots__ = ("_hooks",)

    def __init__(self, hooks: Iterable[Hook] = ()) -> None:
        if not isinstance(hooks, Iterable):
            raise InvalidTypeError("hooks must be an iterable of callables: for one hook write [hook]")
        self._hooks = tuple(hooks)
        if not all(map(callable, self._hooks)):
            raise InvalidTypeError("every hook must be callable")

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def emit(self, event: Event) -> None:
        """Call every hook. Never raises."""
        for hook in self._hooks:
            try:
                hook(event)
            except Exception:  # noqa: BLE001 - an observer must not break what it observes
                _log.exception("a hook failed on %s", type(event).__name__)
