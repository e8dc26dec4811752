"""A language model that is always at hand: the same prompt always gets the same answer, a token at a time.

A real one goes here. What it must be able to do is go on with an answer that was begun: give it the text so far as the
beginning of its own message (a "prefill"), or as context with the request to continue.
"""

import hashlib
import itertools
import time
from collections.abc import Iterator, Sequence

_WORDS = """the record is kept in order and a reader may leave it at any point then come back and go on with the
next word while somewhere a worker dies another takes its place reads what was written and adds only what is missing
so nobody who watches can tell that anything has happened""".split()

LENGTH = 80


class ModelError(Exception):
    """It will not answer, however often it is asked. (A real one is also busy or away: ask it again in ``generate``.)"""


def generate(prompt: str, so_far: Sequence[str], pause: float) -> Iterator[str]:
    """Yield the tokens that follow on ``so_far``, each after ``pause`` seconds.

    Raises:
        ModelError: The prompt is refused.
    """
    if "forbidden" in prompt:
        raise ModelError("the model refused")
    for token in itertools.islice(answer(prompt), len(so_far), None):
        time.sleep(pause)
        yield token


def answer(prompt: str) -> Iterator[str]:
    """Yield the tokens of the whole answer."""
    digest = hashlib.sha256(prompt.encode()).digest()
    for number in range(LENGTH):
        word = _WORDS[(digest[number % len(digest)] + number) % len(_WORDS)]
        yield f"{word}, " if number % 9 == 8 else f"{word} "
