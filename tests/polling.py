"""How cases of event loops wait for what others do, and nobody tells. Whoever may block has what the kit waits with."""

import asyncio
import time
from collections.abc import Callable


async def until(condition: Callable[[], bool], what: str, *, timeout: float = 60.0, step: float = 0.005) -> None:
    """Wait until ``condition`` is true, without keeping the loop; fail after ``timeout`` seconds.

    Args:
        condition: Asked at once and then every ``step`` seconds.
        what: What did not happen, for the message.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout} s: {what}"
        await asyncio.sleep(step)
