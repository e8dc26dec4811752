"""examples/fastapi-sqlite as its README runs it, with a real browser: the page shows every word once, in order."""

import importlib.util
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from uuid import uuid4

import httpx
import pytest
from tests.examples.chrome import Chrome, Reader
from tests.examples.running import EXAMPLES, Example

from tailrace.testing.faults import FlakyProxy
from tailrace.testing.servers.ports import PortClaim

LONG = pytest.mark.long
FOLDER = EXAMPLES / "fastapi-sqlite"
API, WORKER = "chat.api", "chat.worker"


def _model() -> ModuleType:
    spec = importlib.util.spec_from_file_location("chat_model", FOLDER / "chat/model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(prompt: str) -> str:
    """What a page shows at the end."""
    return "".join(_model().whole_answer(prompt))


class Chat(Example):
    """The example, with short leases and words that come fast."""

    def __init__(self, data: Path, *, lease: float = 1.5, pause: float = 0.05) -> None:
        self._claim = PortClaim()
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
        reader.page.wait_for_timeout(500)
        assert len(reader.text.split()) <= shown + 1
        wire.accept()
        reader.offline(False)

        assert reader.until_state("done") == whole
        # And once more from the row.
        reader.reload()
        assert reader.until_state("done") == whole
        assert reader.faults == []


def test_ctrl_c_ends_all_and_the_next_start_goes_on(tmp_path: Path, reader: Reader) -> None:
    prompt = "to be continued"
    with Chat(tmp_path / "data") as first:
        job = first.ask(prompt)
        reader.open(f"{first.url}/chats/{job}")
        reader.until_shown(5)
        assert first.interrupt() == 0
    with Chat(tmp_path / "data") as second:
        reader.open(f"{second.url}/chats/{job}")
        assert reader.until_state("done") == expected(prompt)
