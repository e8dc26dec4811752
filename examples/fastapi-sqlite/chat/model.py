"""Stands in for a model: words with pauses between them, the same ones for the same prompt. Put yours in its place.

What the worker asks of a model is one function: go on with an answer that is there in part. Providers that let you
begin the assistant's message yourself do that; others are asked to continue a text.
"""

import asyncio
import random
from collections.abc import AsyncIterator

_WORDS = "the of and a to in it that words worker browser cable answer goes comes waits holds again never once"


def whole_answer(prompt: str) -> list[str]:
    """Return all pieces of the answer to a prompt."""
    chance, words = random.Random(prompt), _WORDS.split()
    # Each sentence has a number, so that a person sees at once if something is missing or there twice.
    sentences = [
        [f"{number}.", *chance.choices(words, k=chance.randint(5, 12))] for number in range(1, chance.randint(7, 11))
    ]
    return [f"{word} " for sentence in sentences for word in sentence]


async def continued(prompt: str, so_far: str, *, pause: float) -> AsyncIterator[str]:
    """Yield what follows on the part of an answer that is there, piece by piece; nothing if it is complete."""
    length = 0
    for piece in whole_answer(prompt):
        length += len(piece)
        if length > len(so_far):
            await asyncio.sleep(pause)
            yield piece
