"""What every awaited subscription to live messages has beside its waiting: its exit and its iteration."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from tailrace import arguments
from tailrace.records import CLOSED, Closed


class Listening(ABC):
    """An asynchronous context manager and iterator over ``receive``; the iteration ends when it is closed."""

    __slots__ = ()

    @abstractmethod
    async def __aenter__(self) -> Self:
        """Begin to listen; see the blocking one."""

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Close. Never swallows the exception of the block."""
        self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while True:
            message = await self.receive(arguments.FOREVER)
            if message is CLOSED:
                raise StopAsyncIteration
            if isinstance(message, bytes):
                return message

    @abstractmethod
    async def receive(self, timeout: float = 0.1) -> bytes | Closed | None:
        """Wait up to ``timeout`` seconds for the next message; see the blocking one."""

    @abstractmethod
    def close(self) -> None:
        """End this subscription. Idempotent, never raises, does not block; from any thread or task."""
