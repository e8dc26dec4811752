"""A server that refuses everything, and remembers how it was asked."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

REFUSAL = b'{"message": "there is no such namespace", "reason": "namespace_not_found"}'


class Recorder:
    """Listens on a free port of the loopback.

    Attributes:
        seen: Headers of every request, by their names in lower case.
    """

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", "0")))
                recorder.seen.append({name.lower(): value for name, value in self.headers.items()})
                self.send_response(404)
                self.send_header("content-length", str(len(REFUSAL)))
                self.end_headers()
                self.wfile.write(REFUSAL)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.block_on_close = False
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
