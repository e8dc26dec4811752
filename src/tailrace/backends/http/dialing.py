"""Opening a connection to a server."""

import socket
import ssl
import time
from importlib import metadata

from tailrace.backends.http.line import Line
from tailrace.backends.http.location import Location
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError


class Dialing:
    """Thread-safe.

    Args:
        location: Which server.

    Raises:
        StoreUnusableError: The file of certificates can not be used.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        # Once: to read the system's certificates takes longer than to connect.
        self._context = location.context()
        self._headers = common_headers(location)

    def dial(self, seconds: float) -> Line:
        """Open a connection, within so many seconds.

        Raises:
            StoreUnusableError: Not with this TLS.
            DurableStreamUnavailableError: The server is away; nothing was sent.
        """
        where, name = self._location, self._location.name
        deadline = time.monotonic() + seconds
        try:
            sock = socket.create_connection((where.host, where.port), timeout=seconds)
        except (OSError, UnicodeError) as exc:
            raise DurableStreamUnavailableError(f"{name} can not be reached [{exc}]") from exc
        try:
            # Requests are written at once; a second one must not wait for the first to be acknowledged.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(max(0.001, deadline - time.monotonic()))
            if self._context is not None:
                sock = self._context.wrap_socket(sock, server_hostname=where.host)
            return Line(sock, self._headers)
        except ssl.SSLCertVerificationError as exc:
            sock.close()
            said = f"the certificate of {name} is not trusted [{exc.verify_message}]"
            raise StoreUnusableError(f"{said}: name its authority with ?ca=FILE") from exc
        except ssl.SSLError as exc:
            sock.close()
            raise StoreUnusableError(f"{name} does not speak TLS as it should [{exc.reason}]") from exc
        except OSError as exc:
            sock.close()
            raise DurableStreamUnavailableError(f"{name} hung up at once [{exc}]") from exc
        except BaseException:
            sock.close()
            raise


def common_headers(location: Location) -> list[tuple[bytes, bytes]]:
    """Return the headers of every request to a server."""
    headers = {
        "Host": location.authority,
        "User-Agent": f"tailrace/{metadata.version('tailrace')}",
        "Accept": "*/*",
        # What is unpacked has no size that could be known before.
        "Accept-Encoding": "identity",
    }
    if location.key:
        headers["Authorization"] = f"Bearer {location.key}"
    return [(name.encode(), value.encode()) for name, value in headers.items()]
