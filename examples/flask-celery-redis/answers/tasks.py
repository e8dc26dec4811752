"""The Celery application: one task, which writes a run's answer into the run's topic, token by token."""

import time

from celery import Celery, Task
from celery.exceptions import Reject
from celery.signals import worker_ready
from celery.utils.log import get_task_logger

import tailrace
from answers import model, settings
from answers.attempts import Attempt, Ended, Superseded

MOST_ATTEMPTS = 10
"""A task that fails, or kills its worker, is delivered again, and again: here is where that stops."""

AGAIN_AFTER = 5.0
"""Seconds for which a task that has failed keeps its message from being delivered again."""

logger = get_task_logger(__name__)

app = Celery("answers", broker=settings.REDIS_URL)
app.conf.update(
    task_ignore_result=True,
    # Acknowledged when it is done: a task whose worker dies is delivered again.
    task_acks_late=True,
    # At once if one process of the pool dies; after the visibility timeout if all of the worker does.
    task_reject_on_worker_lost=True,
    # A process that hangs is killed, and its task delivered again: the topic must not stay without an end.
    task_time_limit=settings.RUN_SECONDS + 30,
    task_acks_on_failure_or_timeout=False,
    # Each process holds the task that it works on and no others, which a crash would delay.
    worker_prefetch_multiplier=1,
    broker_transport_options={
        "visibility_timeout": settings.REDELIVERY_SECONDS,
        # Look for such tasks every five seconds.
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
    },
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    # A broker that is away is told to the browser, which is to try again, and not waited for.
    task_publish_retry_policy={"max_retries": 2, "interval_start": 0.2, "interval_step": 0.2},
)

# Before the pool forks: each child makes connections of its own.
streams = tailrace.connect(settings.REDIS_URL, retention=settings.KEPT, forget_after=86400)


@worker_ready.connect
def tidy_up(**_: object) -> None:
    """Remove what is no longer kept, every ten minutes, in a thread of the worker's main process."""
    streams.maintenance.sweep_every(600.0)


@app.task(bind=True)
def write(self: Task, run: str, prompt: str) -> None:
    """Answer a prompt. However often it is delivered, each token counts once."""
    try:
        with Attempt(streams.topic(settings.topic_of(run))) as attempt:
            try:
                fill(attempt, prompt)
            except Superseded:
                # Redis knows a message by one tag, however often it was delivered: if this delivery were acknowledged
                # now, the other one would be too, and nobody would go on if its worker died.
                logger.warning("run %s: another attempt has taken over", run)
                attempt.wait_for_end()
    except Ended:
        logger.info("run %s: done already", run)
    except Exception as error:
        # The store is away, or the model breaks. A task that failed would be gone, and its topic stay without an end.
        expected = isinstance(error, tailrace.DurableStreamError)
        logger.warning("run %s: delivered again, because: %r", run, error, exc_info=not expected)
        time.sleep(AGAIN_AFTER)
        # Not retry(), which sends another message: with a broker that is just coming back, that may fail.
        raise Reject(error, requeue=True) from error


def fill(attempt: Attempt, prompt: str) -> None:
    """Do what is left to do."""
    if attempt.number > MOST_ATTEMPTS:
        attempt.finish(error="The model gave no answer.")
        return
    if not attempt.events:
        attempt.append({"prompt": prompt})
    # A real model is given their text.
    so_far = len(attempt.events) - 1
    logger.info("attempt %d goes on after %d tokens", attempt.number, so_far)
    deadline = time.monotonic() + settings.RUN_SECONDS
    try:
        for token in model.continued(prompt, so_far, settings.TOKEN_SECONDS):
            attempt.append({"token": token})
            if time.monotonic() > deadline:
                attempt.finish(error="It took too long.")
                return
    except model.ModelError as error:
        attempt.finish(error=str(error))
        return
    attempt.finish()
