"""A receive that is interrupted at any moment: nothing that was there is lost, or comes twice."""

import sys
from pathlib import Path
from types import FrameType

import pytest

from tailrace import broadcast
from tailrace.broadcast import Overflow
from tailrace.broadcast.mailbox import Mailbox
from tailrace.testing.broadcast.listening import hear, silence
from tailrace.testing.calls import settle_interrupts
from tailrace.testing.reading import numbered

SOURCE = str(Path(broadcast.__file__ or "").parent)


class _Interrupt(BaseException):
    """Stands for ``KeyboardInterrupt``, or for what a time limit raises in the thread."""


def _interrupted_at(number: int, subscription: broadcast.Subscription) -> tuple[bool, list[bytes]]:
    """Receive, and raise the so manyeth time that signals are looked for; return whether it was, and what was heard."""
    left = number

    def look(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        if event in ("call", "c_return") and frame.f_code.co_filename.startswith(SOURCE):
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise _Interrupt

    before = sys.getprofile()
    # Left over from whatever ran before in this process, one keeps Python 3.11 from entering a profiled function.
    settle_interrupts()
    sys.setprofile(look)
    try:
        message = subscription.receive(5)
    except _Interrupt:
        return True, []
    finally:
        sys.setprofile(before)
    assert isinstance(message, bytes)
    return False, [message]


def test_an_interrupt_at_any_moment_of_a_receive_loses_and_doubles_no_message() -> None:
    with broadcast.connect("memory://") as channel:
        topic = channel.topic("t")
        with topic.subscribe() as subscription:
            number, sent, reached = 0, 0, True
            while reached:
                number += 1
                for payload in numbered(2, sent):
                    topic.publish(payload)
                reached, heard = _interrupted_at(number, subscription)
                heard += hear(subscription, 2 - len(heard))
                assert heard == numbered(2, sent), number
                silence(subscription)
                sent += 2
            assert number > 10


@pytest.mark.parametrize("overflow", [Overflow.DROP_OLDEST, Overflow.DROP_NEWEST])
def test_what_is_put_back_comes_first_and_takes_its_room(overflow: Overflow) -> None:
    mailbox = Mailbox(3, 100, overflow)
    for payload in (b"1", b"22", b"333"):
        mailbox.put(payload)
    assert mailbox.take() == b"1"
    mailbox.put_back()
    mailbox.put_back()
    assert len(mailbox) == 3
    mailbox.put(b"4")
    assert mailbox.dropped == 1
    left = [mailbox.take() for _ in range(4)]
    assert left == ([b"22", b"333", b"4", None] if overflow is Overflow.DROP_OLDEST else [b"1", b"22", b"333", None])


def test_what_was_returned_is_not_put_back() -> None:
    mailbox = Mailbox(3, 100, Overflow.DROP_OLDEST)
    mailbox.put(b"1")
    mailbox.put(b"2")
    assert mailbox.take() == b"1"
    mailbox.keep_taken()
    mailbox.put_back()
    assert [mailbox.take(), mailbox.take()] == [b"2", None]
