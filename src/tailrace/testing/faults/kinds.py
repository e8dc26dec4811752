"""The ways in which one call to a store goes wrong. Each is given the call, and may perform it or not."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeGuard, TypeVar, cast

from tailrace import spi
from tailrace.errors import DurableStreamUnavailableError

T = TypeVar("T")


def away(*, maybe_stored: bool = False) -> DurableStreamUnavailableError:
    """Return what an adapter raises when its store does not answer."""
    return DurableStreamUnavailableError("the store is away (on purpose)", maybe_stored=maybe_stored)


class Fault(Protocol):
    """Stands between the engine and one call of the store."""

    def __call__(self, call: Callable[[], T]) -> T: ...


class Fail:
    """The call never reaches the store.

    Args:
        error: Raised each time; any exception, also one that is none of an adapter's business, such
            as ``KeyboardInterrupt``. Default: the store is away.
    """

    def __init__(self, error: BaseException | type[BaseException] | None = None) -> None:
        self._error = error

    def __call__(self, call: Callable[[], T]) -> T:
        raise away() if self._error is None else self._error


class LoseReply:
    """The store does what it is asked, and nobody hears of it.

    Args:
        error: Raised afterwards. Default: an append answers that every outcome is unknown, and any
            other call says that the store is away.
    """

    def __init__(self, error: BaseException | type[BaseException] | None = None) -> None:
        self._error = error

    def __call__(self, call: Callable[[], T]) -> T:
        answer = call()
        if self._error is not None:
            raise self._error
        if _is_append(answer):
            return cast("T", [spi.AppendUnknown(away(maybe_stored=True)) for _ in answer])
        raise away()


class Pause:
    """The call takes ``seconds`` longer."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self, call: Callable[[], T]) -> T:
        time.sleep(self._seconds)
        return call()


class Stall:
    """The call waits until it is released, and is performed then.

    Attributes:
        reached: Set once a call waits here.
    """

    def __init__(self, *, patience: float = 60.0) -> None:
        self.reached = threading.Event()
        self._released = threading.Event()
        self._patience = patience

    def release(self) -> None:
        """Let every call go on, also later ones."""
        self._released.set()

    def __call__(self, call: Callable[[], T]) -> T:
        self.reached.set()
        self._released.wait(self._patience)
        return call()


def _is_append(answer: object) -> TypeGuard[Sequence[object]]:
    kinds = (spi.Appended, spi.AppendRefused, spi.AppendUnknown, spi.AppendDeferred)
    return isinstance(answer, Sequence) and bool(answer) and all(isinstance(outcome, kinds) for outcome in answer)
