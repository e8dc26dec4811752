"""``tail --cursor-file``: a restart goes on where the last one stopped, however it stopped."""

from pathlib import Path

import pytest
from tests.cli.commands import Command

import tailrace
from tailrace.cli.exits import Code
from tailrace.testing.servers.waiting import line_of


def test_it_goes_on_where_it_stopped(run: Command, db: str, home: Path, streams: tailrace.StreamClient) -> None:
    streams.topic("t").append_many([b"a", b"b", b"c"])
    streams.topic("t").seal()
    tail = ("tail", "t", "--cursor-file", "place", "--store", db)
    assert run(*tail, "--max", "1").stdout == b"a\n"
    assert run(*tail, "--max", "1").stdout == b"b\n"
    saved = (home / "place").read_text().strip()
    assert run("tail", "t", "--from", saved, "--store", db).stdout == b"c\n"
    assert run.process(*tail).stdout == b"c\n"
    assert run(*tail).stdout == b""
    assert [path.name for path in home.glob("place*")] == ["place"]


def test_the_file_goes_before_from(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    streams.topic("t").append_many([b"a", b"b"])
    tail = ("tail", "t", "--cursor-file", "place", "--store", db)
    assert run(*tail, "--max", "1").stdout == b"a\n"
    assert run(*tail, "--from", "tail", "--max", "1").stdout == b"b\n"


def test_a_start_at_the_tail_is_kept_from_the_first_moment(
    run: Command, db: str, streams: tailrace.StreamClient
) -> None:
    topic = streams.topic("t")
    topic.append(b"old")
    tail = ("tail", "t", "--from", "tail", "--cursor-file", "place", "--store", db, "--timeout", "0")
    assert run(*tail, code=Code.IDLE).stdout == b""
    topic.append(b"while nobody looked")
    assert run(*tail, code=Code.IDLE).stdout == b"while nobody looked\n"


def test_killed_while_it_writes_it_misses_nothing(run: Command, db: str, streams: tailrace.StreamClient) -> None:
    count, size = 60, 8192
    streams.topic("t").append_many([b"%06d" % number + b"." * (size - 6) for number in range(count)])
    streams.topic("t").seal()
    tail = ("tail", "t", "--cursor-file", "place", "--store", db)
    process = run.start(*tail)
    # The pipe holds less than the topic: it is killed in, or shortly before, a write that can not finish.
    first = line_of(process)
    process.kill()
    before = (first + process.stdout.read()).split(b"\n")[:-1]
    process.wait()
    assert 0 < len(before) < count
    after = run(*tail).stdout.split(b"\n")[:-1]
    numbers = [int(line[:6]) for line in after]
    assert [int(line[:6]) for line in before] == list(range(len(before)))
    # Between a record's write and its save the record comes again; nothing else does, and nothing is skipped.
    assert numbers[0] in (len(before) - 1, len(before))
    assert numbers == list(range(numbers[0], count))
    assert {len(line) for line in after} == {size}


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\0", b"not a cursor"])
def test_a_damaged_file_is_no_reason_to_start_over(run: Command, db: str, home: Path, content: bytes) -> None:
    run("append", "t", "a", "--store", db)
    (home / "place").write_bytes(content)
    refused = run("tail", "t", "--cursor-file", "place", "--store", db, code=Code.CURSOR_UNAVAILABLE)
    assert refused.stdout == b""
    assert b"delete place and use --from beginning" in refused.stderr
    assert (home / "place").read_bytes() == content


def test_a_file_that_can_not_be_written_is_said_before_anything_else(run: Command, db: str) -> None:
    run("append", "t", "a", "--store", db)
    refused = run("tail", "t", "--cursor-file", "no/such/place", "--store", db, code=Code.NOT_WRITTEN)
    assert refused.stdout == b""
    assert b"no/such/place can not be written" in refused.stderr


def test_a_link_keeps_pointing_to_the_file(run: Command, db: str, home: Path) -> None:
    run("append", "t", "a", "--store", db)
    (home / "shared").mkdir()
    (home / "place").symlink_to("shared/real")
    run("tail", "t", "--cursor-file", "place", "--max", "1", "--store", db)
    assert (home / "place").is_symlink()
    assert (home / "shared" / "real").stat().st_size > 10
