"""examples/flask-celery-redis as its README runs it, with a real browser: the page shows every token once, in order."""

import asyncio
import contextlib
import importlib.util
import json
import signal
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import httpx
import pytest
import redis
from tests.examples.chrome import Chrome, Reader
from tests.examples.crowd import Crowd
from tests.examples.running import EXAMPLES, Example
from tests.http.reader import LiveReader

import tailrace
from tailrace.testing.faults import FlakyProxy
from tailrace.testing.reading import payloads
from tailrace.testing.servers.ports import PortClaim
from tailrace.testing.servers.redis import RedisServer
from tailrace.testing.servers.waiting import until

LONG = pytest.mark.long
FOLDER = EXAMPLES / "flask-celery-redis"
WEB, WORKER = "gunicorn", "answers.tasks"


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"answers_{name}", FOLDER / f"answers/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


model, attempts = _module("model"), _module("attempts")


def expected(prompt: str) -> str:
    """What a page shows at the end."""
    return "".join(model.whole_answer(prompt))


class Answers(Example):
    """The example, with tokens that come fast, and with a Redis of its own unless it is given one."""

    def __init__(
        self,
        folder: Path,
        *,
        url: str = "",
        pause: float = 0.06,
        redelivery: float = 3.0,
        command: tuple[str, ...] = (sys.executable, "-m", "answers"),
        patience: float = 60.0,
    ) -> None:
        self._claims = [PortClaim(), PortClaim()]
        self.port, self.redis_port = (claim.port for claim in self._claims)
        self.url = f"http://127.0.0.1:{self.port}"
        self.redis_url = url or f"redis://127.0.0.1:{self.redis_port}/0"
        settings = {
            "ANSWERS_DATA": folder / "data",
            "ANSWERS_PORT": self.port,
            "ANSWERS_REDIS_PORT": self.redis_port,
            "ANSWERS_TOKEN_SECONDS": pause,
            "ANSWERS_REDELIVERY_SECONDS": redelivery,
            "REDIS_URL": url,
            # gunicorn keeps a socket there.
            "HOME": folder,
        }
        super().__init__(
            command,
            FOLDER,
            ready=f"{self.url}/",
            environment={name: str(value) for name, value in settings.items()},
            patience=patience,
        )

    def start(self) -> None:
        super().start()
        self.until_works()

    def until_works(self) -> None:
        """Block until Celery takes tasks."""
        until(lambda: " ready." in self.output().rpartition("celery runs as")[2], "Celery is ready", timeout=60)

    def ask(self, prompt: str, run: str = "") -> str:
        """Ask as the page does; return the run."""
        run = run or str(uuid.uuid4())
        answer = httpx.post(f"{self.url}/runs/{run}", data={"prompt": prompt}, timeout=30)
        assert answer.status_code == 303, answer.text
        return run

    def log(self, run: str) -> tuple[list[bytes], "object"]:
        """Return the records of a run, and what a reader makes of them."""
        log = attempts.Log()
        with tailrace.connect(self.redis_url) as streams:
            with streams.topic(f"run:{run}").subscribe_from_beginning() as subscription:
                records = []
                while isinstance(record := subscription.receive(timeout=1), tailrace.DurableStreamRecord):
                    records.append(record)
        found = payloads(records)
        for payload in found:
            log.apply(payload)
        return found, log

    def kill_worker(self) -> None:
        """End Celery and all its processes with SIGKILL; return once another one takes tasks."""
        self.kill(WORKER)
        self.until_works()

    def close(self) -> None:
        super().close()
        for claim in self._claims:
            claim.release()


@pytest.fixture
def reader(chrome: Chrome) -> Iterator[Reader]:
    somebody = chrome.reader()
    yield somebody
    somebody.leave()


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[Answers]:
    with Answers(tmp_path) as started:
        yield started


def run_of(reader: Reader) -> str:
    """Return the run whose page is open."""
    return reader.page.url.rpartition("/")[2]


def ask(reader: Reader, url: str, prompt: str) -> str:
    """Ask in the browser; return what is to be shown in the end."""
    reader.open(url)
    reader.ask(prompt)
    return expected(prompt)


def test_an_answer_outlives_a_reload_a_killed_worker_and_a_restarted_server(answers: Answers, reader: Reader) -> None:
    whole = ask(reader, answers.url, "everything at once")
    assert whole.startswith(reader.until_shown(5))
    reader.reload()
    assert whole.startswith(reader.until_shown(8))

    answers.kill(WORKER)
    answers.kill(WEB, how=signal.SIGTERM)

    assert reader.until_state("done") == whole
    reader.reload()
    assert reader.until_state("done") == whole
    assert reader.faults == []
    records, log = answers.log(run_of(reader))
    # Two claims, the prompt, each token once, the end: nothing in the topic is to be ignored.
    assert log.attempts == 2
    assert len(records) == 2 + 1 + len(whole.split()) + 1
