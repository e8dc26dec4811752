"""How deeply JSON is nested, told from its text without decoding it. Pure.

Decoders give up at some depth, and Python's own at one that depends on where it is called from: what one process could
store another could not read, or not further down its own stack.
"""

import re
from itertools import accumulate

MAX_DEPTH = 512
"""Levels of arrays and objects. Common decoders refuse what is deeper, so nobody could read it."""

# Possessive: a string of a megabyte would keep a place to go back to for every character of it.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_OTHERS = bytes(each for each in range(256) if each not in _STEPS)


def is_too_deep(text: bytes) -> bool:
    """Whether JSON is nested more than ``MAX_DEPTH`` levels deep. Of what is no JSON it says nothing of use."""
    # Nearly always there are not so many brackets in all.
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    # Without the strings, and what they escape, a bracket is one. All of them may have been in strings.
    brackets = _STRINGS.sub(b"", text).translate(None, _OTHERS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH
