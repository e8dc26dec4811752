"""The reference store: everything in this process, nothing on disk. Also the fake to test your own code with."""

from tailrace.backends.memory.backend import MemoryStore, open_store
from tailrace.backends.memory.broadcast import open_broadcast
from tailrace.backends.memory.watch import MemoryWatch

__all__ = ["MemoryStore", "MemoryWatch", "open_broadcast", "open_store"]
