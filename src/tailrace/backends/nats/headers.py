"""The driver's client, which tells at once that it ends, and whose headers are read when they are asked for.

A message that was looked up comes with seven headers, of which two matter, and to parse all of them costs more than
everything else that is done with it. Should the driver once call its method by another name, it parses them again, and
nothing else changes: both ways are mappings of text.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nats.aio.client import Client
from typing_extensions import override


class Headers(Mapping[str, str]):
    """The headers of one message, as bytes. ``Status`` and ``Description`` are those of the first line."""

    __slots__ = ("_raw",)

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    @override
    def __getitem__(self, name: str) -> str:
        raw = self._raw
        if name in ("Status", "Description"):
            _, _, line = raw[: raw.find(b"\r\n")].partition(b" ")
            status, _, description = line.strip().partition(b" ")
            found = status if name == "Status" else description
            if not found:
                raise KeyError(name)
            return found.decode()
        start = raw.find(b"\r\n%b:" % name.encode())
        if start < 0:
            raise KeyError(name)
        start += len(name) + 3
        return raw[start : raw.find(b"\r\n", start)].strip().decode(errors="replace")

    def __bool__(self) -> bool:
        return True

    @override
    def __iter__(self) -> Iterator[str]:
        lines = self._raw.split(b"\r\n")
        yield from (name for name in ("Status", "Description") if name in self)
        yield from (line.partition(b":")[0].decode(errors="replace") for line in lines[1:] if line)

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)


class QuickClient(Client):
    """For this folder only: what the driver does with headers of its own subscriptions is not done.

    Attributes:
        closing: Called as soon as the driver gives a connection up. It tells so itself only when it has closed it, and
            that may take long, or for ever.
    """

    closing: Callable[[], None] | None = None

    async def _close(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - the driver's
        if self.closing is not None:
            self.closing()
        await super()._close(*args, **kwargs)

    async def _process_headers(self, headers: bytes) -> Any:  # noqa: ANN401 - a dictionary, to the driver
        return Headers(headers) if headers else None
