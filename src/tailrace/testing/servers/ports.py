"""Ports of the loopback that nobody else takes between their choice and the server's bind, or during its restart.

They are below 32768, where the kernel starts to pick ports of clients: a free port above may be gone a moment later.
"""

import contextlib
import errno
import random
import socket
import sys
from collections.abc import Sequence

LOOPBACK = "127.0.0.1"

_LOWEST, _HIGHEST = 12000, 32767
_TRIES = 500


class PortClaim:
    """A port, and others at fixed distances from it, that this process keeps until ``release``.

    Two test processes of one machine may both find a port free before either server has bound it. Each therefore
    binds a name made of the port in the abstract socket namespace first: only one of them can, the claim outlives the
    restarts of the server, and the kernel drops it with the process. Where there is no such namespace, only the check
    that nobody listens remains.

    Args:
        offsets: Distances of further ports that have to be free, such as the bus of a cluster node.

    Raises:
        OSError: No port was found.
    """

    def __init__(self, offsets: Sequence[int] = ()) -> None:
        self._held: list[socket.socket] = []
        distances = (0, *offsets)
        for _ in range(_TRIES):
            self.port = random.randint(_LOWEST, _HIGHEST - max(distances))
            if all(self._take(self.port + distance) for distance in distances):
                return
            self.release()
        raise OSError(errno.EADDRINUSE, "no free port of the loopback was found")

    def release(self) -> None:
        """Let others have it. Idempotent."""
        while self._held:
            self._held.pop().close()

    def _take(self, port: int) -> bool:
        if sys.platform == "linux":
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                claim.bind(f"\0tailrace-port-{port}")
            except OSError:
                claim.close()
                return False
            self._held.append(claim)
        return not _is_taken(port)


def _is_taken(port: int) -> bool:
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        # As servers do: connections of a former one that linger are no reason to refuse.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False
