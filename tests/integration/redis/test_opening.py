"""What a URL or a client says is what is used."""

from pathlib import Path

import pytest
import redis
from tests.integration.redis.conftest import OpenStore
from tests.integration.redis.steps import append, bounds
from tests.redis_server import redis_server

import tailrace
from tailrace.backends.redis.location import from_client, locate
from tailrace.options import parse_url


def test_a_unix_socket_a_database_and_a_prefix(tmp_path: Path) -> None:
    path = tmp_path / "redis.sock"
    with redis_server(unixsocket=str(path)) as url:
        with tailrace.connect(f"unix://{path}?db=3&prefix=app") as streams:
            streams.topic("t").append(b"x")
        client = redis.Redis.from_url(f"{url}/3", protocol=2)
        assert sorted(client.keys()) == [b"app:{t}:i", b"app:{t}:s"]
        client.close()


def test_two_prefixes_share_nothing(server: str, raw: "redis.Redis") -> None:
    with tailrace.connect(f"{server}/0?prefix=a") as one, tailrace.connect(f"{server}/0?prefix=a:b") as other:
        one.topic("t").append(b"x")
        assert other.maintenance.topics() == []
        assert [info.name for info in one.maintenance.topics()] == ["t"]


def test_a_clients_settings_are_used_and_its_connections_are_not(
    server: str, raw: "redis.Redis", open_store: OpenStore
) -> None:
    pool = redis.BlockingConnectionPool.from_url(f"{server}/2", max_connections=1, client_name="mine", timeout=1)
    client = redis.Redis(connection_pool=pool)
    taken = pool.get_connection()
    store = open_store(client)
    append(store, "t", b"x")
    assert bounds(store, "t").tail.position == 1
    assert {entry["db"] for entry in raw.client_list() if entry["name"] == "mine"} == {"2"}
    pool.release(taken)
    client.close()


def test_its_retries_are_not_used(server: str) -> None:
    client = redis.Redis.from_url(server, retry_on_timeout=True, retry_on_error=[redis.ConnectionError])
    settings = from_client(client).settings
    assert (settings["retry_on_timeout"], settings["retry_on_error"], settings["retry"]._retries) == (False, [], 0)
    client.close()


@pytest.mark.parametrize("url", ["redis://:secret@host:1/0", "redis://me:secret@host/0?password=secret"])
def test_no_password_is_shown(url: str) -> None:
    location, _ = locate(parse_url(url))
    assert "secret" not in repr(location) + location.name


def test_the_product_is_named_without_a_right_to_ask(server: str, raw: "redis.Redis", open_store: OpenStore) -> None:
    named = open_store().capabilities.store
    assert named.startswith(("Redis ", "Valkey "))
    # INFO is forbidden; HELLO can not be.
    raw.execute_command("ACL", "SETUSER", "bare", "on", ">pw", "~*", "&*", "+@connection")
    client = redis.Redis.from_url(server, username="bare", password="pw", protocol=2)
    assert open_store(client).capabilities.store == named
    client.close()
