"""Commands on the topics of a server: the URL of one is a store like any other."""

from collections.abc import Iterator

import pytest
from tests.cli.commands import Command
from tests.http.doors.serving import served

from tailrace.cli.exits import Code
from tailrace.server.access import AccessKey, AccessKeys
from tailrace.server.configuration import Access


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


def test_doctor_leaves_no_topic_behind_that_its_key_may_not_delete(run: Command, db: str) -> None:
    user, of_user = AccessKey.fresh("worker", ["append:*", "read:*"])
    doctor, of_doctor = AccessKey.fresh("doctor", ["admin:tailrace-doctor:*"])
    with served(db, Access(keys=AccessKeys([of_user, of_doctor]).text)) as server:
        run.set(TAILRACE_STORE=server.url, TAILRACE_KEY=user)
        assert b"does not allow admin" in run("doctor", code=Code.CHECK_FAILED).stdout
        run.set(TAILRACE_KEY=doctor)
        assert b"all is well" in run("doctor").stdout

    assert run("topics", "--store", db).stdout.splitlines()[1:] == []
