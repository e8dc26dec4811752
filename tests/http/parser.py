"""Server-Sent Events as the HTML standard reads them ("9.2.6 Interpreting an event stream"), and nothing more lenient.

It takes exactly what the grammar of the standard allows, and complains about what browsers would pass over in silence.
"""

import base64
from dataclasses import dataclass, field
from typing import NamedTuple


class Event(NamedTuple):
    """One event that a browser would dispatch."""

    type: str
    data: str
    id: str

    @property
    def payload(self) -> bytes:
        """The record."""
        assert self.type in ("message", "base64"), f"no record: {self.type} {self.data}"
        return base64.b64decode(self.data, validate=True) if self.type == "base64" else self.data.encode()


@dataclass
class Parser:
    """Reads a stream as it comes.

    Attributes:
        last_id: What a browser would send as ``Last-Event-ID`` now.
        retry: Milliseconds, as told last.
        comments: How many there were.
        blocks: Per block (whatever a blank line ends), the names of its fields.
    """

    last_id: str = ""
    retry: int | None = None
    comments: int = 0
    blocks: list[tuple[str, ...]] = field(default_factory=list)
    _rest: bytes = b""
    _fields: list[tuple[str, str]] = field(default_factory=list)

    def feed(self, received: bytes) -> list[Event]:
        """Take what came next; return the events that it completed."""
        events = []
        *lines, self._rest = (self._rest + received).split(b"\n")
        for line in lines:
            assert b"\r" not in line, "a carriage return is the end of a line too"
            text = line.decode()
            if not text:
                event = self._dispatch()
                if event is not None:
                    events.append(event)
            elif text.startswith(":"):
                self.comments += 1
            else:
                name, _, value = text.partition(":")
                assert name in ("id", "event", "data", "retry"), f"there is no field {name!r}"
                self._fields.append((name, value.removeprefix(" ")))
        return events

    def _dispatch(self) -> Event | None:
        fields, self._fields = self._fields, []
        if fields:
            self.blocks.append(tuple(name for name, _ in fields))
        kind, data = "message", []
        for name, value in fields:
            if name == "id":
                assert "\0" not in value
                self.last_id = value
            elif name == "event":
                kind = value
            elif name == "retry":
                assert value.isascii()
                assert value.isdigit()
                self.retry = int(value)
            else:
                data.append(value)
        return Event(kind, "\n".join(data), self.last_id) if data else None


def events_of(body: bytes) -> list[Event]:
    """Return the events of a whole stream."""
    return Parser().feed(body)
