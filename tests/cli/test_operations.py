"""``topics``, ``describe``, ``seal``, ``delete``, ``sweep``, and which store they work on."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.commands import Command

import tailrace
from tailrace.cli.exits import Code
from tailrace.testing.servers.waiting import line_of


def described(run: Command, db: str, topic: str = "t") -> dict[str, object]:
    found: dict[str, object] = json.loads(run("describe", topic, "--store", db, "--json").stdout)
    return found


def test_topics_are_listed_in_byte_order(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    for name in ("b", "a:2", "a:1", "é"):
        streams.topic(name).append(b"xy")
    listed = [json.loads(line) for line in run("topics", "--store", db, "--json").stdout.splitlines()]
    assert [topic["topic"] for topic in listed] == ["a:1", "a:2", "b", "é"]
    assert set(listed[0]) == {"topic", "records", "bytes", "last_append_at", "state", "error"}
    only = run("topics", "--prefix", "a:", "--store", db).stdout.decode().splitlines()
    assert [line.split("\t")[:3] for line in only[1:]] == [["a:1", "1", "2 B"], ["a:2", "1", "2 B"]]


def test_a_name_with_control_characters_is_shown_escaped(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    streams.topic("evil\x1b[2J\nname").append(b"x")
    assert b"evil\\x1b[2J\\nname\t1" in run("topics", "--store", db).stdout


def test_one_topic_is_described(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    streams.topic("t").append_many([b"abc", b"d"])
    streams.topic("t:longer").append(b"x")
    facts = described(run, db)
    assert (facts["records"], facts["bytes"], facts["state"], facts["error"]) == (2, 4, "open", None)
    assert isinstance(facts["last_append_at"], float)
    run("seal", "t", "--error", "no luck", "--store", db)
    assert run("seal", "t", "--store", db).stdout == b"sealed\n"
    facts = described(run, db)
    assert (facts["state"], facts["error"]) == ("failed", "no luck")
    assert b"reason       no luck\n" in run("describe", "t", "--store", db).stdout


@pytest.mark.parametrize("command", [("describe", "nobody"), ("delete", "nobody", "--yes")])
def test_a_topic_that_does_not_exist_has_its_own_code(
    run: Command, db: str, streams: tailrace.StreamClient, command: tuple[str, ...]
) -> None:
    streams.topic("nobody's neighbour").append(b"x")
    assert b"there is no topic 'nobody'" in run(*command, "--store", db, code=Code.NO_SUCH_TOPIC).stderr


def test_deleting_asks_and_without_a_terminal_wants_yes(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    streams.topic("t").append(b"x")
    assert b"add --yes" in run("delete", "t", "--store", db, code=Code.USAGE).stderr
    assert described(run, db)["records"] == 1
    assert run("delete", "t", "--yes", "--store", db, "--json").stdout == b'{"topic": "t", "deleted": true}\n'
    run("describe", "t", "--store", db, code=Code.NO_SUCH_TOPIC)


def test_a_sweep_keeps_what_it_is_told_to(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    streams.topic("t").append_many([b"x" * 10] * 100)
    part = run("sweep", "--max-records", "10", "--budget-records", "40", "--chunk-records", "40", "--store", db)
    assert b"removed 40 records" in part.stdout
    assert b"run it again" in part.stderr
    report = json.loads(run("sweep", "--max-records", "10", "--store", db, "--json").stdout)
    assert (report["records"], report["bytes"], report["done"]) == (50, 500, True)
    assert described(run, db)["records"] == 10
    run("sweep", "--max-bytes", "0.03kB", "--store", db)
    assert described(run, db)["bytes"] == 30
    run("sweep", "--max-age", "1h", "--store", db)
    assert described(run, db)["records"] == 3


def test_a_sweep_keeps_to_the_topics_that_match(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    for name in ("run:1", "other"):
        streams.topic(name).append_many([b"x"] * 5)
    run("sweep", "--max-records", "2", "--topic", "run:*", "--store", db)
    assert [described(run, db, name)["records"] for name in ("run:1", "other")] == [2, 5]


def test_a_watching_sweep_goes_on_until_it_is_ended(db: str, streams: tailrace.StreamClient) -> None:
    topic = streams.topic("t")
    topic.append_many([b"x"] * 5)
    command = [
        sys.executable,
        "-c",
        "import tailrace.cli; tailrace.cli.main()",
        "sweep",
        "--max-records",
        "2",
        "--watch",
        "--every",
        "0.1",
        "--json",
    ]
    # As a service is run: nobody has told Python not to buffer.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen([*command, "--store", db], stdout=subprocess.PIPE, env=environ) as sweeping:
        try:
            assert json.loads(line_of(sweeping))["records"] == 3
            topic.append_many([b"x"] * 7)
            assert json.loads(line_of(sweeping))["records"] == 7
            sweeping.terminate()
            assert sweeping.wait(10) == Code.TERMINATED
        finally:
            sweeping.kill()


def test_how_often_is_only_for_a_watching_sweep(run: Command, db: str) -> None:
    assert b"--watch" in run("sweep", "--max-records", "2", "--every", "1m", "--store", db, code=Code.USAGE).stderr


@pytest.mark.parametrize("arguments", [(), ("--max-age", "soon"), ("--max-records", "-1"), ("--max-age", "1e999")])
def test_a_sweep_must_be_told_what_to_keep(run: Command, db: str, arguments: tuple[str, ...]) -> None:
    run("append", "t", "x", "--store", db)
    run("sweep", *arguments, "--store", db, code=Code.USAGE)
    assert described(run, db)["records"] == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [("topics",), ("tail", "t", "--max", "1"), ("tail", "t", "--cursor-file", "place")])
def test_an_output_that_is_full_is_said(run: Command, db: str, home: Path, command: tuple[str, ...]) -> None:
    run("append", "t", "x", "--store", db)
    run("seal", "t", "--store", db)
    before = run("checkpoint", "t", "--store", db)
    line = shlex.join([sys.executable, "-m", "tailrace.cli", *command, "--store", db])
    ended = subprocess.run(f"{line} > /dev/full", shell=True, capture_output=True, check=False, timeout=60)
    assert ended.returncode == Code.NOT_WRITTEN
    assert ended.stderr == b"tailrace: the output can not be written: No space left on device\n"
    if (home / "place").exists():
        assert (home / "place").read_bytes() != before.stdout


def test_a_terminal_that_can_not_show_a_name_gets_the_rest(run: Command, db: str) -> None:
    run("append", "\u2603", "x", "--store", db)
    run.set(PYTHONIOENCODING="ascii")
    assert b"\\u2603\t1\t1 B" in run.process("topics", "--store", db).stdout


READERS = [("tail", "t"), ("checkpoint", "t"), ("topics",), ("describe", "t"), ("delete", "t", "--yes"),
    ("sweep", "--max-records", "1")]  # fmt: skip


@pytest.mark.parametrize("command", READERS)
def test_a_mistyped_store_is_refused_and_not_created(
    run: Command, db: str, home: Path, command: tuple[str, ...]
) -> None:
    refused = run(*command, "--store", db, code=Code.STORE_UNUSABLE)
    assert str(home / "events.db") in refused.stderr.decode()
    assert list(home.glob("events.db*")) == []


@pytest.mark.parametrize("url", ["nonsense", "foo://x", "sqlite://", "sqlite:///x.db?colour=red", "sqlite:///a\tb?x"])
def test_a_bad_url_is_a_usage_error(run: Command, url: str) -> None:
    refused = run("topics", "--store", url, code=Code.USAGE)
    assert refused.stderr.count(b"\n") == 1


def test_a_file_that_is_no_database_is_refused(run: Command, db: str, home: Path) -> None:
    (home / "events.db").write_bytes(b"no database" * 1000)
    refused = run.process("append", "t", "x", "--store", db, code=Code.STORE_UNUSABLE)
    assert refused.stderr.count(b"\n") == 1
    assert (home / "events.db").read_bytes() == b"no database" * 1000


def test_the_store_comes_from_the_environment_or_the_data_directory(run: Command, home: Path) -> None:
    run("append", "t", "default")
    assert (home / "data" / "tailrace" / "events.db").is_file()
    run.set(TAILRACE_STORE="sqlite:///here.db")
    run("append", "t", "named")
    assert (home / "here.db").is_file()
    assert run("tail", "t", "--max", "1").stdout == b"named\n"
    run.set(TAILRACE_STORE="")
    assert run("tail", "t", "--max", "1").stdout == b"default\n"


def test_a_store_file_may_have_any_name(run: Command, home: Path) -> None:
    odd = home / "da ta %41?#é"
    run.set(XDG_DATA_HOME=str(odd))
    run("append", "t", "x")
    assert (odd / "tailrace" / "events.db").is_file()


def test_a_data_directory_that_can_not_be_made_is_said(run: Command, home: Path) -> None:
    (home / "data").write_text("in the way")
    assert b"--store" in run("append", "t", "x", code=Code.STORE_UNUSABLE).stderr
