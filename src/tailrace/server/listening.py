"""The socket that a server listens on: of an address, or of a path in the file system."""

import contextlib
import errno
import ipaddress
import socket
import stat
from pathlib import Path

from tailrace.errors import InvalidArgumentError

BACKLOG = 2048
"""Connections that wait to be accepted: a replica that goes down sends all of its readers here at once."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host. A name other than ``localhost`` may become anything."""
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return (mapped or address).is_loopback
    return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound; port 0 is any that is free.

    Raises:
        InvalidArgumentError: There is no such host.
        OSError: It can not be listened on.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise InvalidArgumentError(f"there is no address for the host {host}: {error.strerror}") from None
    family, _, _, _, address = found[0]
    return socket.create_server(address[:2], family=family, backlog=BACKLOG)


def listen_at(path: Path) -> socket.socket:
    """Return a socket at a path. The umask decides who may connect, as for any file: by default its owner.

    Raises:
        OSError: Somebody listens there, or something else is there, or it can not be made.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise OSError(errno.EEXIST, "there is a file of another kind")
        if _answers(path):
            raise OSError(errno.EADDRINUSE, "another server listens there")
        # Left by a server that was killed.
        path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(path))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def url_of(listener: socket.socket) -> str:
    """Return where a client finds it."""
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"unix:{name}"
    host = f"[{name[0]}]" if listener.family == socket.AF_INET6 else name[0]
    return f"http://{host}:{name[1]}"


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True
