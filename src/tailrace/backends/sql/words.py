"""Statements that are written once for all databases, cut into what stands between their values. Pure."""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_PLACE = re.compile(r"\bIN \?\?|\?")
_WORD = re.compile(r"\{(\w+)\}")

EXTRA_TABLES = (
    "workflow_runs",
    "workflow_streams",
    "workflow_items",
    "workflow_payloads",
    "workflow_claims",
    "workflow_holds",
)
"""Tables of what is kept beside the topics."""


class Cut(NamedTuple):
    """A statement.

    Attributes:
        parts: What stands before, between and after the values.
        lists: Of each value whether it is a list, which follows an ``IN``.
    """

    parts: Sequence[str]
    lists: Sequence[bool]


def cut(statement: str, words: Mapping[str, str]) -> Cut:
    """Cut a statement at its values, and put words into what is between: whatever is in these is no value."""
    parts, lists = _cut(statement)
    return Cut([_WORD.sub(lambda found: words[found[1]], part) for part in parts], lists)


@functools.lru_cache(1024)
def _cut(statement: str) -> Cut:
    places = _PLACE.findall(statement)
    return Cut(_PLACE.split(statement), [place != "?" for place in places])
