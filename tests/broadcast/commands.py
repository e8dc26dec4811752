"""What went over the wire, as the server saw it."""

from collections.abc import Sequence

import redis
from redis.client import Monitor


def commands(raw: redis.Redis, monitor: Monitor) -> Sequence[str]:
    """Return all commands since the monitor began, up to now."""
    raw.set("end", 1)
    seen: list[str] = []
    for said in monitor.listen():
        if said["command"].startswith("SET end"):
            break
        seen.append(said["command"])
    return seen
