"""Just enough of the protocol to steer a server, so that no client library is needed.

It is not the one whose behaviour a test is about either.
"""

import contextlib
import socket
import ssl
from collections.abc import Iterable, Sequence
from typing import BinaryIO, TypeAlias

Reply: TypeAlias = "bytes | int | list[Reply] | None"
Word: TypeAlias = str | bytes | int


class RespError(Exception):
    """The server answered with an error.

    Attributes:
        code: Its first word, such as ``NOAUTH``.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = message.partition(" ")[0]


class Connection(contextlib.AbstractContextManager["Connection"]):
    """One connection. Not thread-safe.

    Args:
        port: On the loopback.
        password: Of the default user, if it has one.
        tls: For a server that speaks TLS.
        timeout: Seconds that connecting and each answer may take.

    Raises:
        OSError: Nobody answered.
        RespError: The password is wrong.
    """

    def __init__(
        self, port: int, *, password: str | None = None, tls: ssl.SSLContext | None = None, timeout: float = 10.0
    ) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout)
        try:
            if tls is not None:
                self._socket = tls.wrap_socket(self._socket, server_hostname="localhost")
            self._replies: BinaryIO = self._socket.makefile("rb")
            if password is not None:
                self.call("AUTH", password)
        except BaseException:
            self._socket.close()
            raise

    def call(self, *words: Word) -> Reply:
        """Send one command and return the reply: status and bulk strings are bytes.

        Raises:
            RespError: The reply is an error.
            OSError: The connection broke, or no answer came in time.
        """
        self.send(*words)
        return self.receive()

    def send(self, *words: Word) -> None:
        """Send one command, for ``receive`` to fetch the reply of. Raises OSError."""
        self.send_all([words])

    def send_all(self, commands: Iterable[Sequence[Word]]) -> None:
        """Send commands at once, each with a reply of its own. Raises OSError."""
        self._socket.sendall(b"".join(_encoded(words) for words in commands))

    def receive(self) -> Reply:
        """Return the reply to the first command that has none yet; raises as ``call`` does."""
        reply = self._read()
        if isinstance(reply, RespError):
            raise reply
        return reply

    def cipher(self) -> str | None:
        """Return the name of the cipher, or ``None`` over plain TCP."""
        cipher = self._socket.cipher() if isinstance(self._socket, ssl.SSLSocket) else None
        return None if cipher is None else cipher[0]

    def __exit__(self, *_: object) -> None:
        self._replies.close()
        self._socket.close()

    def _read(self) -> "Reply | RespError":
        line = self._replies.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        match kind:
            case b"+":
                return rest
            case b"-":
                return RespError(rest.decode(errors="replace"))
            case b":":
                return int(rest)
            case b"$":
                return None if rest == b"-1" else self._exactly(int(rest) + 2)[:-2]
            case b"*" | b"~" | b">":
                return None if rest == b"-1" else self._members(int(rest))
            case b"%":
                return self._members(2 * int(rest))
        raise ConnectionError(f"not a reply: {line[:80]!r}")

    def _members(self, count: int) -> "Reply":
        # An error inside an array is only told by its text: nobody here runs transactions.
        members = [self._read() for _ in range(count)]
        return [str(member).encode() if isinstance(member, RespError) else member for member in members]

    def _exactly(self, count: int) -> bytes:
        data = self._replies.read(count)
        if len(data) < count:
            raise ConnectionResetError("the server closed the connection")
        return data


def _encoded(words: Sequence[Word]) -> bytes:
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
