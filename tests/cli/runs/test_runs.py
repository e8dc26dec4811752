"""``tailrace runs``: every command, in a database and over HTTP, and how each of them ends."""

import json
import socket
from pathlib import Path

import pytest
from tests.cli.commands import Command
from tests.cli.runs.conftest import HERE, Runs
from tests.http.doors.serving import served

from tailrace.cli.exits import Code
from tailrace.workflow import RunStreams


def test_items_are_appended_read_and_ended(runs: Runs, streams: RunStreams) -> None:
    assert runs("append", *HERE, "tokens", '{"b": 1, "a": null}') == b"stored 1 item\n"
    assert runs("append", *HERE, "tokens", "--type", "token", stdin=b'"x"\n[1,\t2]\n') == b"stored 2 items\n"
    payloads = [json.loads(line) for line in runs("read", *HERE, "tokens").splitlines()]
    assert payloads == [{"b": 1, "a": None}, "x", [1, 2]]
    rows = [json.loads(line) for line in runs("read", *HERE, "tokens", "--from", "1", "--json").splitlines()]
    assert [(row["offset"], row["payload"], row["item_type"]) for row in rows] == [
        (1, "x", "token"),
        (2, [1, 2], "token"),
    ]
    assert runs("close", *HERE, "tokens", "--retention", "2h") == b"closed\n"
    assert streams.describe("tokens").retention_seconds == 7200
    assert runs("error", *HERE, "tokens", "too late") == b"closed\n"


def test_a_run_is_started_described_ended_and_deleted(runs: Runs, run: Command, store: str) -> None:
    assert runs("start", "order/7", "r1", "--type", "Order", "--task-queue", "q") == b"r1\n"
    fresh = runs("start", "order/8").decode().strip()
    assert json.loads(runs("describe", "order/8", "--json"))["run_id"] == fresh
    told = json.loads(runs("describe", *HERE, "--json"))
    assert (told["workflow_type"], told["registered"], told["ended_at"]) == ("Order", True, None)
    assert b"state          running\n" in runs("describe", *HERE)
    runs("start", *HERE, code=Code.CONFLICT)
    assert runs("end", *HERE) == b"ended\n"
    assert b"state          ended\n" in runs("describe", *HERE)
    assert b"add --yes" in run("runs", "delete", *HERE, "--store", store, code=Code.USAGE).stderr
    assert runs("delete", *HERE, "--yes") == b"deleted\n"
    runs("delete", *HERE, "--yes", code=Code.NO_SUCH_TOPIC)
    runs("describe", *HERE, code=Code.NO_SUCH_TOPIC)


def test_keys_let_an_append_be_run_again(runs: Runs, streams: RunStreams) -> None:
    runs("append", *HERE, "s", "--keys", "load", stdin=b"1\n2\n")
    again = json.loads(runs("append", *HERE, "s", "--keys", "load", "--json", stdin=b"1\n2\n3\n"))
    assert again == {"stream": "s", "stored": 3, "duplicates": 2, "uncertain": 0}
    assert [item.payload for item in streams.subscribe("s").items] == [1, 2, 3]
    runs("append", *HERE, "s", "--keys", "load", stdin=b"9\n", code=Code.CONFLICT)


def test_text_becomes_json(runs: Runs, streams: RunStreams) -> None:
    runs("append", *HERE, "s", "--text", stdin='say "hi"\né\n'.encode())
    assert [item.payload for item in streams.subscribe("s").items] == ['say "hi"', "é"]
    runs("append", *HERE, "s", "--text", stdin=b"\xff\n", code=Code.USAGE)


def test_what_stops_an_append_is_told_with_what_is_stored(run: Command, db: str, streams: RunStreams) -> None:
    lines = b"1\n" * 500 + b"no json\n"
    stopped = run("runs", "append", *HERE, "s", "--store", db, stdin=lines, code=Code.USAGE)
    assert stopped.stdout == b""
    assert b"500 items stored for certain; from item 501 of the input on, nothing was stored." in stopped.stderr
    assert streams.describe("s").last_offset == 499


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("append", *HERE, "s", "1", "--max-pending", "1"), Code.STREAM_FULL),
        (("append", *HERE, "ended", "1"), Code.TOPIC_SEALED),
        (("append", *HERE, "no spaces", "1"), Code.USAGE),
        (("append", *HERE, "s", "1", "--lease", "0.5"), Code.USAGE),
        (("append", *HERE, "s", "1", "--whole"), Code.USAGE),
        (("close", *HERE, "s", "--retention", "31d"), Code.USAGE),
        (("close", *HERE, "never"), Code.NO_SUCH_TOPIC),
        (("read", *HERE, "never"), Code.NO_SUCH_TOPIC),
        (("follow", *HERE, "never"), Code.NO_SUCH_TOPIC),
        (("list", *HERE, "--namespace", "elsewhere"), Code.NO_SUCH_TOPIC),
    ],
)
def test_every_refusal_has_its_code(runs: Runs, streams: RunStreams, arguments: tuple[str, ...], code: Code) -> None:
    streams.append("s", [1])
    streams.append("ended", [1])
    streams.close("ended")
    runs(*arguments, code=code)
    assert streams.describe("s").last_offset == 0


def test_a_sweep_is_for_databases(run: Command, db: str, streams: RunStreams) -> None:
    streams.append("s", [1])
    assert b"removed 0 items" in run("runs", "sweep", "--store", db).stdout
    swept = json.loads(run("runs", "sweep", "--store", db, "--json").stdout)
    assert (swept["items"], swept["done"]) == (0, True)
    with served(db) as server:
        run("runs", "sweep", "--store", server.url, code=Code.USAGE)


@pytest.mark.parametrize(
    "arguments",
    [("list", *HERE), ("read", *HERE, "s"), ("close", *HERE, "s"), ("describe", "order/7"), ("sweep",)],
)
def test_a_mistyped_database_is_refused_and_not_made(run: Command, home: Path, arguments: tuple[str, ...]) -> None:
    missing = f"sqlite:///{home / 'missing.db'}"
    run("runs", *arguments, "--store", missing, code=Code.STORE_UNUSABLE)
    assert list(home.glob("missing.db*")) == []


def test_a_store_that_is_no_database_says_so(run: Command) -> None:
    assert b"database" in run("runs", "list", *HERE, "--store", "memory://", code=Code.USAGE).stderr


def test_a_server_that_is_away_has_its_code(run: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    away = run("runs", "list", *HERE, "--store", url, code=Code.STORE_UNAVAILABLE)
    assert away.stderr.startswith(b"tailrace: the streams of this run can not be read: the server at http://")
