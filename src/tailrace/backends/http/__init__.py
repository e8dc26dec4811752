"""A store that a Tailrace server serves, over HTTP. Needs the extra ``client``."""

from tailrace.backends.http.backend import HttpStore, open_store
from tailrace.backends.http.location import Location, locate

__all__ = ["HttpStore", "Location", "locate", "open_store"]
