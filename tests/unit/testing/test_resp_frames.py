"""Streams of the Redis protocol are cut where its frames end, however they arrive."""

import pytest

from tailrace.testing.faults.resp import Frames, is_push, words

FRAMES = [
    b"+OK\r\n",
    b"-ERR no\r\n",
    b":12\r\n",
    b"$4\r\na\r\nb\r\n",
    b"$0\r\n\r\n",
    b"$-1\r\n",
    b"*-1\r\n",
    b"*0\r\n",
    b"*2\r\n*1\r\n:1\r\n$1\r\nx\r\n",
    b"*2\r\n*0\r\n*2\r\n*1\r\n+a\r\n+b\r\n",
    b"%2\r\n+a\r\n*1\r\n:1\r\n+b\r\n%0\r\n",
    b"~1\r\n#t\r\n",
    b">2\r\n+message\r\n$1\r\nx\r\n",
    b"_\r\n",
    b",1.5\r\n",
    b"(12345678901234567890\r\n",
    b"=7\r\ntxt:a\r\n\r\n",
    b"!3\r\nERR\r\n",
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_frames_are_found_in_chunks_of_any_size(size: int) -> None:
    stream, frames = b"".join(FRAMES), Frames()

    found = [frame for at in range(0, len(stream), size) for frame in frames.feed(stream[at : at + size])]

    assert found == FRAMES


def test_only_what_the_server_says_unasked_is_a_push() -> None:
    assert [frame for frame in FRAMES if is_push(frame)] == [b">2\r\n+message\r\n$1\r\nx\r\n"]


def test_a_command_is_taken_apart_into_its_words() -> None:
    assert words(b"*3\r\n$3\r\nSET\r\n$2\r\n\r\n\r\n$0\r\n\r\n") == [b"SET", b"\r\n", b""]
    assert words(b"PING x\r\n") == [b"PING", b"x"]
    assert words(b"*0\r\n") == []
