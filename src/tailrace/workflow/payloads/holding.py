"""Holds for backups: from when ``place`` returns until ``lift``, no object of the namespace is deleted."""

import time
from collections.abc import Sequence
from functools import partial

from tailrace.options import positive_seconds
from tailrace.spi import Database
from tailrace.workflow.bounds import MAX_ID_CHARS
from tailrace.workflow.field_errors import FieldErrors
from tailrace.workflow.model import SECOND
from tailrace.workflow.payloads.errors import PayloadUnavailableError
from tailrace.workflow.store import holds
from tailrace.workflow.store.holds import Hold

_STEP = 0.02


class Holds:
    """Thread-safe; blocks. A namespace that is not served is held like any other.

    Args:
        timeout: Seconds that one transaction may take.
    """

    def __init__(self, database: Database, timeout: float) -> None:
        self._database = database
        self._timeout = timeout

    def place(self, namespace: str, name: str, *, lasting: float, patience: float = 60.0) -> Hold:
        """Place a hold, or have one of that name begin anew; return once no deletion is under way any more.

        A database that is copied after this has no row whose object is not there when it is copied later.

        Args:
            lasting: Seconds after which it ends by itself: a backup that died must not keep everything for ever.
            patience: Seconds to wait for deletions that had begun before.

        Raises:
            InvalidFieldsError: The name is out of bounds.
            PayloadUnavailableError: One is still under way. The hold stands; call again to wait for longer.
        """
        wrong = FieldErrors()
        wrong.text("name", name, MAX_ID_CHARS, least=1)
        wrong.refuse()
        positive_seconds("lasting", lasting)
        place = partial(holds.place, namespace=namespace, name=name, lasting=int(lasting * SECOND))
        hold = self._database.change(place, self._timeout)
        deadline = time.monotonic() + patience
        while self._database.look(partial(holds.deleting, namespace=namespace)):
            if time.monotonic() >= deadline:
                raise PayloadUnavailableError("a deletion that had begun before the hold is still under way")
            time.sleep(_STEP)
        return hold

    def lift(self, namespace: str, name: str) -> None:
        """End a hold; nothing happens if there is none of that name."""
        self._database.change(partial(holds.lift, namespace=namespace, name=name), self._timeout)

    def on(self, namespace: str) -> Sequence[Hold]:
        """Return the holds on a namespace, by name."""
        return self._database.look(partial(holds.on, namespace=namespace))
