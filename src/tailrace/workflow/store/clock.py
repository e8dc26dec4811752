"""The clock of the database: the only one that decides about streams."""

from tailrace.spi import Ask

_NOW = "SELECT {now}"


def now(ask: Ask) -> int:
    """Return its instant."""
    return int(ask(_NOW)[0][0])
