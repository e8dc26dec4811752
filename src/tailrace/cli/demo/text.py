"""From a file's bytes to workflow events and back, without changing a byte. Pure.

Any bytes will do: what is not UTF-8 travels as lone surrogates, which JSON can hold.
"""

import json
import re
from typing import Any

MOST_EVENTS = 20_000
"""Events at most: a long text gets several words per event, so that the demo's time is bounded."""

_WORD = re.compile(r"\S+\s*|\s+")


def events(content: bytes) -> list[bytes]:
    """Return the serialized events of a workflow that streams ``content``: started, tokens, finished.

    Each has its number in ``n``, so that a judge can count what a consumer was given.
    """
    words = _WORD.findall(content.decode("utf-8", "surrogateescape"))
    several = -(-len(words) // MOST_EVENTS) or 1
    tokens = ["".join(words[start : start + several]) for start in range(0, len(words), several)]
    bodies: list[dict[str, Any]] = [
        {"event": "workflow_started"},
        *({"event": "token", "text": token} for token in tokens),
        {"event": "workflow_finished"},
    ]
    return [json.dumps({"n": n, **body}).encode("ascii") for n, body in enumerate(bodies)]


def number_and_text(event: bytes) -> tuple[int, bytes]:
    """Return an event's number and the bytes of text it brings (none for started and finished)."""
    value = json.loads(event)
    return value["n"], value.get("text", "").encode("utf-8", "surrogateescape")


def held_back(total: int) -> int:
    """Return how many events come before the last part, which waits until all kills are done."""
    return total - 1 - max(1, (total - 2) // 10)
