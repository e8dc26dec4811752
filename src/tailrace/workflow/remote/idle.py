"""The connections of event loops that nobody uses at the moment: each loop has its own, the last used first."""

import asyncio
import contextlib
import weakref

from tailrace.workflow.remote.conversation import Conversation

KEPT = 8
"""For each loop."""


class Idle:
    """Used from any loop; a connection only ever in its own."""

    def __init__(self) -> None:
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, set[Conversation]] = (
            weakref.WeakKeyDictionary()
        )
        self._idle: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[Conversation]] = (
            weakref.WeakKeyDictionary()
        )
        self._closed = False

    def take(self) -> Conversation | None:
        """Return one that is open, if there is one."""
        stack = self._idle.get(asyncio.get_running_loop(), [])
        while stack:
            conversation = stack.pop()
            if conversation.usable:
                return conversation
            self.drop(conversation)
        return None

    def lend(self, conversation: Conversation) -> None:
        """Note a new one."""
        self._by_loop.setdefault(asyncio.get_running_loop(), set()).add(conversation)
        if self._closed:
            # Closed while it was being opened: nobody else would end it.
            self.drop(conversation)

    def give_back(self, conversation: Conversation) -> None:
        """Keep one for the next request, if it can have one."""
        stack = self._idle.setdefault(asyncio.get_running_loop(), [])
        if self._closed or len(stack) >= KEPT or not conversation.usable:
            self.drop(conversation)
        else:
            stack.append(conversation)

    def drop(self, conversation: Conversation) -> None:
        """Close one. In its loop."""
        self._by_loop.get(asyncio.get_running_loop(), set()).discard(conversation)
        conversation.close()

    def close(self) -> None:
        """Close all of them; requests that are under way end. From any loop or thread."""
        self._closed = True
        for loop, open_ones in list(self._by_loop.items()):
            # In their own loop; one that has ended has closed them.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_close_all, open_ones)
        self._idle.clear()


def _close_all(conversations: set[Conversation]) -> None:
    for conversation in list(conversations):
        conversation.close()
    conversations.clear()
