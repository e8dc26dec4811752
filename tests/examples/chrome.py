"""Headless Chromium, driven by Playwright: pages of readers, each with cookies, connections and a network of its own.

The pages of the examples keep one contract, so that their tests can be alike: the text that is shown is in ``#answer``,
and ``<body data-state>`` is ``asking``, ``streaming``, ``done`` or ``failed``.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Error, Page, Route, sync_playwright
from typing_extensions import override

from tailrace.testing.servers import chromium
from tailrace.testing.servers.started import Started

# Playwright says by itself that nobody looks.
_OPTIONS = [option for option in chromium.OPTIONS if not option.startswith("--headless")]


class Chrome(Started):
    """One browser. Used by the thread that started it.

    Raises:
        ServerMissingError: There is no Chromium here.
    """

    def __init__(self) -> None:
        self._program, self._variables = chromium.find()
        self._folder = Path(tempfile.mkdtemp(prefix="tailrace-chrome-"))
        self._playwright = sync_playwright()
        self._browser: Browser | None = None

    @override
    def start(self) -> None:
        self._browser = self._playwright.start().chromium.launch(
            executable_path=str(self._program),
            args=_OPTIONS,
            env={**self._variables, "HOME": str(self._folder), "TMPDIR": str(self._folder)},
            timeout=60_000,
        )

    def reader(self) -> "Reader":
        """Return somebody new, who has opened nothing yet."""
        assert self._browser is not None
        return Reader(self._browser.new_context())

    @override
    def close(self) -> None:
        if self._browser is not None:
            self._browser.close()
            self._browser = None
            self._playwright.__exit__()
        shutil.rmtree(self._folder, ignore_errors=True)


class Reader:
    """Somebody who looks at a page of an example.

    Attributes:
        page: Of Playwright, for what is not here.
    """

    def __init__(self, context: BrowserContext) -> None:
        self._context: BrowserContext = context
        self._context.set_default_timeout(30_000)
        self.page: Page = context.new_page()
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def open(self, url: str) -> None:
        """Open a page."""
        self.page.goto(url)

    def reload(self) -> None:
        """Press F5."""
        self.page.reload()

    def ask(self, prompt: str) -> None:
        """Fill in the form and send it."""
        self.page.fill("#prompt", prompt)
        self.page.click("#ask")

    def refused_next(self, pattern: str, *, times: int) -> list[str]:
        """Let a proxy answer 502 so many times in place of these addresses; return the list of those that it did."""
        refused: list[str] = []

        def refuse(route: Route) -> None:
            refused.append(route.request.url)
            route.fulfill(status=502, body="bad gateway")

        self.page.route(pattern, refuse, times=times)
        return refused

    @property
    def text(self) -> str:
        """What is shown now."""
        return self.page.locator("#answer").text_content() or ""

    @property
    def state(self) -> str:
        """As the page says it."""
        return self.page.locator("body").get_attribute("data-state") or ""

    def until_shown(self, pieces: int, timeout: float = 60.0) -> str:
        """Wait until so many words are shown; return the text."""
        # A function and no string to evaluate: pages may forbid that.
        return self._until(lambda: len(self.text.split()) >= pieces, f"{pieces} words are shown", timeout)

    def until_state(self, state: str, timeout: float = 60.0) -> str:
        """Wait until the page is in that state; return the text."""
        return self._until(lambda: self.state == state, f"the page is {state}", timeout)

    def offline(self, offline: bool = True) -> None:
        """Take the network away, or give it back. Connections that are open stay: cut those in a proxy."""
        self._context.set_offline(offline)

    def leave(self) -> None:
        """Close the page and forget everything."""
        self._context.close()

    def _until(self, condition: Callable[[], bool], what: str, timeout: float) -> str:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"not within {timeout} s: {what}; {self!r}"
            # Playwright's own wait: it takes the browser's messages meanwhile.
            self.page.wait_for_timeout(20)
        return self.text

    def __repr__(self) -> str:
        try:
            return f"<Reader of {self.page.url}, {self.state}, shows {self.text[-80:]!r}, faults {self.faults}>"
        except Error as error:
            return f"<Reader of {self.page.url}, {error.message}>"
