"""What the web process and the workers are told by their environment. Read by both, so that both agree."""

import os

import tailrace

REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
"""Broker of Celery and store of the events. Its server needs ``appendonly yes``, or a crash of it loses both."""

RUN_SECONDS = float(os.environ.get("ANSWERS_RUN_SECONDS", "600"))
"""The longest that one attempt at a run may take. The longest one of yours decides."""

REDELIVERY_SECONDS = float(os.environ.get("ANSWERS_REDELIVERY_SECONDS", str(RUN_SECONDS + 60)))
"""When the broker delivers a task again whose worker has died with all its processes.

Redis sees no worker die: it knows only that a task was not acknowledged. If this is shorter than ``RUN_SECONDS``, tasks
that are merely slow are delivered again while they still run. Nothing doubles then, see ``attempts.py``, but work is
done for nothing.
"""

TOKEN_SECONDS = float(os.environ.get("ANSWERS_TOKEN_SECONDS", "0.15"))
"""How long the model thinks about one token."""

KEPT = tailrace.Retention(max_age=7 * 86400)
"""How long runs can be read. It has to be longer than a run and its reader may take."""


def topic_of(run: str) -> str:
    """Return the topic of a run's events."""
    return f"run:{run}"
