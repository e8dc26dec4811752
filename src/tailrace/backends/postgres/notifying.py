"""Saying that topics changed: one statement for a whole batch, after its commit."""

import logging
from collections.abc import Collection, Sequence
from typing import Protocol

from psycopg import Error

from tailrace.backends.postgres.channels import Channels

ONE = "SELECT pg_catalog.pg_notify(%s, %s)"
SEVERAL = "SELECT pg_catalog.pg_notify(channel, message) FROM unnest(%s::text[], %s::text[]) AS said (channel, message)"

_log = logging.getLogger("tailrace.store")


class Runs(Protocol):
    """What performs a statement: a cursor of the driver, or whatever waits in its place."""

    def execute(self, statement: str, values: Sequence[object], /) -> object:
        """Perform it, in a transaction of its own."""
        ...


def notify(cursor: Runs, channels: Channels, topics: Collection[str]) -> bool:
    """Say that topics changed; return whether it was said. Blocks for one round trip.

    Call it after the commit, never in the transaction: there it takes a lock of the whole database, which is held
    until the disk has confirmed the commit. What was committed stands whatever becomes of the hint, so a failure is
    logged and not raised; whether the connection is still one has to be asked of it.
    """
    said = channels.messages(topics)
    try:
        if len(said) == 1:
            cursor.execute(ONE, said[0])
        else:
            cursor.execute(SEVERAL, ([one.channel for one in said], [one.text for one in said]))
    except Error as exc:
        _log.warning("a change was stored, and its hint could not be sent: %s", exc)
        return False
    return True
