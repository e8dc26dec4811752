"""Stands in for a model: words with pauses between them, the same ones for the same prompt. Put yours in its place.

What is asked of a model is one function: go on with an answer that is there in part. Providers that let you begin the
assistant's message yourself do that; others are asked to continue a text.
"""

import itertools
import random
import time
from collections.abc import Iterator

_WORDS = (
    "a the of and to in it that stream token page worker browser cable river answer question place record reader"
    " begins ends goes comes returns stays breaks waits holds slowly again often never once quietly therefore"
)


class ModelError(Exception):
    """It will not answer, however often it is asked. One that is only busy is asked again, in ``continued``."""


def whole_answer(prompt: str) -> list[str]:
    """Return all tokens of the answer to a prompt."""
    chance = random.Random(prompt)
    # Each sentence has a number, so that a person sees at once if something is missing or there twice.
    sentences = [[f"{number}.", *chance.choices(_WORDS.split(), k=chance.randint(5, 9))] for number in range(1, 11)]
    return [f"{word} " for sentence in sentences for word in sentence]


def continued(prompt: str, tokens: int, pause: float) -> Iterator[str]:
    """Yield what follows on so many tokens of an answer, each after a pause; nothing if it is complete.

    Raises:
        ModelError: The prompt is refused.
    """
    if "forbidden" in prompt:
        raise ModelError("The model refused to answer.")
    for token in itertools.islice(whole_answer(prompt), tokens, None):
        time.sleep(pause)
        yield token
