"""The blocking client in a process that gevent has patched: the threads of the cases are greenlets there.

It is performed in a process of its own, because a patch can not be undone: ``python -m gevent.monkey --module pytest``.
"""

import importlib
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tailrace import native, spi
from tailrace.options import EngineOptions
from tailrace.testing.calls import PATIENCE, Call, Cancelled
from tailrace.testing.drivers import Client, Driver, SyncDriver

T = TypeVar("T")


class GreenletCall(Generic[T]):
    """Runs in a greenlet, which can be killed wherever it waits."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._values: list[T] = []
        self._error: BaseException | None = None
        # Imported by name: gevent is nobody's dependency.
        self._greenlet: Any = importlib.import_module("gevent").spawn(self._run)

    def cancel(self) -> None:
        self._greenlet.kill(Cancelled, block=False)

    def result(self) -> T:
        self._greenlet.join(PATIENCE)
        assert self._greenlet.dead, f"still running after {PATIENCE} s"
        if not self._values:
            # Without an error it was killed before it began.
            raise self._error or Cancelled
        return self._values[0]

    def _run(self) -> None:
        try:
            self._values.append(self._call())
        except BaseException as error:  # noqa: BLE001 - handed to whoever asks for the result
            self._error = error


class GeventDriver(Driver):
    """The blocking client, known to run among greenlets."""

    name = "gevent"
    callers_send = True

    def connect(self, backend: spi.Backend, options: EngineOptions) -> Client:
        assert native.patched(), "patch first: gevent.monkey.patch_all()"
        return SyncDriver().connect(backend, options)

    def start(self, call: Callable[[], T]) -> Call[T]:
        return GreenletCall(call)
