"""Heads of topics in a table, changed and told by hand."""

import psycopg

from tailrace import spi
from tailrace.backends.postgres.channels import Channels
from tailrace.backends.postgres.line import connect
from tailrace.backends.postgres.teller import Teller

_MOVE = (
    "INSERT INTO topics AS t VALUES (%s, 1, 1, 1, false)"
    " ON CONFLICT (name) DO UPDATE SET last_position = t.last_position + 1"
)


class Heads:
    """As much of a store as a watch looks at. Thread-safe.

    Args:
        url: Of an empty database.
    """

    table = "topics"

    def __init__(self, database: str, url: str) -> None:
        self.database = database
        self.channels = Channels(database)
        self.url = url
        self.teller = Teller(lambda deadline: connect(url, deadline), self.channels)
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute(
            "CREATE TABLE topics (name bytea PRIMARY KEY, incarnation bigint NOT NULL, last_position bigint NOT NULL,"
            " last_tag bigint NOT NULL, sealed boolean NOT NULL)"
        )

    def reconnect(self) -> None:
        """Go on after the server has been away."""
        self.connection.close()
        self.connection = psycopg.connect(self.url, autocommit=True)

    def move(self, *topics: str) -> None:
        """Append something to each, and say so."""
        for topic in topics:
            self.connection.execute(_MOVE, [topic.encode()])
        self.teller.tell(topics)

    def terminate_others(self) -> int:
        """End every other connection to the database, as an operator does; return how many."""
        return self.connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND query NOT LIKE 'NOTIFY%'"
        ).fetchall()[0][0]

    def change(self, statement: str, *values: object) -> None:
        """Change something without a word."""
        self.connection.execute(statement.encode(), values)

    def close(self) -> None:
        self.teller.close()
        self.connection.close()


def moved(watch: spi.Watch, topics: set[str]) -> set[str]:
    """Return what is told until all of these are, or nothing is told for five seconds."""
    told: set[str] = set()
    while not told >= topics:
        changes = watch.wait(5.0)
        if not changes.topics:
            break
        told |= changes.topics
    return told
