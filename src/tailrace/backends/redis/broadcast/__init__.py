"""Live messages over Redis and Valkey: pub/sub, sharded pub/sub, and streams that keep a while. See ``carrier.py``."""

from tailrace.backends.redis.broadcast.opening import open_broadcast

__all__ = ["open_broadcast"]
