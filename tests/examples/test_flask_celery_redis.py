"""examples/flask-celery-redis as its README runs it, with a real browser: the page shows every token once, in order."""

import contextlib
import json
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.examples.chrome import Chrome, Reader
from tests.examples.crowd import crowd_of
from tests.examples.files import copied, module_of
from tests.examples.running import EXAMPLES, Example

import tailrace
from tailrace.testing.faults import FlakyProxy
from tailrace.testing.reading import payloads
from tailrace.testing.servers.ports import PortClaim
from tailrace.testing.servers.redis import RedisServer
from tailrace.testing.servers.waiting import until

LONG = pytest.mark.long
FOLDER = EXAMPLES / "flask-celery-redis"
WEB, WORKER = "gunicorn", "answers.tasks"


model, attempts = (module_of(FOLDER, f"answers/{name}.py") for name in ("model", "attempts"))


def expected(prompt: str) -> str:
    """What a page shows at the end."""
    return "".join(model.whole_answer(prompt))


class Answers(Example):
    """The example, with tokens that come fast, and with a Redis of its own unless it is given one."""

    def __init__(
        self,
        home: Path,
        *,
        url: str = "",
        pause: float = 0.06,
        redelivery: float = 3.0,
        folder: Path = FOLDER,
        command: tuple[str, ...] = (sys.executable, "-m", "answers"),
        patience: float = 60.0,
    ) -> None:
        self._claims = [PortClaim(), PortClaim()]
        self.port, self.redis_port = (claim.port for claim in self._claims)
        self.url = f"http://127.0.0.1:{self.port}"
        self.redis_url = url or f"redis://127.0.0.1:{self.redis_port}/0"
        settings = {
            "ANSWERS_DATA": home / "data",
            "ANSWERS_PORT": self.port,
            "ANSWERS_REDIS_PORT": self.redis_port,
            "ANSWERS_TOKEN_SECONDS": pause,
            "ANSWERS_REDELIVERY_SECONDS": redelivery,
            "REDIS_URL": url,
            # gunicorn keeps a socket there.
            "HOME": home,
        }
        super().__init__(
            command,
            folder,
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

    def log(self, run: str) -> tuple[list[bytes], Any]:
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

    def kill_pool(self) -> None:
        """End all of Celery but its main process with SIGKILL."""
        main, *pool = self.processes(WORKER)
        for process in pool:
            if process.ppid() == main.pid:
                process.kill()
        psutil.wait_procs(pool, timeout=30)

    def close(self) -> None:
        super().close()
        for claim in self._claims:
            claim.release()


@pytest.fixture
def reader(chrome: Chrome) -> Iterator[Reader]:
    somebody = chrome.reader()
    yield somebody
    somebody.leave()


@pytest.fixture(scope="module")
def store() -> Iterator[RedisServer]:
    with RedisServer(aof="everysec") as server:
        yield server


@pytest.fixture(scope="module")
def shared(store: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """With a Redis that tests can end and start again. Celery takes seconds to start, so the long tests share one."""
    with Answers(tmp_path_factory.mktemp("answers"), url=store.url) as started:
        yield started


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    with Answers(tmp_path_factory.mktemp("answers")) as started:
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
    assert stored_once(answers, run_of(reader), whole) >= 2


def test_an_answer_that_fails_says_why(answers: Answers, reader: Reader) -> None:
    reader.open(answers.url)
    reader.ask("something forbidden")
    assert reader.until_state("failed") == ""
    assert reader.page.text_content("#note") == "The model refused to answer."
    nobody = httpx.get(f"{answers.url}/runs/{uuid.uuid4()}/events", params={"cursor": "nonsense"})
    assert nobody.status_code == 400
    assert httpx.post(f"{answers.url}/runs/{uuid.uuid4()}", data={"prompt": " "}).status_code == 400


@LONG
def test_reloads_lose_and_double_nothing(shared: Answers, reader: Reader) -> None:
    whole = ask(reader, shared.url, "reload me")
    for words in range(4, len(whole.split()), 6):
        assert whole.startswith(reader.until_shown(words))
        reader.reload()
    assert reader.until_state("done") == whole
    assert reader.faults == []


@LONG
def test_processes_of_the_pool_that_are_killed_cost_nothing(shared: Answers, reader: Reader) -> None:
    whole = ask(reader, shared.url, "out of memory")
    for words in (5, 20, 40):
        assert whole.startswith(reader.until_shown(words))
        shared.kill_pool()
    assert reader.until_state("done") == whole
    assert stored_once(shared, run_of(reader), whole) >= 2


@LONG
def test_workers_that_are_killed_cost_nothing(shared: Answers, reader: Reader) -> None:
    whole = ask(reader, shared.url, "pulled out of the wall")
    for words in (5, 30):
        assert whole.startswith(reader.until_shown(words))
        shared.kill_worker()
    assert reader.until_state("done") == whole
    assert stored_once(shared, run_of(reader), whole) >= 3


@LONG
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_web_servers_that_are_restarted_cost_nothing(shared: Answers, reader: Reader, how: signal.Signals) -> None:
    whole = ask(reader, shared.url, f"web {how.name}")
    for words in (5, 30):
        assert whole.startswith(reader.until_shown(words))
        shared.kill(WEB, how=how)
    assert reader.until_state("done") == whole
    assert stored_once(shared, run_of(reader), whole) >= 1


@LONG
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_redis_that_is_away_costs_nothing(shared: Answers, store: RedisServer, reader: Reader, how: str) -> None:
    """It has an append-only file: what it had acknowledged is there when it comes back."""
    whole = ask(reader, shared.url, f"redis {how}")
    for words in (5, 30):
        assert whole.startswith(reader.until_shown(words))
        getattr(store, how)()
        refused = httpx.post(f"{shared.url}/runs/{uuid.uuid4()}", data={"prompt": "now?"}, timeout=30)
        assert refused.status_code == 503
        time.sleep(1)
        store.start()
    assert reader.until_state("done") == whole
    assert reader.faults == []
    # Celery delivers again what it could not acknowledge; and goes on taking tasks.
    second = shared.ask(f"after redis {how}")
    reader.open(f"{shared.url}/runs/{second}")
    assert reader.until_state("done") == expected(f"after redis {how}")


@LONG
def test_a_redis_that_has_lost_records_gets_them_again(
    shared: Answers, store: RedisServer, reader: Reader, tmp_path: Path
) -> None:
    """As after a power failure: what it had acknowledged last is gone. Page and worker are told, and begin again."""
    whole = ask(reader, shared.url, "a spare disk")
    assert whole.startswith(reader.until_shown(8))
    store.backup(tmp_path / "backup")
    assert whole.startswith(reader.until_shown(30))
    store.restore(tmp_path / "backup")
    assert reader.until_state("done", timeout=120) == whole
    reader.reload()
    assert reader.until_state("done") == whole


@LONG
def test_a_network_that_comes_and_goes_costs_nothing(shared: Answers, reader: Reader) -> None:
    with FlakyProxy(("127.0.0.1", shared.port)) as wire:
        whole = ask(reader, f"http://127.0.0.1:{wire.port}", "in a tunnel")
        for words in (5, 25, 45):
            assert whole.startswith(reader.until_shown(words))
            reader.offline()
            wire.refuse()
            reader.page.wait_for_timeout(1000)
            wire.accept()
            reader.offline(False)
        assert reader.until_state("done") == whole
        assert reader.faults == []


@LONG
def test_a_proxy_that_answers_in_place_of_the_server_does_not_end_the_page(shared: Answers, reader: Reader) -> None:
    whole = ask(reader, shared.url, "bad gateway")
    reader.until_shown(5)
    refused = reader.refused_next("**/events*", times=2)
    shared.kill(WEB, how=signal.SIGTERM)
    assert reader.until_state("done") == whole
    assert len(refused) == 2


@LONG
def test_a_run_that_is_sent_several_times_is_shown_once(shared: Answers, reader: Reader) -> None:
    """As after a form that was sent twice, and by a broker that delivers again what still runs."""
    prompt = "twice"
    run = shared.ask(prompt)
    reader.open(f"{shared.url}/runs/{run}")
    assert expected(prompt).startswith(reader.until_shown(10))
    shared.ask(prompt, run)
    assert reader.until_state("done") == expected(prompt)
    assert stored_once(shared, run, expected(prompt)) >= 2
    # And once more when it is over.
    shared.ask(prompt, run)
    reader.reload()
    assert reader.until_state("done") == expected(prompt)


@LONG
def test_a_worker_that_was_stopped_for_long_doubles_nothing(shared: Answers, reader: Reader) -> None:
    """It goes on where it was stopped, in the middle of an append perhaps, when another one has its run."""
    prompt = "asleep at the wheel"
    run = shared.ask(prompt)
    reader.open(f"{shared.url}/runs/{run}")
    assert expected(prompt).startswith(reader.until_shown(5))
    sleepers = shared.processes(WORKER)
    for process in sleepers:
        process.suspend()
    shown = len(reader.text.split())
    with another_worker(shared):
        shared.ask(prompt, run)
        assert expected(prompt).startswith(reader.until_shown(shown + 5))
        for process in sleepers:
            process.resume()
        assert reader.until_state("done") == expected(prompt)
    reader.reload()
    assert reader.until_state("done") == expected(prompt)


@LONG
def test_fifty_readers_have_every_token_once_whatever_happens(
    shared: Answers, store: RedisServer, chrome: Chrome
) -> None:
    prompt = "to all of you"
    whole = expected(prompt)
    run = shared.ask(prompt)
    pages = [chrome.reader() for _ in range(3)]
    try:
        with FlakyProxy(("127.0.0.1", shared.port)) as wire:
            for page in pages:
                page.open(f"http://127.0.0.1:{wire.port}/runs/{run}")
            with crowd_of(50, wire.port, f"/runs/{run}/events") as crowd:
                crowd.until(lambda reader: len(reader.payloads) > 5)
                wire.cut()
                shared.kill_worker()
                crowd.until(lambda reader: len(reader.payloads) > 20)
                shared.kill(WEB, how=signal.SIGTERM)
                shared.until_ready()
                pages[0].reload()
                crowd.until(lambda reader: len(reader.payloads) > 35)
                store.kill()
                time.sleep(1)
                store.start()
                crowd.until(lambda reader: len(reader.payloads) > 45)
                shared.kill(WEB)
                crowd.until_finished()
                seen = [reader.payloads for reader in crowd.readers]
            assert [page.until_state("done") for page in pages] == [whole] * len(pages)
        # Each of them has each record of the topic, once.
        assert seen == [shared.log(run)[0]] * 50
        assert [text_of(payloads) for payloads in seen] == [whole] * 50
    finally:
        for page in pages:
            page.leave()


@LONG
def test_deliveries_that_come_while_the_task_runs_double_nothing(tmp_path: Path, reader: Reader) -> None:
    """The broker is told to deliver again after a second what takes ten: whoever comes later goes on."""
    with Answers(tmp_path, redelivery=1.0, pause=0.15) as answers:
        whole = ask(reader, answers.url, "impatient")
        assert reader.until_state("done") == whole
        assert stored_once(answers, run_of(reader), whole) >= 2


@LONG
def test_ctrl_c_ends_all_and_the_next_start_goes_on(tmp_path: Path, reader: Reader) -> None:
    prompt = "to be continued"
    with Answers(tmp_path, pause=0.3) as first:
        run = first.ask(prompt)
        reader.open(f"{first.url}/runs/{run}")
        reader.until_shown(5)
        assert first.interrupt() == 0
    with Answers(tmp_path) as second:
        reader.open(f"{second.url}/runs/{run}")
        assert reader.until_state("done") == expected(prompt)


@LONG
def test_the_command_of_the_readme_needs_nothing_else(tmp_path: Path, reader: Reader) -> None:
    """In a copy without anything that was made here, with a virtual environment of its own."""
    with Answers(tmp_path, command=("./run",), folder=copied(FOLDER, tmp_path), patience=900) as answers:
        whole = ask(reader, answers.url, "from scratch")
        assert reader.until_state("done") == whole
        assert answers.interrupt() == 0


@contextlib.contextmanager
def another_worker(answers: Answers) -> Iterator[None]:
    """A second Celery, which nobody watches over."""
    (main, *_) = answers.processes(WORKER)
    process = psutil.Popen(main.cmdline(), cwd=FOLDER, env=main.environ(), start_new_session=True)
    try:
        yield
    finally:
        for each in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        process.wait(30)


def stored_once(answers: Answers, run: str, whole: str) -> int:
    """Make sure that the topic itself holds each token once; return how many attempts there were.

    An attempt that is taken over while it runs may leave one record that does not count.
    """
    records, log = answers.log(run)
    claims = sum("n" not in json.loads(payload) for payload in records)
    assert text_of(records) == whole
    assert log.end == {"error": None}
    ignored = len(records) - claims - len(log.events) - 1
    assert 0 <= ignored <= claims - 1, records
    return int(log.attempts)


def text_of(payloads: list[bytes]) -> str:
    log = attempts.Log()
    for payload in payloads:
        log.apply(payload)
    return "".join(event["token"] for event in log.events if "token" in event)
