"""A browser that runs what tests tell it: it opens one page, which fetches scripts and posts what they return.

Scripts are bodies of asynchronous functions; several may run at once.
"""

import http.server
import itertools
import json
import queue
import threading
from typing import Any

from typing_extensions import override

from tailrace.testing.servers.chromium import Chromium
from tailrace.testing.servers.errors import ServerFailedError
from tailrace.testing.servers.started import Started

_STARTS_WITHIN = 60.0

_PAGE = b"""<!doctype html><meta charset=utf-8><script>
const Script = (async () => {}).constructor;
async function run({number, text}) {
  let answer;
  try { answer = {value: await new Script(text)()}; } catch (error) { answer = {error: String(error.stack || error)}; }
  await fetch("/answers/" + number, {method: "POST", body: JSON.stringify(answer)});
}
(async () => { for (;;) run(await (await fetch("/next", {cache: "no-store"})).json()); })();
</script>"""


class Browser(Started):
    """Started with the first page open. ``run`` may be called from several threads."""

    def __init__(self) -> None:
        self._scripts: queue.Queue[dict[str, Any]] = queue.Queue()
        self._answers: dict[int, queue.Queue[Any]] = {}
        self._numbers = itertools.count()
        browser = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                if self.path == "/next":
                    self._send(json.dumps(browser._scripts.get()).encode(), "application/json")
                elif self.path == "/":
                    self._send(_PAGE, "text/html")
                else:
                    self.send_error(404)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                browser._answers[int(self.path.rpartition("/")[2])].put(json.loads(body))
                self._send(b"", "text/plain")

            def _send(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, name="browser-page")
        self._chromium = Chromium(f"http://127.0.0.1:{self._server.server_port}/")

    @override
    def start(self) -> None:
        self._thread.start()
        self._chromium.start()
        try:
            self.run("return 1", timeout=_STARTS_WITHIN)
        except queue.Empty:
            raise ServerFailedError(f"Chromium opened no page; {self._chromium.log_end()}") from None

    @override
    def close(self) -> None:
        self._chromium.close()
        # Whoever waits for the next script.
        for _ in range(8):
            self._scripts.put({})
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def run(self, text: str, *, timeout: float = 60.0, **values: Any) -> Any:
        """Run a script with these names defined; return what it returns.

        Raises:
            AssertionError: The script threw.
        """
        return self.begin(text, **values)(timeout)

    def begin(self, text: str, **values: Any) -> Any:
        """Begin to run a script; return a function of a timeout that waits for its value."""
        number = next(self._numbers)
        answers: queue.Queue[Any] = queue.Queue()
        self._answers[number] = answers
        names = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
        self._scripts.put({"number": number, "text": names + text})

        def wait(timeout: float = 60.0) -> Any:
            answer = answers.get(timeout=timeout)
            assert "error" not in answer, answer["error"]
            return answer["value"]

        return wait
