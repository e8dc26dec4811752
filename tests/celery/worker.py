"""A worker of Celery's, with its pool, as a process of its own; and readers of what its tasks say."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import redis
from celery import Celery

from tailrace import workflow
from tailrace.workflow import Status, Stream
from tailrace.workflow.errors import RunNotFoundError, StreamNotFoundError

TOP = Path(__file__).parents[2]


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


@dataclass
class Place:
    """Where workers of one application meet: a broker, a store, a folder for marks."""

    broker: str
    folder: Path
    sender: Celery
    workflows: workflow.Workflows

    @property
    def store(self) -> str:
        """The URL of the store."""
        return store_in(self.folder)

    def send(self, task: str, run_id: str, *args: object, **options: object) -> str:
        """Send a task; return its id."""
        return str(self.sender.send_task(task, args=[run_id, *args], **options).id)

    def stream(self, run_id: str) -> Stream | None:
        """Return what a task's stream looks like after a pass of retention; ``None``: it is not there."""
        self.workflows.sweep()
        try:
            return self.workflows.run("w", run_id).describe("out")
        except (RunNotFoundError, StreamNotFoundError):
            return None

    def ended(self, run_id: str) -> Stream:
        """Wait until a stream has ended, while leases are looked at all the time."""
        last: Stream | None = None

        def over() -> bool:
            nonlocal last
            last = self.stream(run_id)
            return last is not None and last.status is not Status.OPEN

        until(over)
        assert last is not None
        return last

    def said(self, run_id: str) -> list[object]:
        """Return the payloads of a stream; where an attempt begins anew, ``"*"``."""
        items = self.workflows.run("w", run_id).subscribe("out").items
        return ["*" if item.item_type == "attempt" else item.payload for item in items]


def store_in(folder: Path) -> str:
    """Return the URL of the store in a folder."""
    return f"sqlite:///{folder}/events.db"


@contextlib.contextmanager
def place(broker: str, folder: Path) -> Iterator[Place]:
    """Connect to a broker, which is emptied, and a new store."""
    with contextlib.closing(redis.Redis.from_url(broker)) as raw:
        raw.flushall()
    with workflow.connect(store_in(folder)) as workflows, Celery("sender", broker=broker) as sender:
        yield Place(broker, folder, sender, workflows)


@contextlib.contextmanager
def worker(where: Place, *options: str, visibility: int = 3600) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a worker while the block runs; end it as an operator would, unless the block has killed it."""
    environ = {
        **os.environ,
        "TEST_STORE": where.store,
        "TEST_BROKER": where.broker,
        "TEST_FOLDER": str(where.folder),
        "TEST_VISIBILITY": str(visibility),
    }
    command = [sys.executable, "-m", "celery", "-A", "tests.celery.application", "worker", "--loglevel", "info"]
    command += ["--without-heartbeat", "--without-mingle", "--without-gossip", *(options or ("-c", "2"))]
    log = where.folder / "worker.log"
    with log.open("ab") as output:
        process = subprocess.Popen(command, cwd=TOP, env=environ, stdout=output, stderr=output, start_new_session=True)
    try:
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
    except BaseException:
        print(log.read_text())  # noqa: T201 - shown with the failure
        raise
    finally:
        kill(process)


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a worker with its pool, as a machine that is lost does."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
