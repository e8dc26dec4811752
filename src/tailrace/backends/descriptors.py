"""What is done to a connection past the object that uses it: from another thread, or in a child that has a copy."""

import contextlib
import os
import socket

from tailrace import native


def hang_up(descriptor: int) -> None:
    """End the conversation, from any thread: whoever waits there is told. Closes nothing, never raises, does not block.

    Args:
        descriptor: Of a socket; one that is closed, or -1, is left alone.
    """
    # Through a descriptor of its own: among greenlets the socket may belong to the hub of another thread.
    with contextlib.suppress(OSError, ValueError), contextlib.closing(native.socket(os.dup(descriptor))) as other:
        other.shutdown(socket.SHUT_RDWR)


def disown(sock: socket.socket) -> None:
    """In a child: let go of the descriptor, without a word on the connection, which is the parent's."""
    descriptor = sock.detach()
    if descriptor >= 0:
        os.close(descriptor)
