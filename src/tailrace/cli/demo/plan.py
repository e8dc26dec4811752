"""When to kill: random, spread over the stream, and the same for the same seed. Pure."""

import random
from dataclasses import dataclass

from tailrace.cli.demo.text import held_back


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill once ``after`` events were delivered, ``delay`` seconds later: anywhere in what the consumer does."""

    after: int
    delay: float


def kills(seed: int, number: int, total: int) -> list[Kill]:
    """Return ``number`` kills in order, all before the part of the stream that is held back."""
    source = random.Random(seed)
    span = held_back(total)
    edges = [1 + span * step // number for step in range(number)]
    widest = max(1, span // max(1, number))
    return [Kill(min(span, edge + source.randrange(widest)), source.uniform(0.0, 0.03)) for edge in edges]
