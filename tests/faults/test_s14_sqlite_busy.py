"""S14: two processes with four threads each, a sweeper, and a fork: nobody is told that a file is locked."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.faults.flood import STORE_VARIABLE

from tailrace import spi
from tailrace.records import DurableStreamRecord
from tailrace.testing.drivers import Client
from tailrace.testing.outcome import not_run
from tailrace.testing.reading import read_all
from tailrace.testing.stores import StoreUnderTest

FLOOD = Path(__file__).with_name("flood.py")
APPEND_TIMEOUT = 10.0


@pytest.mark.parametrize(
    "seconds", [pytest.param(2.0, id="short"), pytest.param(30.0, id="full", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("fork", [False, True], ids=["two-processes", "one-of-them-forks"])
def test_processes_threads_and_a_sweeper_on_one_store(
    streams: Client, store: StoreUnderTest, name: str, tmp_path: Path, seconds: float, fork: bool
) -> None:
    url = store.url()
    if url is None:
        not_run(f"{store.name} can not be shared by processes")
    topic, maintenance = streams.topic(name), streams.maintenance
    live = topic.subscribe_from_tail()
    # Files and not pipes: a report is longer than a pipe holds, and is read only when everybody has ended.
    outputs = [tmp_path / f"report{index}" for index in range(2)]
    flooding = []
    for index, output in enumerate(outputs):
        command = [sys.executable, str(FLOOD), name, str(seconds), "4", *(["fork"] if fork and not index else [])]
        with output.open("wb") as written:
            flooding.append(subprocess.Popen(command, stdout=written, env={**os.environ, STORE_VARIABLE: url}))
    seen = []
    with live:
        # Each ends itself, also if it hangs.
        overdue = time.monotonic() + seconds + 120
        while any(process.poll() is None for process in flooding):
            assert time.monotonic() < overdue, "the floods do not end"
            maintenance.sweep(spi.SweepBudget())
            answer = live.receive(timeout=0.05)
            if isinstance(answer, DurableStreamRecord):
                seen.append(answer.payload)
    reports = [json.loads(line) for output in outputs for line in output.read_bytes().splitlines()]
    assert len(reports) == (3 if fork else 2)
    assert [report["failed"] for report in reports] == [[]] * len(reports)
    assert max(report["slowest"] for report in reports) < APPEND_TIMEOUT
    acknowledged = [payload.encode() for report in reports for payload in report["acknowledged"]]
    found = store.contents(name)
    assert len(found) == len(set(found)), "stored twice"
    assert sorted(found) == sorted(acknowledged)
    assert read_all(topic.subscribe_from_beginning(), len(found)) == found
    seen += read_all(topic.subscribe_from_cursor(live.cursor), len(found) - len(seen))
    assert seen == found
