"""Servers that load the application once and fork their workers: gunicorn with --preload, Celery's prefork pool."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.forks.children import payloads

import tailrace

TOP = Path(__file__).parents[2]


@contextlib.contextmanager
def server(log: Path, *command: str, **environ: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a server while the block runs; end it as an operator would, and fail if it does not end well."""
    with log.open("wb") as output:
        # Their home, too: gunicorn keeps a socket there.
        settings = {**os.environ, "HOME": str(log.parent), **environ}
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=TOP, env=settings, stdout=output, stderr=output
        )
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, log.read_text()
    except BaseException:
        print(log.read_text())  # noqa: T201 - shown with the failure
        raise
    finally:
        process.kill()
        process.wait()


def get(port: int, query: str) -> dict[str, int]:
    """Ask the web application, until it is there."""
    deadline = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/?{query}", timeout=20) as response:
                answer: dict[str, int] = json.load(response)
                return answer
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("worker", "follow"),
    [
        ("sync", "yes"),
        pytest.param("gthread", "yes", marks=pytest.mark.long),
        pytest.param("gevent", "no", marks=pytest.mark.long),
        pytest.param("gevent", "yes", marks=pytest.mark.long),
    ],
)
def test_s32_gunicorn_with_preload(worker: str, follow: str, tmp_path: Path) -> None:
    port, store = free_port(), f"sqlite:///{tmp_path}/events.db"
    options = f"--preload -w 2 -k {worker} --graceful-timeout 15 -b 127.0.0.1:{port}"
    if worker == "gthread":
        options += " --threads 4"
    command = ("gunicorn", *options.split(), "tests.forks.web:app")
    answers: list[dict[str, int]] = []

    def ask(client: int) -> None:
        answers.extend(get(port, f"{client}.{number}") for number in range(10))

    with server(tmp_path / "log", *command, TEST_STORE=store, TEST_FOLLOW=follow) as process:
        get(port, "first")
        clients = [threading.Thread(target=ask, args=(client,)) for client in range(4)]
        for client in clients:
            client.start()
        for client in clients:
            client.join(60)
        # The master forks another one, from the same state.
        before = {answer["worker"] for answer in answers}
        os.kill(answers[0]["worker"], signal.SIGKILL)
        deadline = time.monotonic() + 30
        while {answer["worker"] for answer in answers} == before:
            assert time.monotonic() < deadline
            answers.append(get(port, f"later{len(answers) - 40}"))
        assert {answer["imported by"] for answer in answers} == {process.pid}
        assert process.pid not in {answer["worker"] for answer in answers}
    with tailrace.connect(store) as streams, streams.topic("t").subscribe_from_beginning() as subscription:
        stored = payloads(subscription, 2 + len(answers))
    assert sorted(stored[2:]) == sorted(
        [b"%d.%d" % (client, number) for client in range(4) for number in range(10)]
        + [b"later%d" % number for number in range(len(answers) - 40)]
    )


def test_s32_celery_with_a_prefork_pool(tmp_path: Path) -> None:
    for name in ("queue", "control"):
        (tmp_path / name).mkdir()
    environ = {"TEST_STORE": f"sqlite:///{tmp_path}/events.db", "TEST_FOLDER": str(tmp_path)}
    # Each child does two tasks, so that there are several forks, some of them while other children work.
    options = "--pool prefork -c 2 --max-tasks-per-child 2 --without-heartbeat --without-mingle --without-gossip"
    command = ("celery", "-A", "tests.forks.tasks", "worker", "--loglevel", "warning", *options.split())
    send = "from tests.forks.tasks import work; [work.delay(number) for number in range(10)]"
    with tailrace.connect(environ["TEST_STORE"]) as streams, streams.topic("done").subscribe_from_tail() as done:
        subprocess.run([sys.executable, "-c", send], cwd=TOP, env={**os.environ, **environ}, check=True, timeout=60)
        with server(tmp_path / "log", *command, **environ) as process:
            reports = [report.split() for report in payloads(done, 10)]
        assert sorted(int(number) for number, _ in reports) == list(range(10))
        workers = {int(pid) for _, pid in reports}
        assert len(workers) >= 2
        assert process.pid not in workers
        # Once by the sender and once by the master: the children inherited what it had.
        with streams.topic("imports").subscribe_from_beginning() as imports:
            assert payloads(imports, 2)[1] == b"%d" % process.pid
            assert imports.receive(0.05) is None
