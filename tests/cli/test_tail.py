"""``tail``: what it writes, where it starts, and how it ends."""

import base64
import json
import signal
import time
from collections.abc import Callable, Sequence

import pytest
from tests.cli.commands import Command

import tailrace
from tailrace.backends.memory import MemoryStore
from tailrace.cli.exits import Code
from tailrace.errors import DurableStreamUnavailableError
from tailrace.retention import Retention
from tailrace.spi import Backend, ReadOutcome, ReadRequest
from tailrace.testing.servers.waiting import line_of


def fill(streams: tailrace.StreamClient, *payloads: bytes, sealed: bool = True) -> tailrace.Topic:
    topic = streams.topic("t")
    topic.append_many(payloads)
    if sealed:
        topic.seal()
    return topic


def test_a_sealed_topic_is_written_out_whole(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    fill(streams, b"a", b"", b"\0\xff", b"b\nc")
    assert run.process("tail", "t", "--store", db).stdout == b"a\n\n\0\xff\nb\nc\n"


def test_json_has_a_cursor_and_the_payload_as_text_or_base64(
    run: Command, db: str, streams: tailrace.StreamClient
) -> None:
    fill(streams, "é\n".encode(), b"\xff")
    text, binary = [json.loads(line) for line in run("tail", "t", "--store", db, "--json").stdout.splitlines()]
    assert text["payload"] == "é\n"
    assert base64.b64decode(binary["payload_base64"]) == b"\xff"
    assert set(text) == {"cursor", "payload"}
    after = run("tail", "t", "--from", text["cursor"], "--store", db).stdout
    assert after == b"\xff\n"


def test_it_starts_at_the_tail_or_a_checkpoint(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    topic = fill(streams, b"before", sealed=False)
    cursor = run("checkpoint", "t", "--store", db).stdout.decode().strip()
    assert json.loads(run("checkpoint", "t", "--store", db, "--json").stdout) == {"topic": "t", "cursor": cursor}
    topic.append(b"after")
    assert run("tail", "t", "--from", cursor, "--max", "1", "--store", db).stdout == b"after\n"
    assert run("tail", "t", "--from", "tail", "--timeout", "0", "--store", db, code=Code.IDLE).stdout == b""


def test_it_ends_after_so_many_records(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    fill(streams, b"a", b"b", b"c", sealed=False)
    assert run("tail", "t", "--max", "2", "--store", db).stdout == b"a\nb\n"


def test_it_ends_when_nothing_comes(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    fill(streams, b"a", sealed=False)
    ended = run.process("tail", "t", "--timeout", "0.2", "--store", db, code=Code.IDLE)
    assert ended.stdout == b"a\n"
    assert ended.stderr == b"tailrace: nothing came for 0.2 s\n"


def test_a_topic_that_failed_has_its_own_code(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    fill(streams, b"a", sealed=False).seal(error="worker\x1blost")
    ended = run.process("tail", "t", "--store", db, code=Code.ENDED_AS_FAILED)
    assert ended.stdout == b"a\n"
    assert ended.stderr == b"tailrace: the topic ended as failed: worker\\x1blost\n"


def test_a_reader_may_be_there_before_the_first_writer(run: Command) -> None:
    # On the default store, which any command creates.
    process = run.start("tail", "t", "--max", "1")
    run("append", "t", "first")
    out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == (b"first\n", b"", Code.OK)


@pytest.mark.parametrize("start", ["begining", "0", "", "é", "0" * 63])
def test_a_start_that_can_be_no_cursor_is_a_wrong_option(run: Command, db: str, start: str) -> None:
    run("append", "t", "a", "--store", db)
    refused = run("tail", "t", "--from", start, "--store", db, code=Code.USAGE)
    assert b"neither beginning nor tail nor a cursor" in refused.stderr
    assert refused.stdout == b""


def test_a_damaged_cursor_is_refused_with_advice(run: Command, db: str) -> None:
    run("append", "t", "a", "--store", db)
    refused = run("tail", "t", "--from", "0" * 64, "--store", db, code=Code.CURSOR_UNAVAILABLE)
    assert b"use --from beginning" in refused.stderr
    assert refused.stdout == b""


def test_a_cursor_of_another_topic_or_of_a_deleted_one_is_refused(
    run: Command, db: str, streams: tailrace.StreamClient
) -> None:
    fill(streams, b"a")
    cursor = run("checkpoint", "t", "--store", db).stdout.decode().strip()
    assert b"another topic" in run("tail", "u", "--from", cursor, "--store", db, code=Code.CURSOR_UNAVAILABLE).stderr
    run("delete", "t", "--yes", "--store", db)
    run("tail", "t", "--from", cursor, "--store", db, code=Code.CURSOR_UNAVAILABLE)


def test_a_cursor_that_retention_passed_is_refused(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    fill(streams, b"a", sealed=False)
    cursor = run("checkpoint", "t", "--store", db).stdout.decode().strip()
    fill(streams, b"b", b"c")
    streams.maintenance.trim("t", Retention(max_records=1))
    run("tail", "t", "--from", cursor, "--store", db, code=Code.CURSOR_UNAVAILABLE)
    assert run("tail", "t", "--store", db).stdout == b"c\n"


def test_a_reader_that_goes_ends_it_quietly(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    fill(streams, *[b"x" * 1000] * 1000, sealed=False)
    process = run.start("tail", "t", "--store", db)
    assert process.stdout is not None
    assert process.stderr is not None
    line_of(process)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(30) == Code.READER_GONE


def test_a_reader_that_goes_is_noticed_while_nothing_comes(
    run: Command, db: str, streams: tailrace.StreamClient
) -> None:
    fill(streams, b"only", sealed=False)
    process = run.start("tail", "t", "--store", db)
    assert process.stdout is not None
    assert process.stderr is not None
    assert line_of(process) == b"only\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(30) == Code.READER_GONE


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, Code.INTERRUPTED), (signal.SIGTERM, Code.TERMINATED)])
def test_a_signal_ends_a_long_wait_cleanly(
    run: Command, db: str, streams: tailrace.StreamClient, number: signal.Signals, code: Code
) -> None:
    fill(streams, b"only", sealed=False)
    process = run.start("tail", "t", "--store", db)
    assert line_of(process) == b"only\n"
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (out, err, process.returncode) == (b"", b"", code)
    assert time.monotonic() - began < 10


class Away(MemoryStore):
    """A memory store that can not be read any more."""

    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        raise DurableStreamUnavailableError("the store is away")


def test_a_store_that_is_away_has_its_own_code(run: Command, on_store: Callable[[Backend], None]) -> None:
    on_store(Away())
    result = run("tail", "t", code=Code.STORE_UNAVAILABLE)
    assert b"the store is away" in result.stderr
