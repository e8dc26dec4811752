"""Whether an answer has begun: from then on nothing else can be said."""

from collections.abc import Awaitable

from tailrace.asgi import Message, Send


class Answering:
    """A ``send`` that remembers whether the answer has begun."""

    __slots__ = ("_send", "begun")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    def __call__(self, message: Message) -> Awaitable[None]:
        self.begun = True
        return self._send(message)
