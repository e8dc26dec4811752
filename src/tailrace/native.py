"""Real threads, and the primitives to go with them, also in a process that gevent has patched.

A call into C that blocks can not be made cooperative: it has to run in a native thread, or every greenlet of the
process stands still with it. ``call`` sends it there. What runs there shares its state with other native threads, so it
uses the locks of this module: a patched one belongs to a hub, and such a thread has none. Nobody may switch greenlets
while holding one of them. gevent is never imported from here; it is asked for only if somebody else did import it.
"""

import _thread
import select
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def patched() -> bool:
    """Whether threads of this process are greenlets."""
    return _monkey() is not None


def call(work: Callable[[], T]) -> T:
    """Run what blocks in C, without stalling the calling thread's greenlets; return or raise what it does.

    A caller that is killed meanwhile leaves; the work goes on to its end.
    """
    hub = _hub()
    if hub is None:
        return work()
    # Settled over there: gevent prints the traceback of whatever a pool's thread raises.
    outcome: _Outcome[T] = hub.threadpool.apply(_Outcome, (work,))
    return outcome.result()


def home() -> object | None:
    """Return what ``sent_home`` needs to wake a greenlet of this thread; ``None`` where threads are threads."""
    return None if _monkey() is None else sys.modules["gevent.hub"].get_hub()


def sent_home(hub: Any, wake: Callable[[], None]) -> bool:  # noqa: ANN401 - gevent's
    """Run ``wake`` in the thread of that hub, soon, if this is another one; return whether it is."""
    if sys.modules["gevent._hub_local"].get_hub_if_exists() is hub:
        return False
    # Releasing a patched lock from here does not reach its waiter in every release of gevent.
    loop = hub.loop
    if loop is not None:
        loop.run_callback_threadsafe(wake)
    return True


def lock() -> "threading.Lock":
    """Return a lock of the operating system's threads."""
    allocate: Callable[[], threading.Lock] = _original("allocate_lock")
    return allocate()


def rlock() -> "_thread.RLock":
    """Return a lock that knows which native thread has it."""
    # This one is never patched; what ``threading`` makes of its name is.
    return _thread.RLock()


def sleep(seconds: float) -> None:
    """Block the native thread, with whatever greenlets it has."""
    monkey = _monkey()
    (time.sleep if monkey is None else monkey.get_original("time", "sleep"))(seconds)


def poll() -> "select.poll":
    """Return what asks the kernel about descriptors. For questions that do not wait: a greenlet would keep the rest."""
    monkey = _monkey()
    made: select.poll = (select.poll if monkey is None else monkey.get_original("select", "poll"))()
    return made


def socket(fd: int) -> Any:  # noqa: ANN401 - a socket that belongs to no hub
    """Return a socket on a descriptor, which it owns. For calls that do not wait."""
    import socket as module

    monkey = _monkey()
    return (module.socket if monkey is None else monkey.get_original("socket", "socket"))(fileno=fd)


def getaddrinfo(host: Any, port: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the standard library has it
    """Look a name up, blocking the native thread."""
    import socket as module

    monkey = _monkey()
    look_up = module.getaddrinfo if monkey is None else monkey.get_original("socket", "getaddrinfo")
    return look_up(host, port, **kwargs)


def leave_hub() -> None:
    """Let go of the hub that patched sockets have made for this native thread, which is about to end."""
    if _monkey() is None:
        return
    hub = sys.modules["gevent._hub_local"].get_hub_if_exists()
    if hub is not None:
        hub.destroy(destroy_loop=True)


def start_thread(target: Callable[[], None], name: str) -> None:
    """Start a native thread that does not keep the process alive."""
    if patched():
        _original("start_new_thread")(target, ())
    else:
        threading.Thread(target=target, name=name, daemon=True).start()


class Latch:
    """Lets one native thread sleep until another releases it. A release before the sleep is not lost."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = lock()
        self._lock.acquire()

    def wait(self, timeout: float = -1) -> bool:
        """Block until released, at most ``timeout`` seconds if that is given; return whether it was."""
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        """Wake the sleeper, or the next one to come. Releasing twice wakes once."""
        try:
            self._lock.release()
        except RuntimeError:
            return


class Condition:
    """``threading.Condition`` for native threads, as far as it is needed here: that one waits on patched locks."""

    __slots__ = ("_lock", "_sleepers")

    def __init__(self, lock: "threading.Lock") -> None:
        self._lock = lock
        self._sleepers: list[Latch] = []

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait, with the lock held on both ends, until ``predicate`` holds; return whether it does."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not predicate():
            left = -1 if deadline is None else deadline - time.monotonic()
            if deadline is not None and left <= 0:
                return False
            latch = Latch()
            self._sleepers.append(latch)
            self._lock.release()
            try:
                latch.wait(left)
            finally:
                self._lock.acquire()
        return True

    def notify_all(self) -> None:
        """Have everybody look again. With the lock held."""
        sleepers, self._sleepers = self._sleepers, []
        for latch in sleepers:
            latch.release()


class _Outcome(Generic[T]):
    __slots__ = ("_error", "_value")

    def __init__(self, work: Callable[[], T]) -> None:
        self._error: BaseException | None = None
        try:
            self._value = work()
        except BaseException as exc:  # noqa: BLE001 - it is raised where the result is asked for
            self._error = exc

    def result(self) -> T:
        if self._error is None:
            return self._value
        error, self._error = self._error, None
        raise error


def _monkey() -> ModuleType | None:
    monkey = sys.modules.get("gevent.monkey")
    return monkey if monkey is not None and monkey.is_module_patched("threading") else None


def _hub() -> Any:  # noqa: ANN401 - gevent's
    """Return this thread's hub, if it has one that calls may wait for."""
    if _monkey() is None:
        return None
    # Without a hub there are no greenlets that a blocked thread could hold up: a native thread of somebody's own, or
    # a process that has just been patched. Code that runs in the hub itself, a callback, can not wait for anything.
    hub = sys.modules["gevent._hub_local"].get_hub_if_exists()
    return None if hub is None or hub is sys.modules["greenlet"].getcurrent() else hub


def _original(name: str) -> Any:  # noqa: ANN401 - whatever has that name
    monkey = _monkey()
    return getattr(_thread, name) if monkey is None else monkey.get_original("_thread", name)
