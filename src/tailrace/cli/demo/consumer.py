"""The consumer, which may be killed at any instant. ``python -m tailrace.cli.demo.consumer DIRECTORY``.

This is the recipe to copy. What a consumer has done and how far it has read must become safe in ONE step;
when the output is a file, that step is the rename of a small file which holds both the cursor and the
output's length:

1. append to the output;                                 killed here: the output is longer than the saved length
2. sync the output;
3. save {cursor, length} to a new file, sync, rename.    killed before the rename: the old pair still holds

On the way in, the output is cut to the saved length and reading goes on from the saved cursor: whatever
was written after the last rename is written again from the stream, and nothing is there twice. With a
database as the output, the same step is a transaction that also updates the cursor's row.
"""

import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import tailrace
from tailrace.cli import files
from tailrace.cli.demo.deliveries import DeliveryLog
from tailrace.cli.demo.stage import TOPIC, Stage
from tailrace.cli.demo.text import number_and_text
from tailrace.records import CLOSED, TopicCursor

COMMIT_RECORDS = 50
COMMIT_SECONDS = 0.1
"""How much may be written again after a kill, at most: syncing after every record would be slower, not safer."""


@dataclass(frozen=True, slots=True)
class Place:
    """What is saved in one step. ``records`` only serves the demo's count."""

    cursor: TopicCursor | None = None
    length: int = 0
    records: int = 0

    @classmethod
    def load(cls, path: Path) -> "Place":
        """Return what was saved, or the very beginning."""
        return cls(**json.loads(path.read_bytes())) if path.exists() else cls()

    def save(self, path: Path) -> None:
        """Replace what was saved: step 3."""
        files.replace(path, json.dumps(asdict(self)).encode("ascii"))


def consume(stage: Stage) -> None:
    """Put the text together from the topic's events, from the saved place until the seal."""
    place = Place.load(stage.place)
    log = DeliveryLog(stage.deliveries)
    with stage.output.open("r+b" if stage.output.exists() else "w+b") as output:
        if output.seek(0, os.SEEK_END) < place.length:
            sys.exit(f"{stage.output} is shorter than it was when its place was saved: somebody changed it")
        output.truncate(place.length)
        output.seek(place.length)
        log.life_begins(place.records)
        with tailrace.connect(stage.store) as client:
            topic = client.topic(TOPIC)
            start = (
                topic.subscribe_from_beginning() if place.cursor is None else topic.subscribe_from_cursor(place.cursor)
            )
            with start as subscription:
                _follow(subscription, output, place, stage, log)
            if subscription.end is None or subscription.end.kind != "sealed":
                sys.exit(f"the stream did not end with a seal: {subscription.end}")


def _follow(
    subscription: tailrace.Subscription, output: BinaryIO, place: Place, stage: Stage, log: DeliveryLog
) -> None:
    parent = os.getppid()
    saved, commit_at = place, 0.0
    while os.getppid() == parent:
        waiting = place is not saved
        record = subscription.receive(max(0.0, commit_at - time.monotonic()) if waiting else 1.0)
        if isinstance(record, tailrace.DurableStreamRecord):
            if not waiting:
                commit_at = time.monotonic() + COMMIT_SECONDS
            number, text = number_and_text(record.payload)
            log.delivered(number)
            output.write(text)
            output.flush()
            place = Place(record.cursor, place.length + len(text), place.records + 1)
        if place is not saved and (
            record is CLOSED or time.monotonic() >= commit_at or place.records - saved.records >= COMMIT_RECORDS
        ):
            os.fsync(output.fileno())
            place.save(stage.place)
            saved = place
        if record is CLOSED:
            return


if __name__ == "__main__":
    consume(Stage(Path(sys.argv[1])))
