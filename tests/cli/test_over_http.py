"""Commands on the topics of a server: the URL of one is a store like any other."""

from collections.abc import Iterator

import pytest
from tests.cli.commands import Command
from tests.http.doors.serving import served

from tailrace.cli.exits import Code


@pytest.fixture
def server(db: str) -> Iterator[str]:
    with served(db) as server:
        yield server.url


def test_topics_of_a_server_are_written_read_and_ended(run: Command, server: str) -> None:
    run.set(TAILRACE_STORE=server)
    place = run("checkpoint", "t").stdout.decode().strip()
    assert run("append", "t", "x").stdout + run("append", "t", "y").stdout == b"stored 1 record\n" * 2
    assert run("tail", "t", "--from", place, "--max", "1").stdout == b"x\n"
    run("seal", "t")
    assert run("tail", "t").stdout == b"x\ny\n"
    assert b"t\t2\t2 B" in run("topics").stdout
    assert b"sealed" in run("describe", "t").stdout
    run("delete", "t", "--yes")
    run("describe", "t", code=Code.NO_SUCH_TOPIC)


def test_what_is_kept_is_for_the_server_to_decide(run: Command, server: str) -> None:
    refused = run("sweep", "--max-records", "1", "--store", server, code=Code.USAGE)
    assert b"retention is for the server to decide" in refused.stderr
