"""An ``Engine`` of SQLAlchemy that the application hands in: how it connects is used, its connections are not.

Its arguments are asked for anew for each connection, so that what the application's listeners put there (a token that
expires) is as new as on its own connections. Where it brings a ``creator`` or a pool of its own there are no arguments
to be had, and its connection is taken as it is.
"""

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tailrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from sqlalchemy import Engine


class Arguments(NamedTuple):
    """What the driver's ``connect`` would be called with."""

    positional: Sequence[Any]
    named: Mapping[str, Any]


_ways: "weakref.WeakKeyDictionary[Engine, Way]" = weakref.WeakKeyDictionary()


def way_of(engine: Any, drivers: Sequence[str], advice: str) -> "Way":  # noqa: ANN401 - either kind of engine
    """Return how an ``Engine``, or an ``AsyncEngine``, connects. Connects to nothing.

    Args:
        drivers: Names of its drivers that can be used.
        advice: What to do with an engine of another one.

    Raises:
        InvalidArgumentError: It has another driver.
    """
    found: Engine = getattr(engine, "sync_engine", engine)
    driver = found.dialect.driver
    if driver not in drivers:
        raise InvalidArgumentError(f"an engine of the driver {driver} can not be used: {advice}")
    # One for each engine, however often it is handed in: what listens stays for as long as it lives.
    return _ways.get(found) or _ways.setdefault(found, Way(found))


class Way:
    """How an engine connects. Thread-safe; holds no connection.

    Attributes:
        url: Of the engine; may hold a password.
        driver: As SQLAlchemy calls it.
    """

    def __init__(self, engine: "Engine") -> None:
        from sqlalchemy import event

        self.url = engine.url
        self.driver: str = engine.dialect.driver
        self._blocking = not engine.dialect.is_async
        # Of the same kind and with the same events, empty, and it stays so: whatever it opens is taken out of it.
        self._pool = engine.pool.recreate()
        self._asking: set[int] = set()
        # After those of the application.
        event.listen(engine, "do_connect", self._hand_over)

    def open(self) -> Any:  # noqa: ANN401 - a driver's connection
        """Return what to connect with, as ``Arguments``; or a connection, where the engine does not tell.

        Raises:
            InvalidArgumentError: It does not tell, and its connections have to be awaited.
            Exception: What the driver, or the application, raised.
        """
        me = threading.get_ident()
        self._asking.add(me)
        try:
            opened = self._pool.connect()
        except _Told as told:
            return told.arguments
        except Exception as exc:
            if self._blocking or not type(exc).__module__.startswith("sqlalchemy."):
                raise
            raise InvalidArgumentError(
                "an AsyncEngine with a pool or a creator of its own can not be used: hand in an Engine, or the URL"
            ) from exc
        finally:
            self._asking.discard(me)
        opened.detach()
        return opened.dbapi_connection

    def _hand_over(
        self, _dialect: object, _record: object, positional: Sequence[Any], named: Mapping[str, Any]
    ) -> None:
        # The application goes on connecting meanwhile, from its own threads.
        if threading.get_ident() in self._asking:
            raise _Told(Arguments(list(positional), dict(named)))


class _Told(Exception):  # noqa: N818 - no error: it ends the engine's way to a connection with what was wanted of it
    def __init__(self, arguments: Arguments) -> None:
        super().__init__()
        self.arguments = arguments
