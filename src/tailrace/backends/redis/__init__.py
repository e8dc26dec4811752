"""Redis and Valkey: shared by many hosts, as durable as the server is set to be. See ``docs/design/redis.md``."""

import tailrace.backends.redis.driver  # noqa: F401 - first of all: it tells what is missing
from tailrace.backends.redis.backend import RedisStore, open_store
from tailrace.backends.redis.broadcast import open_broadcast

__all__ = ["RedisStore", "open_broadcast", "open_store"]
