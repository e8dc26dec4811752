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


class Words:
    """What the words of statements stand for in one database. Thread-safe.

    Attributes:
        cut: Cuts a statement at its values, and puts words into what is between: whatever is in these is no value.
    """

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = words
        # Each statement once: there are few, and every call of everybody sends some of them.
        self.cut = functools.lru_cache(1024)(functools.partial(_cut, words))

    def __getitem__(self, word: str) -> str:
        return self._words[word]


def _cut(words: Mapping[str, str], statement: str) -> Cut:
    parts = [_WORD.sub(lambda found: words[found[1]], part) for part in _PLACE.split(statement)]
    return Cut(parts, [place != "?" for place in _PLACE.findall(statement)])
