"""One record written, read and removed again, with each step's time."""

import secrets
import time

import tailrace
from tailrace.errors import DurableStreamUnavailableError
from tailrace.records import DurableStreamRecord

PATIENCE = 10.0
"""Seconds that the record may take from its append to its reader."""


def round_trip(client: tailrace.StreamClient) -> dict[str, float]:
    """Pass one record through a topic that nobody else has, and delete it.

    Returns:
        Seconds taken by ``append``, ``wake_up`` (from its return to the reader) and ``delete``.

    Raises:
        DurableStreamError: A step failed, or what came back is not what was sent.
    """
    topic = client.topic(f"tailrace-doctor:{secrets.token_hex(16)}")
    sent = secrets.token_bytes(64) + b"\0\xff"
    took: dict[str, float] = {}
    # For one that may append and not delete, it would stay.
    client.maintenance.delete(topic.name)
    try:
        with topic.subscribe_from_tail() as subscription:
            started = time.monotonic()
            topic.append(sent)
            stored = time.monotonic()
            received = subscription.receive(PATIENCE)
            took = {"append": stored - started, "wake_up": time.monotonic() - stored}
    finally:
        started = time.monotonic()
        client.maintenance.delete(topic.name)
    took["delete"] = time.monotonic() - started
    if not isinstance(received, DurableStreamRecord):
        raise DurableStreamUnavailableError(f"the record did not come back within {PATIENCE:g} seconds")
    if received.payload != sent:
        raise DurableStreamUnavailableError("the record came back changed")
    return took
