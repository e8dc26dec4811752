"""The rights that the pages on PostgreSQL and MySQL show are enough for each user, and for nothing else."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.docs.blocks import blocks

import tailrace
from tailrace import CLOSED, Retention, StoreUnusableError
from tailrace.spi import SweepBudget
from tailrace.testing.reading import numbered, payloads, take
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
SECRETS = {"reader": "secret1", "appender": "secret2", "sweeper": "secret3", "keeper": "secret4"}

As: TypeAlias = Callable[[str], tailrace.StreamClient]
"""Connects as one of the page's users, or as ``operator``."""


def _rights(page: str) -> list[str]:
    text = (HOW_TO / page).read_text(encoding="utf-8")
    return [
        statement.strip()
        for block in blocks(text)
        if block.language == "sql"
        for statement in block.body.split(";")
        if statement.strip()
    ]


@pytest.fixture(scope="module", params=["postgres.md", "mysql.md"])
def url(request: pytest.FixtureRequest) -> Iterator[Callable[[str], str]]:
    """Return each user's URL on a server with the page's rights."""
    with ExitStack() as stack:
        if request.param == "postgres.md":
            server: PostgresServer | MariadbServer = stack.enter_context(PostgresServer(password="of the operator"))
        else:
            server = stack.enter_context(MariadbServer(password="of the operator"))
        database = server.create_database("events")
        tailrace.connect(server.url(database), create=True).close()
        for statement in _rights(request.param):
            server.execute(statement, database=database)
        yield lambda user: server.url(database, user, SECRETS[user]) if user in SECRETS else server.url(database)


@pytest.fixture
def as_user(url: Callable[[str], str]) -> Iterator[As]:
    with ExitStack() as stack:
        operator = stack.enter_context(tailrace.connect(url("operator")))
        for info in operator.maintenance.topics():
            operator.maintenance.delete(info.name)

        def connect(user: str) -> tailrace.StreamClient:
            return stack.enter_context(tailrace.connect(url(user), forget_after=0.001))

        yield connect


def test_each_does_its_part(as_user: As) -> None:
    reader, appender, sweeper = as_user("reader"), as_user("appender"), as_user("sweeper")
    with reader.topic("t").subscribe_from_tail() as live:
        appender.topic("t").append(b"0")
        assert payloads(take(live, 1)) == [b"0"]
        appender.topic("t").append_many(numbered(9, 1))
        assert payloads(take(live, 9)) == numbered(9, 1)
        appender.topic("t").seal()
        assert live.receive(timeout=5) is CLOSED
    assert [(info.name, info.records) for info in sweeper.maintenance.topics()] == [("t", 10)]
    assert sweeper.maintenance.trim("t", Retention(max_records=1)) == 9
    appender.topic("idle").append(b"x")
    sweeper.maintenance.trim("idle", Retention(max_records=0))
    assert sweeper.maintenance.sweep(SweepBudget()).forgotten == 1
    assert sweeper.maintenance.delete("t") is True


def test_a_reader_changes_nothing(as_user: As) -> None:
    as_user("operator").topic("t").append(b"x")
    reader = as_user("reader")
    for change in (
        lambda: reader.topic("t").append(b"y"),
        lambda: reader.topic("new").append(b"y"),
        lambda: reader.topic("t").seal(),
        lambda: reader.maintenance.trim("t", Retention(max_records=0)),
        lambda: reader.maintenance.delete("t"),
    ):
        with pytest.raises(StoreUnusableError, match="does not allow this user"):
            change()
    (info,) = as_user("operator").maintenance.topics()
    assert (info.name, info.records) == ("t", 1)


def test_an_appender_neither_reads_nor_removes(as_user: As) -> None:
    as_user("operator").topic("t").append(b"x")
    appender = as_user("appender")
    with pytest.raises(StoreUnusableError, match="does not allow this user"):
        appender.topic("t").subscribe_from_beginning().__enter__()
    with pytest.raises(StoreUnusableError, match="does not allow this user"):
        appender.maintenance.trim("t", Retention(max_records=0))
    with pytest.raises(StoreUnusableError, match="does not allow this user"):
        appender.maintenance.delete("t")
    with as_user("operator").topic("t").subscribe_from_beginning() as subscription:
        assert payloads(take(subscription, 1)) == [b"x"]


def test_a_sweeper_does_not_append(as_user: As) -> None:
    as_user("operator").topic("t").append(b"x")
    sweeper = as_user("sweeper")
    for name in ("t", "new"):
        with pytest.raises(StoreUnusableError, match="does not allow this user"):
            sweeper.topic(name).append(b"y")
    (info,) = as_user("operator").maintenance.topics()
    assert (info.name, info.records) == ("t", 1)


def test_an_appender_with_a_retention_trims(url: Callable[[str], str], as_user: As) -> None:
    with tailrace.connect(url("keeper"), retention=Retention(max_records=3)) as keeper:
        for payload in numbered(10):
            keeper.topic("t").append(payload)
    with as_user("reader").topic("t").subscribe_from_beginning() as subscription:
        assert payloads(take(subscription, 3)) == numbered(3, 7)
