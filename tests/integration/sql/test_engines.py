"""An ``Engine`` that the application hands in: how it connects is used, and its connections are left alone."""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from unittest import mock

import psycopg
import pymysql
import pytest
import sqlalchemy
from sqlalchemy import event
from sqlalchemy.ext.asyncio import create_async_engine
from tests.forks.children import child, ended_well
from tests.integration.sql.places import Place, contents

import tailrace
from tailrace import InvalidArgumentError
from tailrace.backends import mysql, postgres
from tailrace.errors import InvalidTypeError
from tailrace.testing.reading import payloads, take
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer


def test_a_store_works_in_the_database_of_an_engine_and_holds_none_of_its_connections(place: Place) -> None:
    engine = place.engine(pool_size=1, max_overflow=0)
    with engine.connect() as held, closing(tailrace.connect(engine)) as client:
        # The pool of the application has nothing left to give, and nothing is asked of it.
        held.execute(sqlalchemy.text("SELECT 1"))
        with client.topic("t").subscribe_from_tail() as subscription:
            place.client().topic("t").append(b"by URL")
            client.topic("t").append_many([b"by engine", "\U0001f30a".encode()])
            assert payloads(take(subscription, 3)) == [b"by URL", b"by engine", "\U0001f30a".encode()]
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_asyncio_takes_the_same_engine(place: Place) -> None:
    async def use() -> bytes | None:
        async with await tailrace.aio.connect(place.engine()) as streams:
            await streams.topic("t").append(b"x")
            async with await streams.topic("t").subscribe_from_beginning() as subscription:
                record = await subscription.receive(timeout=10)
                return record.payload if isinstance(record, tailrace.DurableStreamRecord) else None

    assert asyncio.run(use()) == b"x"


def test_tables_are_made_when_asked_for_and_under_other_names_too(place: Place) -> None:
    engine = place.engine()
    if place.postgres:
        location: Any = postgres.from_engine(engine, schema="shop", prefix="events_")
        kind: Any = postgres.PostgresStore
    else:
        location, kind = mysql.from_engine(engine, prefix="shop_", poll_max=0.05), mysql.MysqlStore
    with pytest.raises(tailrace.StoreUnusableError, match="tailrace migrate"):
        kind(location)
    options = tailrace.StoreOptions(create=True)
    with closing(tailrace.StreamClient(kind(location, options))) as client:
        client.topic("t").append(b"in the shop")
        assert contents(client, "t") == [b"in the shop"]
    assert contents(place.client(), "t") == []


def arguments(place: Place, name: str) -> Mapping[str, Any]:
    """Say in the driver's words what shows in each session."""
    return {"application_name": name} if place.postgres else {"init_command": f"SET @named = '{name}'"}


def names(place: Place) -> set[str]:
    """Return what the sessions of a database are called, where the server tells of others'."""
    rows = place.server.execute("SELECT application_name FROM pg_stat_activity", database=place.name)
    return {name for (name,) in rows}


def test_connect_arguments_and_listeners_of_the_application_count(place: Place) -> None:
    engine = place.engine(connect_args=arguments(place, "of the application"))
    asked: list[Mapping[str, Any]] = []

    @event.listens_for(engine, "do_connect")
    def ask(_dialect: Any, _record: Any, _positional: Any, named: dict[str, Any]) -> None:
        asked.append({**named})
        named.update(arguments(place, f"number {len(asked)}"))

    with mock.patch.object(pymysql, "connect", wraps=pymysql.connect) as by_pymysql:
        with closing(tailrace.connect(engine)) as client:
            client.topic("t").append(b"x")
            if place.postgres:
                assert "number 1" in names(place)
    if not place.postgres:
        assert by_pymysql.call_args_list[0].kwargs["init_command"] == "SET @named = 'number 1'"
    assert asked[0].items() >= arguments(place, "of the application").items()
    # The engine still connects for its owner.
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text("SELECT 1")).scalar() == 1


def test_the_connections_of_a_creator_are_used_whatever_they_are_set_to(place: Place) -> None:
    made: list[Any] = []

    def create() -> Any:
        if isinstance(place.server, PostgresServer):
            connection: Any = psycopg.connect(place.server.url(place.name), client_encoding="LATIN1")
            connection.execute("SET application_name = 'of the creator'")
        else:
            connection = pymysql.connect(
                host="127.0.0.1",
                port=place.server.port,
                user="root",
                database=place.name,
                charset="latin1",
            )
        made.append(connection)
        return connection

    scheme = "postgresql+psycopg://" if place.postgres else "mysql+pymysql://"
    engine = place.engine(url=scheme, creator=create)
    with closing(tailrace.connect(engine)) as client:
        assert made
        client.topic("Ω").append_many([b"\xff", b"'\\"])
        client.topic("Ω").append(b"more")
        assert contents(client, "Ω") == [b"\xff", b"'\\", b"more"]
        assert [info.name for info in client.maintenance.topics()] == ["Ω"]
        if place.postgres:
            assert "of the creator" in names(place)


def test_append_in_takes_a_connection_of_the_same_engine(place: Place) -> None:
    engine = place.engine()
    with closing(tailrace.connect(engine)) as client:
        with engine.begin() as connection:
            client.topic("t").append_in(connection, [b"x"])
        assert contents(client, "t") == [b"x"]


def test_a_forked_child_gets_connections_of_its_own(place: Place) -> None:
    engine = place.engine()
    with closing(tailrace.connect(engine)) as client:
        client.topic("t").append(b"parent")
        assert ended_well(child(lambda: client.topic("t").append(b"child")))
        client.topic("t").append(b"parent again")
        assert contents(client, "t") == [b"parent", b"child", b"parent again"]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited", "ignore:Exception ignored in. <coroutine")
def test_an_engine_to_be_awaited_does_as_well_and_its_own_kind_of_creator_does_not(place: Place) -> None:
    if not place.postgres:
        pytest.skip("no driver for asyncio is installed for that server")
    engine = create_async_engine(place.alchemy(), connect_args={"application_name": "awaited"})
    with closing(tailrace.connect(engine)) as client:
        client.topic("t").append(b"x")
        assert "awaited" in names(place)
        assert contents(client, "t") == [b"x"]

    async def create() -> Any:
        return await psycopg.AsyncConnection.connect(place.url)

    with pytest.raises(InvalidArgumentError, match="hand in an Engine"):
        tailrace.connect(create_async_engine("postgresql+psycopg://", async_creator=create))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql+psycopg2://x/y", r"postgresql\+psycopg://"),
        ("postgresql+asyncpg://x/y", r"postgresql\+psycopg://"),
        ("mysql+mysqlconnector://x/y", r"mysql\+pymysql://"),
        ("mysql+aiomysql://x/y", r"mysql\+pymysql://"),
        ("sqlite:///events.db", "pass the file, as sqlite:///"),
        ("mssql+pyodbc://x/y", "no store in a database of mssql"),
    ],
)
def test_an_engine_of_another_driver_or_database_is_refused_with_what_to_do(url: str, said: str) -> None:
    # None that needs its driver: it is refused before that is asked for anything.
    engine: Any = sqlalchemy.create_mock_engine(url, lambda *_: None)
    with pytest.raises(InvalidArgumentError, match=said):
        tailrace.connect(engine)


@pytest.mark.parametrize("thing", [None, 7, b"sqlite://", object()])
def test_what_is_neither_a_url_nor_an_engine_is_refused(thing: Any) -> None:
    with pytest.raises(InvalidTypeError, match="Engine of SQLAlchemy"):
        tailrace.connect(thing)


def test_an_engine_for_no_database_is_refused() -> None:
    with MariadbServer() as server:
        engine = sqlalchemy.create_engine(f"mysql+pymysql://root@127.0.0.1:{server.port}")
        with pytest.raises(InvalidArgumentError, match="for no database"):
            tailrace.connect(engine)


def test_tls_of_connect_arguments_is_used() -> None:
    for server, url, trusted in (
        (PostgresServer(tls=True), "postgresql+psycopg://postgres@127.0.0.1:{}/postgres", "sslrootcert"),
        (MariadbServer(tls=True), "mysql+pymysql://root@127.0.0.1:{}/mysql", "ssl_ca"),
    ):
        with server:
            assert server.certificates is not None
            more = {trusted: str(server.certificates.authority)}
            if isinstance(server, PostgresServer):
                more["sslmode"] = "verify-full"
            engine = sqlalchemy.create_engine(url.format(server.port), connect_args=more)
            with closing(tailrace.connect(engine, create=True)) as client:
                client.topic("t").append(b"x")
                assert contents(client, "t") == [b"x"]


def test_sqlalchemy_is_not_imported_by_us() -> None:
    program = "import sys, tailrace.backends.postgres, tailrace.backends.mysql; sys.exit('sqlalchemy' in sys.modules)"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", program]) == 0
