"""Just enough of the protocol to steer a server, so that no client library is needed.

It is not the one whose behaviour a test is about either.
"""

import contextlib
import json
import secrets
import socket
import ssl
from collections.abc import Mapping
from typing import Any, BinaryIO


class NatsError(Exception):
    """The server, or its JetStream, answered with an error.

    Attributes:
        code: JetStream's own number for it; 0 if it has none.
    """

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class Connection(contextlib.AbstractContextManager["Connection"]):
    """One connection. Not thread-safe.

    Args:
        port: On the loopback.
        login: What CONNECT says about who it is: ``user`` and ``pass``, or ``auth_token``.
        tls: For a server that speaks TLS.
        timeout: Seconds that connecting and each answer may take.

    Attributes:
        info: The server's greeting.

    Raises:
        OSError: Nobody answered.
        NatsError: The server lets nobody of that name in.
    """

    def __init__(
        self,
        port: int,
        *,
        login: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        timeout: float = 10.0,
    ) -> None:
        self._inbox = f"_INBOX.{secrets.token_hex(8)}"
        self._socket = socket.create_connection(("127.0.0.1", port), timeout)
        self._lines: BinaryIO = self._socket.makefile("rb")
        try:
            self.info: dict[str, Any] = json.loads(self._line().partition(b" ")[2])
            if tls is not None:
                # The greeting comes before the handshake: nothing of what follows was read ahead.
                self._socket = tls.wrap_socket(self._socket, server_hostname="localhost")
                self._lines = self._socket.makefile("rb")
            hello = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "protocol": 1}
            self._send(
                f"CONNECT {json.dumps({**hello, **(login or {})})}\r\nSUB {self._inbox}.* 1\r\nPING\r\n".encode()
            )
            while self._line() != b"PONG":
                pass
        except BaseException:
            self._close()
            raise

    def request(self, subject: str, payload: bytes = b"") -> bytes:
        """Send one message and return the body of the reply.

        Raises:
            NatsError: Nobody is there for that subject, or it is forbidden.
            OSError: The connection broke, or no answer came in time.
        """
        reply = f"{self._inbox}.{secrets.token_hex(4)}"
        self._send(f"PUB {subject} {reply} {len(payload)}\r\n".encode() + payload + b"\r\n")
        while True:
            words = self._line().split(b" ")
            if words[0] not in (b"MSG", b"HMSG"):
                continue
            body = self._exactly(int(words[-1]) + 2)[:-2]
            if words[1].decode() != reply:
                continue
            if words[0] == b"MSG":
                return body
            size = int(words[-2])
            if body.startswith(b"NATS/1.0 503"):
                raise NatsError(f"nobody answers to {subject}")
            return body[size:]

    def jetstream(self, operation: str, **arguments: object) -> dict[str, Any]:
        """Ask JetStream: ``STREAM.INFO.events`` is an operation. Return what it answers.

        Raises:
            NatsError: It says no, or is not there.
            OSError: The connection broke, or no answer came in time.
        """
        answer = self.request(f"$JS.API.{operation}", json.dumps(arguments).encode() if arguments else b"")
        told: dict[str, Any] = json.loads(answer)
        if "error" in told:
            raise NatsError(told["error"]["description"], told["error"].get("err_code", 0))
        return told

    def publish(self, subject: str, payload: bytes) -> None:
        """Send one message that nobody answers; return when the server has read it. Raises as ``request`` does."""
        self._send(f"PUB {subject} {len(payload)}\r\n".encode() + payload + b"\r\nPING\r\n")
        while self._line() != b"PONG":
            pass

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self._lines.close()
        self._socket.close()

    def _send(self, words: bytes) -> None:
        self._socket.sendall(words)

    def _line(self) -> bytes:
        line = self._lines.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError("the server closed the connection")
        if line.startswith(b"PING"):
            self._send(b"PONG\r\n")
        if line.startswith(b"-ERR"):
            raise NatsError(line[5:-2].decode(errors="replace").strip("'"))
        return line[:-2]

    def _exactly(self, count: int) -> bytes:
        data = self._lines.read(count)
        if len(data) < count:
            raise ConnectionResetError("the server closed the connection")
        return data
