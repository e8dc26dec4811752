"""Catch-up from MariaDB: 200,000 records through a subscription, against pages of a bare cursor."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pymysql

import tailrace
from bench.catching_up import caught_up, filled
from bench.pairs import Result
from tailrace.testing.servers.mariadb import MariadbServer

_PAGE = """
SELECT position, payload FROM tailrace_records WHERE topic_id = %s AND position > %s ORDER BY position LIMIT 500
"""


def run(pairs: int) -> Iterator[Result]:
    """Measure one reader that is far behind."""
    with MariadbServer(synchronous=True) as server:
        database = server.create_database()
        with tailrace.connect(server.url(database), create=True) as streams:
            topic = filled(streams.topic("t"))
            bare = pymysql.connect(host="127.0.0.1", port=server.port, user="root", database=database, autocommit=True)
            with closing(bare) as connection:
                what = streams.capabilities.store
                yield caught_up(topic, lambda: by_pages(connection), what=what, pairs=pairs, goal=0.4)


def by_pages(connection: "pymysql.Connection[Any]") -> int:
    """Return how many rows were fetched."""
    cursor = connection.cursor()
    cursor.execute("SELECT id FROM tailrace_topics WHERE name = 't'")
    ((topic_id,),) = cursor.fetchall()
    seen = after = 0
    while cursor.execute(_PAGE, (topic_id, after)):
        page = cursor.fetchall()
        for _position, _payload in page:
            seen += 1
        after = page[-1][0]
    return seen
