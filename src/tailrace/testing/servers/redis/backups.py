"""Copies of a server's data, taken and put back the way an operator does it: with the snapshot file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.testing.servers.waiting import until

if TYPE_CHECKING:
    from tailrace.testing.servers.redis.server import RedisServer

_SNAPSHOT = "dump.rdb"


def take(server: RedisServer, to: Path) -> None:
    """Save a snapshot and copy it."""
    server.call("SAVE", timeout=60.0)
    shutil.copyfile(server.folder / _SNAPSHOT, to)


def put_back(server: RedisServer, backup: Path) -> None:
    """Kill the server, replace all its data by the copy, and start it again."""
    server.kill()
    for aof in server.folder.glob("appendonly*"):
        if aof.is_dir():
            shutil.rmtree(aof)
        else:
            aof.unlink()
    shutil.copyfile(backup, server.folder / _SNAPSHOT)
    if server.aof == "no":
        server.start()
        return
    # A server that is told to use an append-only file and finds none starts empty, whatever the snapshot holds.
    server.start("--appendonly", "no")
    server.call("CONFIG", "SET", "appendonly", "yes")
    until(lambda: _written(server), "the append-only file is written anew")


def _written(server: RedisServer) -> bool:
    persistence = server.info("persistence")
    return (
        persistence["aof_rewrite_in_progress"] == "0"
        and persistence["aof_rewrite_scheduled"] == "0"
        and persistence["aof_last_bgrewrite_status"] == "ok"
    )
