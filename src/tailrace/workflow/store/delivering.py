"""Noting that items were delivered up to the head of their stream."""

from collections.abc import Mapping

from tailrace.spi import Ask

_DELIVERED = "UPDATE {workflow_streams} SET pending = 0 WHERE name = ? AND last_position = ? AND pending > 0"


def note(ask: Ask, delivered: Mapping[str, int]) -> tuple[None, list[str]]:
    """Note offsets of last items by topic; what has grown since is left as it is. Nobody has to hear of it."""
    for topic, offset in sorted(delivered.items()):
        ask.do(_DELIVERED, topic.encode(), offset + 1)
    return None, []
