"""Redis and Valkey: shared by many hosts, as durable as the server is set to be. See ``docs/design/redis.md``."""

from tailrace.backends.redis.backend import RedisStore, open_store

__all__ = ["RedisStore", "open_store"]
