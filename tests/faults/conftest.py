"""Every scenario runs on every store that it can apply to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mysql_server import MysqlUnderTest, mariadb_server
from tests.nats_server import NatsUnderTest
from tests.postgres_server import PostgresUnderTest, postgres_server
from tests.redis_server import RedisUnderTest, redis_server

from tailrace.testing.builtin import MemoryUnderTest, SqliteUnderTest
from tailrace.testing.peers import OtherProcess, Peer
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.nats import NatsServer
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.testing.stores import StoreUnderTest

ON_SQL = ("postgres", "mysql")
ON_SERVERS = ("redis", *ON_SQL, "nats")
SLOW_ON_SERVERS = ("test_s11_", "test_s14_", "test_away_again_and_again_for_less_than_the_budget")
"""What takes seconds there and is about the engine, about other databases, or about locks."""
SLOW_ON_SQL = ("test_s01_", "test_s03_one_", "test_s04_", "test_s13b_", "test_slow_and_stalled_readers")
"""What is about the engine, or in the kit as well, where a case costs more. Three stores run it always."""
REPEATED_ON_SQL = ("-1]", "-3]", "-29]", "-31]", "-40]")
"""Of S05, further numbers of records."""
ALWAYS_ON_NATS = ("test_s29b_the_seal", "test_a_live_reader_is_told")
"""About seals and lives, which are kept there as nowhere else. The rest is in the kit, or about the engine."""
SECONDS_OF_OUTAGES = "test_away_again_and_again_for_less_than_the_budget"
"""In memory and with one colour always."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In memory both colours run always; elsewhere one of them with what takes minutes: both stand on one engine."""
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        store = params.get("store_under_test")
        asyncio = getattr(params.get("driver"), "name", "") == "asyncio"
        slow = SLOW_ON_SQL + SLOW_ON_SERVERS if store in ON_SQL else SLOW_ON_SERVERS if store in ON_SERVERS else ()
        repeated = store in ON_SQL and "test_s05_" in item.nodeid and item.nodeid.endswith(REPEATED_ON_SQL)
        seconds = (asyncio or store == "sqlite") and SECONDS_OF_OUTAGES in item.nodeid
        seldom = store == "nats" and not any(name in item.nodeid for name in ALWAYS_ON_NATS)
        elsewhere = store not in (None, "memory")
        if (asyncio and elsewhere) or seldom or seconds or repeated or any(name in item.nodeid for name in slow):
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with redis_server() as url:
        yield url


@pytest.fixture(scope="session")
def a_postgres_server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def a_mariadb_server() -> Iterator[MariadbServer]:
    with mariadb_server() as server:
        yield server


@pytest.fixture(scope="session")
def a_nats_server() -> Iterator[NatsServer]:
    with NatsServer(settings={"max_payload": 2**23}) as server:
        yield server


@pytest.fixture(params=["memory", "sqlite", *ON_SERVERS])
def store_under_test(request: pytest.FixtureRequest, tmp_path: Path) -> StoreUnderTest:
    if request.param == "memory":
        return MemoryUnderTest()
    if request.param == "sqlite":
        return SqliteUnderTest(tmp_path)
    if request.param == "postgres":
        return PostgresUnderTest(request.getfixturevalue("a_postgres_server"))
    if request.param == "mysql":
        return MysqlUnderTest(request.getfixturevalue("a_mariadb_server"))
    if request.param == "nats":
        return NatsUnderTest(request.getfixturevalue("a_nats_server"))
    return RedisUnderTest(request.getfixturevalue("redis_url"))


@pytest.fixture(scope="session")
def other_process() -> Iterator[OtherProcess]:
    other = OtherProcess()
    yield other
    other.close()


@pytest.fixture
def peer(store: StoreUnderTest, request: pytest.FixtureRequest) -> Iterator[Peer]:
    """Somebody else on the same store: a real second process wherever there can be one."""
    url = store.url()
    if url is None:
        same = store.peer()
        yield same
        same.close()
        return
    other: OtherProcess = request.getfixturevalue("other_process")
    other.open(url)
    yield other
    other.leave()
