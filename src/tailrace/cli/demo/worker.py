"""The workflow worker: streams a text's words as events. ``python -m tailrace.cli.demo.worker DIRECTORY SECONDS``.

It may be killed too: it goes on where its own stored records end, which only one writer per topic may assume.
"""

import os
import sys
import time
from pathlib import Path

import tailrace
from tailrace.cli.demo.stage import TOPIC, Stage
from tailrace.cli.demo.text import events, held_back
from tailrace.limits import MAX_APPEND_MANY

_STEP = 0.005
"""Seconds between looks at what is due: the pace of a model's tokens, not a wait for anybody."""


def work(stage: Stage, seconds: float) -> None:
    """Append all events, spread over ``seconds``, then seal the topic."""
    todo = events(stage.input.read_bytes())
    parent = os.getppid()
    with tailrace.connect(stage.store, append_timeout=30.0) as client:
        topic = client.topic(TOPIC)
        at = _stored(client)
        began = time.monotonic() - seconds * at / len(todo)
        while at < len(todo) and os.getppid() == parent:
            due = min(int((time.monotonic() - began) / seconds * len(todo)) + 1, at + MAX_APPEND_MANY)
            if not stage.release.exists():
                due = min(due, held_back(len(todo)))
            if due > at:
                topic.append_many(todo[at:due])
                at = due
            time.sleep(_STEP)
        topic.seal()


def _stored(client: tailrace.StreamClient) -> int:
    found = client.maintenance.topics(prefix=TOPIC, limit=1)
    return found[0].records if found else 0


if __name__ == "__main__":
    work(Stage(Path(sys.argv[1])), float(sys.argv[2]))
