"""examples/fastapi-sqlite as its README runs it, with a real browser: the page shows every word once, in order."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from tests.examples.chrome import Chrome, Reader
from tests.examples.crowd import crowd_of
from tests.examples.files import copied, module_of
from tests.examples.running import EXAMPLES, Example

from tailrace import workflow
from tailrace.testing.faults import FlakyProxy
from tailrace.testing.servers.ports import PortClaim
from tailrace.testing.servers.waiting import until

LONG = pytest.mark.long
FOLDER = EXAMPLES / "fastapi-sqlite"
API, WORKER = "chat.api", "chat.worker"


def expected(prompt: str) -> str:
    """What a page shows at the end."""
    return "".join(module_of(FOLDER, "chat/model.py").whole_answer(prompt))


class Chat(Example):
    """The example, with short leases and words that come fast."""

    def __init__(self, data: Path, *, lease: float = 1.0, pause: float = 0.05) -> None:
        self._claim = PortClaim()
        self.data = data
        self.port = self._claim.port
        self.url = f"http://127.0.0.1:{self.port}"
        settings = {"CHAT_DATA": data, "CHAT_PORT": self.port, "CHAT_LEASE": lease, "CHAT_PAUSE": pause}
        super().__init__(
            [sys.executable, "-m", "chat"],
            FOLDER,
            ready=f"{self.url}/",
            environment={name: str(value) for name, value in settings.items()},
        )

    def ask(self, prompt: str) -> str:
        """Ask as the page does; return the id."""
        job = str(uuid4())
        httpx.put(f"{self.url}/api/jobs/{job}", json={"prompt": prompt}, timeout=30).raise_for_status()
        return job

    def until_done(self, job: str) -> None:
        """Wait until the answer is in the row."""

        def done() -> bool:
            state: str = httpx.get(f"{self.url}/api/jobs/{job}", timeout=30).json()["state"]
            return state == "done"

        until(done, "the answer is complete", timeout=60, step=0.1)

    @contextmanager
    def another_worker(self) -> Iterator[None]:
        """One more, besides that of the command."""
        process = subprocess.Popen([sys.executable, "-m", WORKER], cwd=FOLDER, env=self.environment)
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)

    def close(self) -> None:
        super().close()
        self._claim.release()


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    with Chat(tmp_path / "data") as started:
        yield started


@pytest.fixture
def reader(chrome: Chrome) -> Iterator[Reader]:
    somebody = chrome.reader()
    yield somebody
    somebody.leave()


def test_an_answer_outlives_a_reload_a_killed_worker_a_restarted_api_and_a_lost_network(
    chat: Chat, reader: Reader
) -> None:
    with FlakyProxy(("127.0.0.1", chat.port)) as wire:
        prompt = "everything at once"
        whole = expected(prompt)
        reader.open(f"http://127.0.0.1:{wire.port}/")
        reader.ask(prompt)
        assert whole.startswith(reader.until_shown(5))

        reader.reload()
        assert whole.startswith(reader.until_shown(8))

        chat.kill(WORKER)
        assert whole.startswith(reader.until_shown(15))

        chat.kill(API, how=signal.SIGTERM)
        assert whole.startswith(reader.until_shown(25))

        reader.offline()
        wire.refuse()
        shown = len(reader.text.split())
        reader.page.wait_for_timeout(300)
        assert len(reader.text.split()) <= shown + 1
        wire.accept()
        reader.offline(False)

        assert reader.until_state("done") == whole
        # And once more from the row.
        reader.reload()
        assert reader.until_state("done") == whole
        assert reader.faults == []
    # The streams ended when the API was told to end: it did not wait for them.
    assert "graceful shutdown exceeded" not in chat.output()


@LONG
def test_ctrl_c_ends_all_and_the_next_start_goes_on(tmp_path: Path, reader: Reader) -> None:
    prompt = "to be continued"
    with Chat(tmp_path / "data") as first:
        job = first.ask(prompt)
        reader.open(f"{first.url}/chats/{job}")
        reader.until_shown(5)
        assert first.interrupt() == 0
        assert "Traceback" not in first.output()
    with Chat(tmp_path / "data") as second:
        reader.open(f"{second.url}/chats/{job}")
        assert reader.until_state("done") == expected(prompt)


@LONG
def test_reloads_lose_and_double_nothing(chat: Chat, reader: Reader) -> None:
    prompt = "reload me"
    whole = expected(prompt)
    job = chat.ask(prompt)
    reader.open(f"{chat.url}/chats/{job}")
    for words in range(4, len(whole.split()), 4):
        assert whole.startswith(reader.until_shown(words))
        reader.reload()
    assert reader.until_state("done") == whole
    assert reader.faults == []


@LONG
@pytest.mark.parametrize(("part", "how"), [(WORKER, signal.SIGKILL), (API, signal.SIGKILL), (API, signal.SIGTERM)])
def test_a_part_that_is_ended_again_and_again_costs_nothing(
    chat: Chat, reader: Reader, part: str, how: signal.Signals
) -> None:
    prompt = f"{part} {how.name}"
    whole = expected(prompt)
    reader.open(f"{chat.url}/chats/{chat.ask(prompt)}")
    for words in (4, 9, 14, 19, 24):
        assert whole.startswith(reader.until_shown(words))
        chat.kill(part, how=how)
    assert reader.until_state("done") == whole
    assert reader.faults == []


@LONG
def test_a_worker_that_was_stopped_for_long_doubles_nothing(chat: Chat, reader: Reader) -> None:
    """It does not know that another one has its job now, and goes on in the middle of an append."""
    prompt = "asleep at the wheel"
    whole = expected(prompt)
    reader.open(f"{chat.url}/chats/{chat.ask(prompt)}")
    reader.until_shown(5)
    (sleeper,) = chat.processes(WORKER)
    sleeper.suspend()
    shown = len(reader.text.split())
    with chat.another_worker():
        assert whole.startswith(reader.until_shown(shown + 5))
        sleeper.resume()
        assert reader.until_state("done") == whole
        reader.reload()
        assert reader.until_state("done") == whole


@LONG
def test_a_network_that_comes_and_goes_costs_nothing(chat: Chat, reader: Reader) -> None:
    with FlakyProxy(("127.0.0.1", chat.port)) as wire:
        prompt = "in a tunnel"
        whole = expected(prompt)
        reader.open(f"http://127.0.0.1:{wire.port}/")
        reader.offline()
        # Asked without a network: the page asks until there is one, and has asked once.
        reader.ask(prompt)
        reader.page.wait_for_timeout(1500)
        reader.offline(False)
        for words in (5, 15, 25):
            assert whole.startswith(reader.until_shown(words))
            reader.offline()
            wire.refuse()
            reader.page.wait_for_timeout(1000)
            wire.accept()
            reader.offline(False)
        assert reader.until_state("done") == whole
        assert reader.faults == []


@LONG
def test_a_proxy_that_answers_in_place_of_the_api_does_not_end_the_page(chat: Chat, reader: Reader) -> None:
    """A browser gives up on a status of 502: the page opens the stream again, after the event that it saw last."""
    prompt = "bad gateway"
    whole = expected(prompt)
    reader.open(f"{chat.url}/chats/{chat.ask(prompt)}")
    reader.until_shown(5)
    refused = reader.refused_next("**/events*", times=2)
    chat.kill(API, how=signal.SIGTERM)
    assert reader.until_state("done") == whole
    assert len(refused) == 2


@LONG
def test_a_page_that_comes_back_after_the_stream_is_gone_shows_the_answer(chat: Chat, reader: Reader) -> None:
    with FlakyProxy(("127.0.0.1", chat.port)) as wire:
        prompt = "a day later"
        job = chat.ask(prompt)
        reader.open(f"http://127.0.0.1:{wire.port}/chats/{job}")
        reader.until_shown(5)
        wire.refuse()
        chat.until_done(job)
        with workflow.connect(f"sqlite:///{chat.data / 'streams.db'}") as workflows:
            assert workflows.delete("chat", job)
        wire.accept()
        assert reader.until_state("done") == expected(prompt)


@LONG
def test_fifty_readers_have_every_word_once_whatever_happens(tmp_path: Path, chrome: Chrome) -> None:
    prompt = "to all of you"
    whole = expected(prompt)
    pages = [chrome.reader() for _ in range(3)]
    try:
        # Slow, so that the answer is not complete before everything has happened to it.
        with Chat(tmp_path / "data", pause=0.5) as chat, FlakyProxy(("127.0.0.1", chat.port)) as wire:
            job = chat.ask(prompt)
            for page in pages:
                page.open(f"http://127.0.0.1:{wire.port}/chats/{job}")
            with crowd_of(50, wire.port, f"/api/jobs/{job}/events") as crowd:
                crowd.until(lambda reader: len(reader.payloads) > 3)
                wire.cut()
                chat.kill(WORKER)
                crowd.until(lambda reader: len(reader.payloads) > 10)
                chat.kill(API, how=signal.SIGTERM)
                chat.until_ready()
                pages[0].reload()
                crowd.until(lambda reader: len(reader.payloads) > 20)
                chat.kill(API)
                crowd.until_finished()
                texts = [text_of(reader.payloads) for reader in crowd.readers]
                connections = [reader.connections for reader in crowd.readers]
            assert [page.until_state("done") for page in pages] == [whole] * len(pages)
        assert texts == [whole] * 50
        assert min(connections) >= 3
    finally:
        for page in pages:
            page.leave()


@LONG
def test_the_command_of_the_readme_needs_nothing_else(tmp_path: Path, reader: Reader) -> None:
    """In a copy without anything that was made here, with a virtual environment of its own."""
    claim = PortClaim()
    try:
        folder = copied(FOLDER, tmp_path)
        url = f"http://127.0.0.1:{claim.port}/"
        environment = {"CHAT_PORT": str(claim.port)}
        with Example(["./run"], folder, ready=url, environment=environment, patience=240) as example:
            reader.open(url)
            reader.ask("from scratch")
            assert reader.until_state("done", timeout=120) == expected("from scratch")
            assert example.interrupt() == 0
    finally:
        claim.release()


def text_of(payloads: list[bytes]) -> str:
    return "".join(json.loads(payload).get("text", "") for payload in payloads)
