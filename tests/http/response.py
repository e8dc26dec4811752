"""What comes over a connection, byte for byte: status, headers, and a chunked body as it was cut into chunks. Pure."""

from dataclasses import dataclass, field


@dataclass
class Response:
    """An answer that is taken apart as its bytes come in.

    Attributes:
        status: ``None`` until the head has come.
        headers: By their names in lower case.
        chunks: The body, chunk for chunk.
        ended: Whether it came to its own end, and not to that of the connection.
    """

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    chunks: list[bytes] = field(default_factory=list)
    ended: bool = False
    _rest: bytes = b""

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    def feed(self, received: bytes) -> None:
        """Take what came next."""
        self._rest += received
        if self.status is None:
            head, found, rest = self._rest.partition(b"\r\n\r\n")
            if not found:
                return
            self._rest = rest
            first, *lines = head.decode("latin-1").split("\r\n")
            self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            self.status = int(first.split()[1])
        if self.headers.get("transfer-encoding") == "chunked":
            while not self.ended and self._chunk():
                pass
        elif self.status == 204:
            self.ended = True
        else:
            self._whole()

    def _chunk(self) -> bool:
        size_line, found, rest = self._rest.partition(b"\r\n")
        if not found:
            return False
        size = int(size_line, 16)
        if len(rest) < size + 2:
            return False
        assert rest[size : size + 2] == b"\r\n", "a chunk ends where it says"
        self._rest = rest[size + 2 :]
        if size:
            self.chunks.append(rest[:size])
        else:
            self.ended = True
        return True

    def _whole(self) -> None:
        if self._rest:
            self.chunks.append(self._rest)
            self._rest = b""
        length = self.headers.get("content-length")
        self.ended = length is not None and len(self.body) == int(length)
