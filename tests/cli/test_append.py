"""``append``: what it reads, what it stores, and what it says when something stops it."""

import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.cli.commands import Command

import tailrace
from tailrace.backends.memory import MemoryStore
from tailrace.cli.exits import Code
from tailrace.errors import DurableStreamUnavailableError
from tailrace.records import CLOSED, DurableStreamRecord
from tailrace.spi import AppendOutcome, AppendRefused, AppendUnknown, Backend, Entry


def payloads(streams: tailrace.StreamClient, name: str = "t") -> list[bytes]:
    found = []
    with streams.topic(name).subscribe_from_beginning() as subscription:
        while (record := subscription.receive(0)) is not None and record is not CLOSED:
            assert isinstance(record, DurableStreamRecord)
            found.append(record.payload)
    return found


def test_an_argument_is_one_record(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    assert run.process("append", "t", "hello world", "--store", db).stdout == b"stored 1 record\n"
    assert payloads(streams) == [b"hello world"]


def test_an_argument_that_is_not_utf8_is_stored_as_it_was_typed(
    run: Command, db: str, streams: tailrace.StreamClient
) -> None:
    run.process("append", "t", b"\xff\xfe", "--store", db)
    assert payloads(streams) == [b"\xff\xfe"]


def test_lines_of_standard_input_are_records(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    out = run.process("append", "t", "--store", db, stdin=b"a\n\n\0\xff\r\nlast").stdout
    assert out == b"stored 4 records\n"
    assert payloads(streams) == [b"a", b"", b"\0\xff\r", b"last"]


def test_nothing_on_standard_input_stores_nothing(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    assert run("append", "t", "--store", db, "--json").stdout == b'{"topic": "t", "stored": 0, "uncertain": 0}\n'
    assert payloads(streams) == []


def test_a_line_is_stored_while_the_pipe_stays_open(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    subscription = streams.topic("t").subscribe_from_beginning()
    process = run.start("append", "t", "--store", db)
    assert process.stdin is not None
    process.stdin.write(b"now\n")
    process.stdin.flush()
    with subscription:
        record = subscription.receive(30)
    assert isinstance(record, DurableStreamRecord)
    assert record.payload == b"now"
    out, _err = process.communicate(b"later\n", 30)
    assert out == b"stored 2 records\n"


def test_a_file_is_one_record_or_its_lines(run: Command, db: str, home: Path, streams: tailrace.StreamClient) -> None:
    (home / "f").write_bytes(b"a\nb\n")
    run("append", "whole", "--file", "f", "--store", db)
    run("append", "lines", "--file", "f", "--lines", "--store", db)
    run("append", "stdin", "--file", "-", "--whole", "--store", db, stdin=b"x\ny")
    assert payloads(streams, "whole") == [b"a\nb\n"]
    assert payloads(streams, "lines") == [b"a", b"b"]
    assert payloads(streams, "stdin") == [b"x\ny"]


def test_a_large_file_arrives_whole_and_in_order(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    lines = [b"%d" % number for number in range(20000)]
    assert run.process("append", "t", "--store", db, stdin=b"\n".join(lines)).stdout == b"stored 20,000 records\n"
    assert payloads(streams) == lines


@pytest.mark.parametrize(
    "arguments",
    [
        ("t", "payload", "--lines"),
        ("t", "payload", "--file", "f"),
        ("t", "--file", "missing"),
        ("t", "--file", "."),
        ("", "payload"),
        ("n" * 513, "payload"),
    ],
)
def test_a_wrong_command_line_is_refused(run: Command, db: str, arguments: tuple[str, ...]) -> None:
    refused = run("append", *arguments, "--store", db, code=Code.USAGE)
    assert refused.stdout in (b"", b"stored 0 records\n")
    assert refused.stderr.startswith(b"tailrace: ")


def test_a_sealed_topic_says_that_nothing_was_stored(run: Command, db: str) -> None:
    run("seal", "t", "--store", db)
    refused = run("append", "t", "--store", db, "--json", stdin=b"a\nb\n", code=Code.TOPIC_SEALED)
    assert json.loads(refused.stdout) == {"topic": "t", "stored": 0, "uncertain": 0}
    assert b"0 records stored for certain; from record 1 of the input on, nothing was stored" in refused.stderr


def test_ctrl_c_says_what_is_stored(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    subscription = streams.topic("t").subscribe_from_beginning()
    process = run.start("append", "t", "--store", db, "--json")
    assert process.stdin is not None
    process.stdin.write(b"one\ntwo\nunfinished")
    process.stdin.flush()
    with subscription:
        for _ in range(2):
            assert isinstance(subscription.receive(30), DurableStreamRecord)
    # Both are readable, yet its call may not have returned: then they are uncertain to it, never lost.
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == Code.INTERRUPTED
    said = json.loads(out)
    assert said["stored"] + said["uncertain"] == 2
    assert b"interrupted. " in err
    assert b"Traceback" not in err


class Faulty(MemoryStore):
    """A memory store whose second append goes wrong."""

    def __init__(self, fault: Callable[[], AppendOutcome]) -> None:
        super().__init__()
        self._fault = fault
        self._calls = 0

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        self._calls += 1
        if self._calls == 2:
            return [self._fault() for _ in entries]
        return super().append(entries, timeout)


def unknown() -> AppendOutcome:
    return AppendUnknown(DurableStreamUnavailableError("the reply was lost", maybe_stored=True))


def refused() -> AppendOutcome:
    return AppendRefused(DurableStreamUnavailableError("the store is away"))


@pytest.mark.parametrize(
    ("fault", "code", "uncertain", "words"),
    [
        (unknown, Code.UNCERTAIN, 904, "records 4097 to 5000 of the input may or may not be stored"),
        (refused, Code.STORE_UNAVAILABLE, 0, "from record 4097 of the input on, nothing was stored"),
    ],
)
def test_a_fault_in_a_later_batch_says_exactly_which_records(
    run: Command,
    on_store: Callable[[Backend], None],
    fault: Callable[[], AppendOutcome],
    code: Code,
    uncertain: int,
    words: str,
) -> None:
    on_store(Faulty(fault))
    result = run("append", "t", "--json", stdin=b"x\n" * 5000, code=code)
    assert json.loads(result.stdout) == {"topic": "t", "stored": 4096, "uncertain": uncertain}
    assert "4096 records stored for certain" in result.stderr.decode().replace(",", "")
    assert words in result.stderr.decode()
