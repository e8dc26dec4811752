"""A proxy that understands commands and replies of Redis, to lose exactly the one that a test means.

with RespProxy(("127.0.0.1", server.port)) as proxy:
    loss = proxy.lose_reply("^EVALSHA", nth=3)       # the server performs it, and nobody hears of it
    ...
    assert loss.happened.is_set()
"""

import re
import threading
import weakref
from collections import Counter, deque

from tailrace.testing.faults.proxy import FlakyProxy, Pair, Passed
from tailrace.testing.faults.resp import Frames, is_push, words


class Loss:
    """A plan to lose one command or the reply to it; ``RespProxy`` makes it.

    Attributes:
        performed: Whether the server is to perform the command.
        happened: Set when the connection is about to be cut, and the server has performed it, if it is to.
    """

    def __init__(self, pattern: str, nth: int, *, performed: bool) -> None:
        self.happened = threading.Event()
        self.performed = performed
        self._pattern = re.compile(pattern, re.IGNORECASE)
        self._left = nth

    def meets(self, text: str) -> bool:
        """Count a command; return whether it is the one."""
        if self._left and self._pattern.search(text):
            self._left -= 1
            return self._left == 0
        return False


class RespProxy(FlakyProxy):
    """A ``FlakyProxy`` that takes streams apart: replies are counted, so pipelines are cut at the right place.

    Plain TCP only. A connection that subscribes is answered by other than one reply per command: plan no loss for what
    it sends afterwards.

    Attributes:
        seen: How often each command came by, by its name in capitals.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self.seen: Counter[str] = Counter()
        self._losses: list[Loss] = []
        self._conversations: weakref.WeakKeyDictionary[Pair, Conversation] = weakref.WeakKeyDictionary()
        super().__init__(target)

    def lose_reply(self, pattern: str, *, nth: int = 1) -> Loss:
        """Let the server perform a command, drop its reply, and cut that connection.

        Args:
            pattern: A regular expression, searched for in the words of each command from now on, of any connection,
                joined by spaces; case does not matter.
            nth: Which of the commands that match.
        """
        return self._plan(Loss(pattern, nth, performed=True))

    def lose_request(self, pattern: str, *, nth: int = 1) -> Loss:
        """Cut the connection instead of forwarding a command; arguments as for ``lose_reply``."""
        return self._plan(Loss(pattern, nth, performed=False))

    def _plan(self, loss: Loss) -> Loss:
        with self._lock:
            self._losses.append(loss)
        return loss

    def _serve(self, pair: Pair) -> None:
        with self._lock:
            self._conversations[pair] = Conversation()
        super()._serve(pair)

    def _request(self, pair: Pair, data: bytes) -> Passed:
        passed = super()._request(pair, data)
        conversation = self._conversations[pair]
        forwarded = bytearray()
        for frame in conversation.requests.feed(passed.data):
            # Noted before it is forwarded: its reply can not overtake the note.
            with self._lock:
                loss = self._met_by(words(frame))
                conversation.ask(loss)
            if loss is not None and not loss.performed:
                loss.happened.set()
                return Passed(bytes(forwarded), cut=True)
            forwarded += frame
        return Passed(bytes(forwarded), passed.cut)

    def _reply(self, pair: Pair, data: bytes) -> Passed:
        passed = super()._reply(pair, data)
        conversation = self._conversations[pair]
        forwarded = bytearray()
        for frame in conversation.replies.feed(passed.data):
            if not is_push(frame):
                with self._lock:
                    loss = conversation.answer()
                if loss is not None:
                    loss.happened.set()
                    return Passed(bytes(forwarded), cut=True)
            forwarded += frame
        return Passed(bytes(forwarded), passed.cut)

    def _met_by(self, command: list[bytes]) -> Loss | None:
        if not command:
            return None
        self.seen[command[0].decode("latin-1").upper()] += 1
        text = b" ".join(command).decode("latin-1")
        met = [loss for loss in self._losses if loss.meets(text)]
        return met[0] if met else None


class Conversation:
    """What one connection has asked and not been answered yet."""

    def __init__(self) -> None:
        self.requests = Frames()
        self.replies = Frames()
        self._open: deque[Loss | None] = deque()

    def ask(self, loss: Loss | None) -> None:
        """Note a command, and what is planned for it."""
        self._open.append(loss)

    def answer(self) -> Loss | None:
        """Note a reply; return what is planned for it."""
        return self._open.popleft() if self._open else None
