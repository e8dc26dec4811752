"""Noting that items were delivered up to the head of their stream."""

from collections.abc import Mapping

from tailrace.spi import Ask
from tailrace.workflow.model import Mark

_DELIVERED = """
UPDATE {workflow_streams} SET pending = 0
WHERE name = ? AND last_position = ? AND last_appended_at = ? AND pending > 0
"""


def note(ask: Ask, delivered: Mapping[str, Mark]) -> tuple[None, list[str]]:
    """Note last items by topic; what has grown, or begun anew, since is left as it is. Nobody has to hear of it."""
    for topic, last in sorted(delivered.items()):
        ask.do(_DELIVERED, topic.encode(), last.offset + 1, last.emitted_at)
    return None, []
