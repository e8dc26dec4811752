"""docs/tutorials/llm-app.md, followed as it says: its files are made, its commands typed, its app broken.

The long version starts from nothing: it installs what the page installs (Tailrace from this checkout, as the page says
while no index has it), takes the model's own time, and looks at the page with a browser. The short one takes the
packages that are here, a faster model, and HTTP.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.docs.blocks import Block, blocks, lines
from tests.docs.terminal import Terminal
from tests.examples.chrome import Chrome
from tests.examples.crowd import crowd_of

from tailrace.testing.servers.ports import PortClaim

TOP = Path(__file__).parents[2]
PAGE = TOP / "docs/tutorials/llm-app.md"
NUMBERS = " ".join(str(number) for number in range(1, 61))


def whole(prompt: str) -> str:
    """What the page says that the answer is."""
    return f"You asked: {prompt} Let me count to sixty. {NUMBERS} That is all."


class Newcomer:
    """Somebody with an empty folder, a shell and the page.

    Args:
        folder: The empty one.
        port: In place of the page's, which somebody else may have.
        from_nothing: Whether to install what the page installs.
    """

    def __init__(self, folder: Path, port: int, stack: ExitStack, *, from_nothing: bool) -> None:
        self.port = port
        self.folder = folder / "ask"
        self._outside = folder
        self._stack = stack
        self._from_nothing = from_nothing
        found = blocks(PAGE.read_text(encoding="utf-8"))
        self._files = [block for block in found if block.title is not None]
        self._commands = iter([block for block in found if block.language == "console"])
        self.terminals: dict[str, Terminal] = {}
        self.worker = 0

    def set_up(self) -> None:
        """Type the first commands, and make the files."""
        first = self._terminal("third")
        for line in lines(next(self._commands)):
            if self._from_nothing:
                first.done(line.replace("'tailrace[", f"'{TOP}["), timeout=300)
            elif not line.startswith(("python3 -m venv", ". .venv", "pip install")):
                first.done(line)
        for block in self._files:
            (self.folder / str(block.title)).write_text(self._adapted(block), encoding="utf-8")

    def next_block(self) -> Sequence[str]:
        """Type the commands of the next block, wherever the page says; return what they printed."""
        block = next(self._commands)
        typed = [self._command(line) for line in lines(block)]
        if block.terminal is None:
            return [self.terminals["third"].done(line, timeout=90) for line in typed]
        if block.terminal not in self.terminals:
            terminal = self._terminal(block.terminal)
            terminal.done("cd ask")
            if self._from_nothing:
                terminal.done(". .venv/bin/activate")
        terminal = self.terminals[block.terminal]
        begin = len(terminal.output)
        for line in typed:
            terminal.type(line)
        if block.terminal == "worker":
            printed = terminal.until("waits for questions", begin=begin)
            self.worker = int(printed.split("worker ")[-1].split()[0])
        else:
            terminal.until("Application startup complete", begin=begin)
        return []

    def has_read_all(self) -> bool:
        """Whether no command of the page is left."""
        return next(self._commands, None) is None

    def _terminal(self, name: str) -> Terminal:
        self.terminals[name] = self._stack.enter_context(Terminal(self._outside, self._environment()))
        return self.terminals[name]

    def _environment(self) -> dict[str, str]:
        """Of a new shell: nothing of ours, but for where packages come from."""
        pythons = [str(Path(sys.base_prefix) / "bin")] if self._from_nothing else [str(Path(sys.executable).parent)]
        kept = {n: v for n, v in os.environ.items() if n.startswith(("PIP_", "SSL_")) or n.lower().endswith("_proxy")}
        path = ":".join([*pythons, "/usr/local/bin", "/usr/bin", "/bin"])
        return {**kept, "PATH": path, "HOME": str(self._outside), "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}

    def _adapted(self, block: Block) -> str:
        if self._from_nothing or block.title != "model.py":
            return block.body
        assert "time.sleep(0.25)" in block.body
        # The first answer is only read; the second one must not be complete before everything has happened to it.
        return block.body.replace("time.sleep(0.25)", 'time.sleep(0.01 if prompt == "Why?" else 0.05)')

    def _command(self, line: str) -> str:
        return line.replace("8000", str(self.port)).replace("kill -9 12345", f"kill -9 {self.worker}")


@pytest.fixture
def port() -> Iterator[int]:
    claim = PortClaim()
    yield claim.port
    claim.release()


def test_the_tutorial_is_right_over_http(tmp_path: Path, port: int) -> None:
    with ExitStack() as stack:
        somebody = _started(Newcomer(tmp_path, port, stack, from_nothing=False))
        url = f"http://127.0.0.1:{port}/jobs/second"
        httpx.put(url, json={"prompt": "Again?"}, timeout=30).raise_for_status()
        crowd = stack.enter_context(crowd_of(1, port, "/jobs/second/events"))

        crowd.until(lambda reader: len(reader.payloads) >= 10)
        # A page that was reloaded begins anew.
        reloaded = stack.enter_context(crowd_of(1, port, "/jobs/second/events"))
        reloaded.until(lambda reader: len(reader.payloads) >= 12)
        somebody.next_block()
        somebody.next_block()
        crowd.until(lambda reader: len(reader.payloads) >= 20)
        somebody.terminals["api"].interrupt()
        somebody.next_block()
        for each in (crowd, reloaded):
            each.until_finished()
            assert "".join(json.loads(payload) for payload in each.readers[0].payloads) == whole("Again?")
            assert each.readers[0].connections >= 2

        assert httpx.get(url, timeout=30).json() == {"prompt": "Again?", "answer": whole("Again?")}
        assert _answer(somebody.next_block()[0])["answer"] == whole("Why?")
        assert somebody.has_read_all()
        assert "Traceback" not in somebody.terminals["api"].output


@pytest.mark.long
def test_the_tutorial_is_right_from_nothing_in_a_browser(tmp_path: Path, port: int, chrome: Chrome) -> None:
    with ExitStack() as stack:
        somebody = _started(Newcomer(tmp_path, port, stack, from_nothing=True))
        reader = chrome.reader()
        stack.callback(reader.leave)
        reader.open(f"http://127.0.0.1:{port}/")
        reader.ask("Again?")

        reader.until_shown(10)
        reader.reload()
        reader.until_shown(12)
        somebody.next_block()
        assert whole("Again?").startswith(reader.text)
        somebody.next_block()
        reader.until_shown(25)
        somebody.terminals["api"].interrupt()
        reader.page.wait_for_timeout(3000)
        somebody.next_block()
        assert reader.until_state("done") == whole("Again?")
        reader.reload()
        assert reader.until_state("done") == whole("Again?")
        assert reader.faults == []
        assert "Traceback" not in somebody.terminals["api"].output

        assert _answer(somebody.next_block()[0])["answer"] == whole("Why?")
        assert somebody.has_read_all()


def _started(somebody: Newcomer) -> Newcomer:
    """Follow the page to where the app runs, and its first answer is there."""
    somebody.set_up()
    somebody.next_block()
    somebody.next_block()
    asked, events = somebody.next_block()
    assert _answer(asked) == {"prompt": "Why?", "answer": None}
    data = [line.removeprefix("data: ") for line in events.splitlines() if line.startswith("data: ")]
    assert "".join(json.loads(word) for word in data[:-1]) == whole("Why?")
    assert json.loads(data[-1])["kind"] == "sealed"
    assert "event: end" in events
    return somebody


def _answer(printed: str) -> dict[str, Any]:
    """Return the JSON that curl has printed, behind its meter: it shows that where there is no screen."""
    answer: dict[str, Any] = json.loads(printed[printed.index("{") :])
    return answer
