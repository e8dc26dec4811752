"""Catch-up from PostgreSQL: 200,000 records through a subscription, against pages of a bare cursor."""

from collections.abc import Iterator
from typing import Any

import psycopg

from bench.catching_up import caught_up, filled
from bench.pairs import Result
from bench.raw_postgres import SCHEMA, both

_PAGE = f"""
SELECT position, payload FROM {SCHEMA}.records WHERE topic_id = %b::bigint AND position > %b::bigint
ORDER BY position LIMIT 500
"""


def run(pairs: int) -> Iterator[Result]:
    """Measure one reader that is far behind."""
    with both() as (streams, raw):
        topic = filled(streams.topic("t"))
        connection = raw.connect()
        connection.execute(f"VACUUM ANALYZE {SCHEMA}.records".encode())
        what = streams.capabilities.store
        yield caught_up(topic, lambda: by_pages(connection), what=what, pairs=pairs, goal=0.4)


def by_pages(connection: "psycopg.Connection[Any]") -> int:
    """Return how many rows were fetched, in binary, by a prepared statement."""
    ((topic_id,),) = connection.execute(f"SELECT id FROM {SCHEMA}.topics WHERE name = 't'").fetchall()
    cursor = connection.cursor(binary=True)
    seen = after = 0
    while page := cursor.execute(_PAGE, (topic_id, after), prepare=True).fetchall():
        for _position, _payload in page:
            seen += 1
        after = page[-1][0]
    return seen
