"""The bulk routes: a whole store for services that are trusted, as the library's own client speaks them.

What crosses is in ``tailrace.wire``; here it meets the store that is served, and the principal's grants.
"""

from tailrace.server.store.appending import append
from tailrace.server.store.looking import bounds, describe, seal
from tailrace.server.store.operating import delete, sweep, topics, trim
from tailrace.server.store.reading import read
from tailrace.server.store.watching import watch

__all__ = ["append", "bounds", "delete", "describe", "read", "seal", "sweep", "topics", "trim", "watch"]
