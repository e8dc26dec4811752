"""What a store tells of the servers behind it: what an acknowledgement means there, and what would lose records."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

import tailrace
from tailrace import spi
from tailrace.backends.redis import RedisStore
from tailrace.options import parse_url
from tailrace.testing.servers.redis import RedisCluster, RedisReplicas, RedisServer
from tailrace.testing.servers.redis.server import Aof, Settings

CAREFUL: Settings = {"tcp-keepalive": 300}


@pytest.fixture(scope="module")
def careful() -> Iterator[RedisServer]:
    """A server that nothing is to be said against."""
    with RedisServer(aof="always", settings=CAREFUL) as server:
        yield server


@pytest.fixture(scope="module")
def replication() -> Iterator[RedisReplicas]:
    with RedisReplicas(aof="everysec") as replication:
        yield replication


def opened(url: str) -> "closing[RedisStore]":
    store = spi.open_store(parse_url(url), tailrace.StoreOptions())
    assert isinstance(store, RedisStore)
    return closing(store)


def examined(url: str) -> spi.Findings:
    with opened(url) as store:
        return store.examine()


def durability(url: str) -> str:
    with opened(url) as store:
        return store.capabilities.durability


def warned(found: spi.Findings, word: str) -> str:
    """Return the one sentence that is about a setting."""
    (sentence,) = (sentence for sentence in found.warnings if word in sentence)
    return sentence


def test_a_careful_server_is_told_as_it_is_and_not_warned_of(careful: RedisServer) -> None:
    found = examined(careful.url)
    assert found.warnings == ()
    assert found.unread == ()
    assert found.facts["appendfsync"] == "always"
    assert found.facts["maxmemory-policy"] == "noeviction"
    assert found.facts["role"] == "master"
    assert found.sizes["memory of the server"] > 0
    assert durability(careful.url) == (
        "An acknowledged record is in the append-only file and flushed to disk: it survives a power cut "
        "(appendfsync always); no replica has it."
    )


@pytest.mark.parametrize(
    ("name", "value", "says", "remedy"),
    [
        ("maxmemory-policy", "allkeys-lru", "throws topics away", "noeviction"),
        ("maxmemory-policy", "volatile-ttl", "forgets deleted topics", "noeviction"),
        ("appendfsync", "no", "power cut", "everysec"),
        ("no-appendfsync-on-rewrite", "yes", "nothing is flushed", "set it to no"),
        ("tcp-keepalive", 0, "kept for ever", "300"),
        ("client-output-buffer-limit", "pubsub 65536 8192 60", "burst of hints", "32mb 8mb 60"),
        ("proto-max-bulk-len", 2**20, "hangs up on larger payloads", str(16 * 2**20)),
    ],
)
def test_a_careless_setting_is_warned_of_with_what_to_set(
    careful: RedisServer, name: str, value: str | int, says: str, remedy: str
) -> None:
    before = careful.call("CONFIG", "GET", name)
    assert isinstance(before, list)
    careful.call("CONFIG", "SET", name, value)
    try:
        found = examined(careful.url)
    finally:
        careful.call("CONFIG", "SET", name, before[1])
    assert len(found.warnings) == 1
    sentence = warned(found, name)
    assert says in sentence
    assert remedy in sentence


@pytest.mark.parametrize(
    ("aof", "save", "means"),
    [
        ("everysec", "", "a power cut takes the last second or two (appendfsync everysec)"),
        ("no", "", "it is gone with the server's process"),
        ("no", "3600 1", "a crash takes what came after the last snapshot"),
    ],
)
def test_what_an_acknowledgement_means_follows_the_settings(aof: Aof, save: str, means: str) -> None:
    with RedisServer(aof=aof, settings={"save": save}) as server:
        assert means in durability(server.url)
        found = examined(server.url)
        if aof == "no":
            assert ("loses everything" if save == "" else "since the last snapshot") in warned(
                found, "appendonly is no"
            )


def test_replication_is_told_on_both_sides(replication: RedisReplicas) -> None:
    master, replica = replication.servers
    assert "a failover takes what they had not got" in durability(master.url)
    assert "one replica has confirmed it (wait_replicas=1)" in durability(f"{master.url}?wait_replicas=1")
    assert "set it to 1" in warned(examined(master.url), "min-replicas-to-write")
    assert "connect to the primary" in warned(examined(replica.url), "is a replica")
    lonely = warned(examined(f"{master.url}?wait_replicas=2"), "wait_replicas")
    assert "wait_replicas is 2 and 1 replicas are connected" in lonely


def test_what_this_user_may_not_see_is_said_and_nothing_is_guessed(careful: RedisServer) -> None:
    careful.call(
        "ACL", "SETUSER", "blind", "reset", "on", ">pw", "~*", "resetchannels", "&*", "+@all", "-@admin", "-info"
    )
    careful.call("ACL", "SETUSER", "half", "reset", "on", ">pw", "~*", "resetchannels", "&*", "+@all", "-config")
    with opened(careful.url_for("blind", "pw")) as store:
        found = store.examine()
        assert [sentence.partition(":")[0] for sentence in found.unread] == ["INFO", "CONFIG GET"]
        assert "allow +config|get" in found.unread[1]
        assert found.warnings == ()
        assert "which this user may not read" in store.capabilities.durability
    found = examined(careful.url_for("half", "pw"))
    assert [sentence.partition(":")[0] for sentence in found.unread] == ["CONFIG GET"]
    assert found.facts["role"] == "master"


def test_doctor_shows_all_of_it(careful: RedisServer) -> None:
    careful.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    try:
        report = json.loads(doctor(careful.url, "--json"))
        words = doctor(careful.url)
    finally:
        careful.call("CONFIG", "SET", "maxmemory-policy", "noeviction")
    assert report["healthy"] is True
    assert report["facts"]["maxmemory-policy"] == "allkeys-lru"
    assert any("noeviction" in warning for warning in report["warnings"])
    assert report["unread"] == []
    assert "\nwarning: maxmemory-policy is allkeys-lru" in words
    assert "setting          appendonly = yes\n" in words
    assert careful.call("DBSIZE") == 2, "a grave for each of the two topics that were passed through, and nothing else"


@pytest.mark.long
def test_of_a_cluster_every_node_is_looked_at() -> None:
    with RedisCluster(aof="everysec") as cluster:
        odd = cluster.nodes[1]
        odd.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        found = examined(cluster.url)
        assert len(found.sizes) == 3
        assert found.facts[f"maxmemory-policy (port {odd.port})"] == "allkeys-lru"
        assert [sentence.partition(":")[0] for sentence in found.warnings] == [f"port {odd.port}"]


def doctor(url: str, *arguments: str) -> Any:
    command = [sys.executable, "-m", "tailrace.cli", "doctor", *arguments]
    done = subprocess.run(command, env=os.environ | {"TAILRACE_STORE": url}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
