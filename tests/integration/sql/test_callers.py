"""``append_in`` takes what applications have in hand, and refuses what would commit by itself."""

import asyncio
from contextlib import closing
from typing import Any

import psycopg
import pymysql.cursors
import pytest
import sqlalchemy
from psycopg.rows import dict_row, scalar_row
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from tests.integration.sql.places import Place, contents

import tailrace
from tailrace import InvalidArgumentError
from tailrace.errors import InvalidTypeError


def two_appends(client: tailrace.StreamClient, connection: Any) -> None:
    """One to a topic that begins with it, one to a topic that is there."""
    client.topic("t").append_in(connection, [b"a", b"%s %(x)s :x"])
    client.topic("t").append_in(connection, [b"\\'\x00"])


STORED = [b"a", b"%s %(x)s :x", b"\\'\x00"]


@pytest.mark.parametrize("rows", ["plain", "dictionaries", "scalars"])
def test_a_connection_of_a_driver_is_used_whatever_rows_it_makes(place: Place, rows: str) -> None:
    more: dict[str, Any] = {}
    if rows != "plain":
        more = {"row_factory": dict_row if rows == "dictionaries" else scalar_row}
        if not place.postgres:
            more = {"cursorclass": pymysql.cursors.DictCursor if rows == "dictionaries" else pymysql.cursors.SSCursor}
    client, connection = place.client(), place.connection(**more)
    two_appends(client, connection)
    assert contents(client, "t") == []
    connection.commit()
    assert contents(client, "t") == STORED


def test_a_connection_of_sqlalchemy_is_used(place: Place) -> None:
    client = place.client()
    with place.engine().begin() as connection:
        two_appends(client, connection)
    assert contents(client, "t") == STORED


@pytest.mark.parametrize("before", [True, False], ids=["after other work", "as the first"])
def test_a_session_of_sqlalchemy_is_used_and_commits_it(place: Place, before: bool) -> None:
    client = place.client()
    with Session(place.engine()) as session:
        if before:
            session.execute(sqlalchemy.text("INSERT INTO orders VALUES (1)"))
        two_appends(client, session)
        session.commit()
        client.topic("t").append_in(session, [b"rolled back"])
        session.rollback()
    assert contents(client, "t") == STORED
    assert place.orders() == before


def test_a_transaction_that_was_begun_by_hand_counts(place: Place) -> None:
    client, connection = place.client(), place.connection(autocommit=True)
    with closing(connection.cursor()) as cursor:
        cursor.execute("BEGIN")
        two_appends(client, connection)
        cursor.execute("ROLLBACK")
    assert contents(client, "t") == []


def test_a_connection_that_commits_each_statement_is_refused(place: Place) -> None:
    client = place.client()
    with place.engine(isolation_level="AUTOCOMMIT").connect() as connection:
        for refused in (place.connection(autocommit=True), connection, Session(connection)):
            with pytest.raises(InvalidArgumentError, match="no transaction is open"):
                client.topic("t").append_in(refused, [b"x"])
    assert contents(client, "t") == []


@pytest.mark.parametrize("thing", [None, "postgresql://x", object()])
def test_what_is_no_connection_is_refused(place: Place, thing: object) -> None:
    with pytest.raises(InvalidTypeError, match="DB-API connection"):
        place.client().topic("t").append_in(thing, [b"x"])


def test_what_has_to_be_awaited_is_refused_and_works_in_run_sync(place: Place) -> None:
    if not place.postgres:
        pytest.skip("no driver for asyncio is installed for that server")
    client = place.client()

    async def use() -> None:
        engine = create_async_engine(place.alchemy())
        async with AsyncSession(engine) as session:
            with pytest.raises(InvalidTypeError, match="run_sync"):
                client.topic("t").append_in(session, [b"x"])
            with pytest.raises(InvalidTypeError, match="run_sync"):
                client.topic("t").append_in(await session.connection(), [b"x"])
            await session.run_sync(lambda inside: two_appends(client, inside))
            await session.commit()
        async with await psycopg.AsyncConnection.connect(place.url) as connection:
            with pytest.raises(InvalidTypeError):
                client.topic("t").append_in(connection, [b"x"])
        await engine.dispose()

    asyncio.run(use())
    assert contents(client, "t") == STORED
