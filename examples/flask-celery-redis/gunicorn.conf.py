"""gunicorn reads this from the folder that it is started in."""

import os
import signal
from types import FrameType

import gevent
from gunicorn.workers.base import Worker

wsgi_app = "answers.web:app"
bind = f"127.0.0.1:{os.environ.get('ANSWERS_PORT', '8000')}"
workers = 2
worker_class = "gevent"
# Viewers of one worker, and some more for everything else.
worker_connections = 2000
# How long a worker that is to end waits for answers: streams end at once, see below.
graceful_timeout = 10


def post_worker_init(worker: Worker) -> None:
    """Let a worker that is told to end send its streams' clients away; they come back to the next one."""
    from answers import web  # loaded already, after the worker was patched

    ending = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        # In a greenlet, because a signal's handler must not wait for a lock.
        gevent.spawn(web.event_streams.drain)
        ending(number, frame)

    signal.signal(signal.SIGTERM, end)
