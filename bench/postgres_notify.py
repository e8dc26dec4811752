"""What ``pg_notify`` costs inside of a transaction, as ``append_in`` has it: bare transactions with it and without."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg

from bench.pairs import Result, paired
from bench.sqlite_append import rate
from tailrace.testing.servers.postgres import PostgresServer

PAYLOAD = b"x" * 200


def run(pairs: int) -> Iterator[Result]:
    """Measure one thread and sixteen."""
    with PostgresServer(synchronous=True) as server, ExitStack() as opened:
        server.execute("CREATE TABLE raw (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload bytea)")
        for threads in (1, 16):
            telling = [transaction(server, opened, "SELECT pg_notify('raw', %s)") for _ in range(threads)]
            silent = [transaction(server, opened, "SELECT length(%s)") for _ in range(threads)]
            yield paired(
                f"PostgreSQL: transactions that notify, against such that do not, {threads} threads",
                "transactions/s",
                lambda telling=telling: rate(telling),  # type: ignore[misc]
                lambda silent=silent: rate(silent),  # type: ignore[misc]
                pairs=pairs,
            )


def transaction(server: PostgresServer, opened: ExitStack, last: str) -> Callable[[], None]:
    """Return what inserts a row and then does something else, in one transaction."""
    connection = opened.enter_context(psycopg.connect(server.url()))

    def run() -> None:
        connection.execute("INSERT INTO raw (payload) VALUES (%b)", (PAYLOAD,), prepare=True)
        connection.execute(last.encode(), ("some",), prepare=True)
        connection.commit()

    return run
