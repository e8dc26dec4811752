"""The application of the workers: its client is made before the pool is forked, as where it stands at the top."""

import os
import signal
import time
from pathlib import Path

from celery import Celery, Task
from celery.exceptions import SoftTimeLimitExceeded

from tailrace import workflow
from tailrace.integrations.celery import task_stream

folder = Path(os.environ["TEST_FOLDER"])
inherited = workflow.connect(os.environ["TEST_STORE"])
inherited.run("workers", str(os.getpid())).append("imported", [os.getpid()])
_mine: dict[int, workflow.Workflows] = {}

app = Celery("tasks", broker=os.environ["TEST_BROKER"])
app.conf.update(
    task_ignore_result=True,
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        "visibility_timeout": int(os.environ.get("TEST_VISIBILITY", "3600")),
        # Looked at every second, where the broker's client can be told.
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    },
    worker_prefetch_multiplier=1,
    worker_cancel_long_running_tasks_on_connection_loss=True,
)

WORDS = ["one", "two", "three", "four"]


def first(task_id: str) -> bool:
    """Whether this is the first attempt at a task, also if it was killed."""
    try:
        (folder / f"{task_id}.begun").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def held(name: str) -> None:
    """Wait until the test lets the task go on."""
    (folder / f"{name}.waits").write_text(str(os.getpid()))
    deadline = time.monotonic() + 60
    while not (folder / f"{name}.go").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@app.task(bind=True, name="plain")
def plain(self: Task, run_id: str) -> None:
    """Say all words, with the client that was inherited."""
    with task_stream(self, inherited.run("w", run_id), "out") as out:
        for word in WORDS:
            out.append([word])


@app.task(bind=True, name="lazily")
def lazily(self: Task, run_id: str) -> None:
    """The same with a client that is made in the child, once."""
    if os.getpid() not in _mine:
        _mine[os.getpid()] = workflow.connect(os.environ["TEST_STORE"])
    with task_stream(self, _mine[os.getpid()].run("w", run_id), "out") as out:
        out.append(WORDS)


@app.task(bind=True, name="retried", max_retries=3)
def retried(self: Task, run_id: str, countdown: float, attempts: str) -> None:
    """Fail in the middle of the first attempt, and be retried from around the block."""
    again = not first(self.request.id)
    try:
        with task_stream(self, inherited.run("w", run_id), "out", attempts=attempts, lease_seconds=1) as out:
            for number, word in enumerate(WORDS[out.count :] if attempts == "continue" else WORDS):
                if number == 2 and not again:
                    raise ConnectionError("not this time")
                out.append([word])
    except ConnectionError as exc:
        raise self.retry(exc=exc, countdown=countdown) from exc


@app.task(bind=True, name="hopeless", autoretry_for=(ConnectionError,), max_retries=2, default_retry_delay=0)
def hopeless(self: Task, run_id: str) -> None:
    """Fail in every attempt."""
    with task_stream(self, inherited.run("w", run_id), "out", reason=str) as out:
        out.append(WORDS[:2])
        raise ConnectionError(f"gave up after {self.request.retries} retries")


def _killed(self: Task, run_id: str, attempts: str, lease_seconds: int = 60) -> None:
    """Be killed in the middle of the first attempt, between the storing of an item and everything else."""
    run = inherited.run("w", run_id)
    with task_stream(self, run, "out", attempts=attempts, lease_seconds=lease_seconds) as out:
        for number, word in enumerate(WORDS[out.count :] if attempts == "continue" else WORDS):
            out.append([word])
            if number == 1 and first(self.request.id):
                os.kill(os.getpid(), signal.SIGKILL)


app.task(bind=True, name="killed")(_killed)
# The same with a message that outlives the process that has it.
app.task(bind=True, name="redelivered", acks_late=True, reject_on_worker_lost=True)(_killed)


@app.task(bind=True, name="killed_after", acks_late=True, reject_on_worker_lost=True)
def killed_after(self: Task, run_id: str) -> None:
    """Be killed once the stream is closed, before Celery knows that the task has succeeded."""
    with task_stream(self, inherited.run("w", run_id), "out", attempts="restart") as out:
        if out.ended:
            (folder / f"{run_id}.ended").touch()
            return
        out.append(WORDS)
    if first(self.request.id):
        os.kill(os.getpid(), signal.SIGKILL)


@app.task(bind=True, name="waiting", acks_late=True)
def waiting(self: Task, run_id: str, attempts: str) -> None:
    """Wait in the middle of every attempt until the test says so."""
    with task_stream(self, inherited.run("w", run_id), "out", attempts=attempts) as out:
        out.append(WORDS[:2])
        held(run_id)
        out.append(WORDS[2:])


@app.task(bind=True, name="silent")
def silent(self: Task, run_id: str, seconds: float) -> None:
    """Say nothing for longer than the lease."""
    with task_stream(self, inherited.run("w", run_id), "out", lease_seconds=1) as out:
        out.append(WORDS[:2])
        time.sleep(seconds)
        out.append(WORDS[2:])


@app.task(bind=True, name="limited", soft_time_limit=1)
def limited(self: Task, run_id: str, graceful: bool) -> None:
    """Run into the soft time limit, and take it or not."""
    with task_stream(self, inherited.run("w", run_id), "out") as out:
        out.append(["begun"])
        try:
            time.sleep(60)
        except SoftTimeLimitExceeded:
            if not graceful:
                raise
            out.append(["cut short"])


@app.task(bind=True, name="mute")
def mute(self: Task, run_id: str) -> None:
    """Say nothing at all."""
    with task_stream(self, inherited.run("w", run_id), "out"):
        (folder / f"{run_id}.done").touch()
