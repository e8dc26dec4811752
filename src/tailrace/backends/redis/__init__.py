"""Redis and Valkey: shared by many processes and hosts, durable as far as the server is. See ``docs/design/redis.md``."""

from tailrace.backends.redis.backend import RedisStore, open_store

__all__ = ["RedisStore", "open_store"]
