"""Servers that say what a test wants, and services of both colours to ask them, called in the same way."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from tests.http.scripted import answer

from tailrace.workflow import NewItem, Run
from tailrace.workflow.remote import open_async_service, open_service

TOKEN = "tok-of-the-tests-0123456789"
STREAM = Run("default", "order/7", "r1").stream("s")
KEYED = NewItem(payload=b"1", idempotency_key="k")
PLAIN = NewItem(payload=b"1")
SHOWN = {
    "stream_name": "s",
    "status": "open",
    "last_offset": 0,
    "total_items": 1,
    "pending_items": 1,
    "opened_at": "2026-01-02T03:04:05.000006Z",
    "last_appended_at": None,
    "closed_at": None,
    "error_reason": None,
    "retention_seconds": None,
}
STORED = {"stream": SHOWN, "accepted_offsets": [0], "accepted": 1, "deduped": 0}

Say = Callable[[bytes, bytes], bytes | None]


def told(content: object, status: bytes = b"200 OK") -> bytes:
    return answer(json.dumps(content).encode(), status=status, kind=b"application/json")


def refusal(status: bytes, reason: str, **more: object) -> bytes:
    return told({"message": "no", "reason": reason, **more}, status)


def in_turn(*answers: bytes | None) -> Say:
    """Say one after the other, the last one for ever; ``b""`` hangs up, and ``None`` is silence."""
    left = list(answers)

    def say(path: bytes, body: bytes) -> bytes | None:
        said = left.pop(0) if len(left) > 1 else left[0]
        if said == b"":
            raise ConnectionError("on purpose")
        return said

    return say


class Blocking:
    def __init__(self, url: str, timeout: float) -> None:
        self.service: Any = open_service(url, token=TOKEN, timeout=timeout)

    def __call__(self, operation: str, *arguments: object, **options: object) -> Any:
        return getattr(self.service, operation)(*arguments, **options)


class Awaited:
    """One loop for all calls, as in an application."""

    def __init__(self, url: str, timeout: float) -> None:
        self.service: Any = open_async_service(url, token=TOKEN, timeout=timeout)
        self._runner = asyncio.Runner()

    def __call__(self, operation: str, *arguments: object, **options: object) -> Any:
        async def call() -> Any:
            result = await getattr(self.service, operation)(*arguments, **options)
            # A connection is closed by its loop, in the turn after it was asked to.
            await asyncio.sleep(0)
            return result

        try:
            return self._runner.run(call())
        finally:
            if operation == "close":
                self._runner.close()


Calls = Blocking | Awaited
Opened = Callable[..., Calls]
