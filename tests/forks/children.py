"""Children of the tests: each runs a call and tells by its exit status whether it returned."""

import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Callable

from tailrace import CLOSED, DurableStreamRecord, StreamClient, Subscription

SECONDS = 20


def child(call: Callable[[], None]) -> int:
    """Fork and run ``call`` in the child, which ends with it; return its process id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        # A child that hangs says where, and ends.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        faulthandler.register(signal.SIGALRM, chain=True)
        signal.alarm(SECONDS)
        call()
        status = 0
    except BaseException:  # noqa: BLE001 - it must not get back into the test
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def ended_well(pid: int) -> bool:
    """Wait for a child and return whether its call did."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def use(streams: StreamClient, name: str, payload: bytes) -> None:
    """Do with a topic what can be done: subscribe, append, receive live, checkpoint, resume."""
    topic = streams.topic(name)
    with topic.subscribe_from_tail() as subscription:
        topic.append(payload)
        assert payload in payloads(subscription, 1), payload
        topic.append(payload)
        payloads(subscription, 1)
        cursor = subscription.cursor
    with topic.subscribe_from_cursor(cursor) as subscription:
        topic.append(payload)
        payloads(subscription, 1)
    topic.checkpoint()


def payloads(subscription: Subscription, count: int) -> list[bytes]:
    """Receive so many records."""
    found: list[bytes] = []
    while len(found) < count:
        record = subscription.receive(SECONDS / 2)
        assert isinstance(record, DurableStreamRecord), (record, found)
        found.append(record.payload)
    return found


def until_closed(subscription: Subscription) -> list[bytes]:
    """Receive until the end."""
    found = []
    while (record := subscription.receive(SECONDS)) is not CLOSED:
        assert isinstance(record, DurableStreamRecord)
        found.append(record.payload)
    return found
