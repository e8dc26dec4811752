"""The rights that the page on workflow streams shows are enough for each user, and for nothing else."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.docs.blocks import blocks
from tests.workflow.items import keyed, payloads

from tailrace import StoreUnusableError, spi
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.testing.servers.waiting import until
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import Run
from tailrace.workflow.settings import WorkflowSettings

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "workflow-streams-rights.md"
SECRETS = {"follower": "secret1", "producer": "secret2", "keeper": "secret3"}
STREAM = Run("default", "wf", "r").stream("s")

As: TypeAlias = Callable[[str], EmbeddedService]
"""Opens a service as one of the page's users."""


@pytest.fixture(params=["PostgreSQL", "MariaDB"])
def as_user(request: pytest.FixtureRequest) -> Iterator[As]:
    with ExitStack() as stack:
        kind = PostgresServer if request.param == "PostgreSQL" else MariadbServer
        server: PostgresServer | MariadbServer = stack.enter_context(kind(password="of the operator"))
        database = server.create_database("events")

        def opened(url: str, create: bool) -> EmbeddedService:
            store = spi.open_store(parse_url(url), StoreOptions(create=create))
            service = EmbeddedService(store, WorkflowSettings(run_retention=0))
            stack.callback(service.close)
            return service

        opened(server.url(database), create=True)
        shown = [block.body for block in blocks(PAGE.read_text(encoding="utf-8")) if block.language == "sql"]
        for statement in shown[request.param != "PostgreSQL"].split(";"):
            if statement.strip():
                server.execute(statement.strip(), database=database)
        yield lambda user: opened(server.url(database, user, SECRETS[user]), create=False)


def test_each_does_its_part_and_no_other(as_user: As) -> None:
    follower, producer, keeper = as_user("follower"), as_user("producer"), as_user("keeper")
    producer.start_run(STREAM.run)
    assert producer.append(STREAM, keyed("a"), lease_seconds=60).accepted == 1
    assert producer.append(STREAM, keyed("a", "b")).deduped == 1
    producer.renew(STREAM, 60)

    assert payloads(follower, STREAM) == ["a", "b"]
    until(lambda: producer.describe(STREAM).pending_items == 0, "the delivery is noted")
    assert not follower.subscribe(STREAM, from_offset=2, wait_seconds=1).documents
    with follower.topic(STREAM).subscribe_from_beginning() as subscription:
        record = subscription.receive(timeout=5)
        assert record is not None
    assert [found.stream_name for found in follower.list_streams(STREAM.run)] == ["s"]

    for change in (
        lambda: follower.append(STREAM, keyed("c")),
        lambda: follower.end(STREAM),
        lambda: follower.delete_run(STREAM.run),
        lambda: producer.delete_run(STREAM.run),
        lambda: keeper.append(STREAM, keyed("c")),
    ):
        with pytest.raises(StoreUnusableError, match="least rights"):
            change()

    producer.end(STREAM)
    producer.end_run(STREAM.run)
    swept = keeper.sweep()
    assert (swept.runs, swept.failed) == (1, 0)
    producer.append(STREAM, keyed("a"))
    assert keeper.delete_run(STREAM.run)
