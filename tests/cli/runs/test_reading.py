"""``tailrace runs list``, ``describe``, ``read`` and ``follow``: what is shown, in a database and over HTTP."""

import json
import os
import subprocess
import sys

from tests.cli.commands import Command
from tests.cli.runs.conftest import HERE, Runs

from tailrace.cli.exits import Code
from tailrace.cli.runs import table
from tailrace.testing.servers.waiting import line_of
from tailrace.workflow import RunStreams, Status, Stream

PATIENCE = 60.0


def test_a_payload_keeps_its_own_text(run: Command, db: str) -> None:
    odd = '{ "b":1,"a":1e400,\t"b":2 }'
    run("runs", "append", *HERE, "s", odd, "--store", db)
    assert run("runs", "read", *HERE, "s", "--store", db).stdout.decode() == odd + "\n"


def test_read_says_where_to_go_on(run: Command, db: str, streams: RunStreams) -> None:
    streams.append("s", [1, 2, 3])
    part = run("runs", "read", *HERE, "s", "--max", "2", "--store", db)
    assert (part.stdout, part.stderr) == (b"1\n2\n", b"tailrace: the next offset is 2\n")
    streams.close("s")
    rest = run("runs", "read", *HERE, "s", "--from", "2", "--store", db)
    assert (rest.stdout, rest.stderr) == (b"3\n", b"tailrace: the next offset is 3, and nothing will follow\n")


def test_read_takes_as_many_pages_as_there_are(runs: Runs, streams: RunStreams) -> None:
    for start in range(0, 1200, 400):
        streams.append("s", list(range(start, start + 400)))
    assert [int(line) for line in runs("read", *HERE, "s").splitlines()] == list(range(1200))


def test_the_table_shows_how_each_stream_stands(runs: Runs, streams: RunStreams) -> None:
    streams.append("open", [1, 2])
    streams.append("failed", [1])
    streams.error("failed", "no luck", retention_seconds=7200)
    listed = [line.split("\t") for line in runs("list", *HERE).decode().splitlines()]
    assert listed[0] == list(table.HEADINGS)
    assert listed[2] == ["open", "open", "1", "2", "-", ""]
    assert listed[1][:4] == ["failed", "errored", "0", "1"]
    assert listed[1][4] in ("2h", "119m")
    rows = [json.loads(line) for line in runs("list", *HERE, "--json").splitlines()]
    assert [row["stream_name"] for row in rows] == ["failed", "open"]
    assert rows[1]["retention_left"] is None
    assert 7000 < rows[0]["retention_left"] <= 7200
    assert {rows[0][name] for name in ("mode", "delivery", "direction")} == {
        "service",
        "at-least-once",
        "workflow_output",
    }
    assert (rows[0]["offset_origin"], rows[0]["cursor_offset"]) == (0, None)


def test_a_reason_is_shown_without_what_a_terminal_would_act_on(run: Command, db: str, streams: RunStreams) -> None:
    streams.append("s", [1])
    streams.error("s", "first\nsecond")
    assert b"first\\nsecond" in run("runs", "list", *HERE, "--store", db).stdout
    assert b"reason         first\\nsecond\n" in run("runs", "describe", *HERE, "s", "--store", db).stdout


def test_an_empty_run_is_noted_and_an_unreadable_one_too(runs: Runs, run: Command, store: str) -> None:
    runs("start", *HERE)
    empty = run("runs", "list", *HERE, "--store", store)
    assert (empty.stdout, empty.stderr) == (b"", b"tailrace: this run has no streams\n")
    unreadable = run("runs", "list", "order/7", "r2", "--store", store, code=Code.NO_SUCH_TOPIC)
    assert unreadable.stderr.startswith(b"tailrace: the streams of this run can not be read: ")
    assert unreadable.stderr.count(b"\n") == 1


def test_what_is_left_of_a_retention_is_rounded_for_people() -> None:
    ended = Stream(
        stream_name="s",
        status=Status.CLOSED,
        last_offset=0,
        total_items=1,
        pending_items=0,
        opened_at=0,
        closed_at=1_000_000_000,
        retention_seconds=864_000,
    )
    left = [table.row(ended, 1_000 + passed)[4] for passed in (0, 864_000 - 7200, 864_000 - 7199.5, 863_999, 900_000)]
    assert left == ["10d", "2h", "2h", "1s", "0s"]


def test_follow_goes_on_until_the_end(runs: Runs, streams: RunStreams) -> None:
    streams.append("s", [1, 2])
    assert runs("follow", *HERE, "s", "--max", "1") == b"1\n"
    assert runs("follow", *HERE, "s", "--from", "1", "--timeout", "0.2", code=Code.IDLE) == b"2\n"
    streams.close("s")
    assert runs("follow", *HERE, "s") == b"1\n2\n"
    streams.append("t", [3])
    streams.error("t", "no luck")
    assert runs("follow", *HERE, "t", code=Code.ENDED_AS_FAILED) == b"3\n"


def test_follow_hands_on_each_item_at_once(db: str, streams: RunStreams) -> None:
    # As it is run in a pipe: nobody has told Python not to buffer.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "tailrace.cli", "runs", "follow", *HERE, "s", "--wait", "--store", db]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as following:
        assert following.stdout is not None
        for number in range(3):
            streams.append("s", [number])
            assert line_of(following) == b"%d\n" % number
        streams.close("s")
        assert (following.stdout.read(), following.wait(PATIENCE)) == (b"", 0)


def test_follow_ends_when_nobody_reads_any_more(db: str, streams: RunStreams) -> None:
    streams.append("s", [0])
    command = [sys.executable, "-m", "tailrace.cli", "runs", "follow", *HERE, "s", "--store", db]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as following:
        assert following.stdout is not None
        line_of(following)
        following.stdout.close()
        assert following.wait(PATIENCE) == Code.READER_GONE
