"""The PostgreSQL store passes the contract with a table of records that is partitioned by time."""

from collections.abc import Iterator

import pytest
from tests.postgres_server import PostgresUnderTest, postgres_server

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.servers.postgres import PostgresServer

pytestmark = pytest.mark.long

# Two boundaries, the later one in the middle of what is appended meanwhile: topics have records in several.
PARTITION = """
DO $$ DECLARE now timestamptz := clock_timestamp(); BEGIN
DROP TABLE "{schema}".records;
CREATE TABLE "{schema}".records (topic_id bigint NOT NULL, position bigint NOT NULL, at timestamptz NOT NULL,
    tag bigint NOT NULL, payload bytea NOT NULL, PRIMARY KEY (topic_id, position, at)) PARTITION BY RANGE (at);
EXECUTE format('CREATE TABLE "{schema}".r1 PARTITION OF "{schema}".records FOR VALUES FROM (minvalue) TO (%L)',
    now + interval '30 ms');
EXECUTE format('CREATE TABLE "{schema}".r2 PARTITION OF "{schema}".records FOR VALUES FROM (%L) TO (%L)',
    now + interval '30 ms', now + interval '1 day');
CREATE TABLE "{schema}".others PARTITION OF "{schema}".records DEFAULT;
END $$
"""


class PartitionedUnderTest(PostgresUnderTest):
    """Partitioned before anything is in it."""

    name = "postgres partitioned"

    def __init__(self, server: PostgresServer) -> None:
        super().__init__(server)
        server.execute(PARTITION.format(schema=self.schema))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def store_under_test(server: PostgresServer) -> PostgresUnderTest:
    return PartitionedUnderTest(server)
