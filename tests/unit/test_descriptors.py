"""A connection is ended past its owner, and let go of without a word."""

import os
import socket
import threading

from tailrace.backends import descriptors


def test_who_waits_is_told_and_still_owns_the_socket() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        got: list[bytes] = []
        waiting = threading.Thread(target=lambda: got.append(ours.recv(1)))
        waiting.start()
        descriptors.hang_up(ours.fileno())
        waiting.join(10)
        assert got == [b""]
        assert theirs.recv(1) == b""
        assert ours.fileno() >= 0


def test_one_that_is_closed_is_left_alone() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.close()
        descriptors.hang_up(ours.fileno())
        descriptors.disown(ours)


def test_who_disowns_a_copy_ends_no_conversation() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        copy = socket.socket(fileno=os.dup(ours.fileno()))
        descriptors.disown(copy)
        assert copy.fileno() == -1
        ours.sendall(b"on")
        assert theirs.recv(2) == b"on"
