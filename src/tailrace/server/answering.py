"""Whether an answer has begun, from which on nothing else can be said, and how many there were of each status."""

from collections import Counter
from collections.abc import Awaitable

from tailrace.asgi import Message, Send


class Answering:
    """A ``send`` that remembers whether the answer has begun.

    Args:
        send: Of ASGI.
        statuses: Counts the answer.
    """

    __slots__ = ("_send", "_statuses", "begun")

    def __init__(self, send: Send, statuses: Counter[int]) -> None:
        self._send = send
        self._statuses = statuses
        self.begun = False

    def __call__(self, message: Message) -> Awaitable[None]:
        if not self.begun:
            self.begun = True
            self._statuses[message["status"]] += 1
        return self._send(message)
