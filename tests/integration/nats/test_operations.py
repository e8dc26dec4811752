"""What an operator asks and does: streams are made once, and what is set up badly is told by what to set."""

import json
from contextlib import closing

import pytest
from tests.integration.nats.stores import contents, created, opened, stored
from typer.testing import CliRunner

from tailrace import spi
from tailrace.cli.app import app
from tailrace.errors import StoreUnusableError
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.nats import NatsServer


def findings(url: str) -> spi.Findings:
    """Examine a store."""
    with opened(url, create=False) as store:
        assert isinstance(store, spi.Examinable)
        return store.examine()


@pytest.mark.parametrize("layout", ["shared", "dedicated"])
def test_streams_are_made_by_migrate_once_and_told_before(server: NatsServer, stream: str, layout: str) -> None:
    url = server.url(stream=stream, layout=layout)
    with closing(spi.open_schema(parse_url(url), StoreOptions())) as schema:
        assert schema.version() == 0
        (missing,) = schema.pending()
        assert stream in missing.script
        assert server.streams() == []
        schema.apply()
        made = server.streams()
        assert f"KV_{stream}" in made
        schema.apply()
        assert server.streams() == made
        assert (schema.version(), list(schema.pending())) == (schema.newest, [])
    with opened(url, create=False) as store:
        stored(store, "t", b"x")
        assert contents(store, "t") == [b"x"]


def test_migrate_brings_more_replicas_or_says_why_not(server: NatsServer, stream: str, url: str) -> None:
    created(url)
    with closing(spi.open_schema(parse_url(server.url(stream=stream, replicas="3")), StoreOptions())) as schema:
        with pytest.raises(StoreUnusableError, match="replicas"):
            schema.apply()
    with opened(url, create=False) as store:
        stored(store, "t", b"x")


def test_doctor_finds_nothing_wrong_with_a_store_as_it_is_made(url: str) -> None:
    created(url)
    found = findings(url)
    assert list(found.warnings) == []
    assert any("sync_interval" in each for each in found.unread)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"max_bytes": 2**30}, "max_bytes"),
        ({"max_age": 10**12}, "max_age"),
        ({"discard": "old"}, "discard"),
    ],
)
def test_settings_of_the_stream_that_lose_or_refuse_are_told_with_what_to_set(
    server: NatsServer, stream: str, url: str, change: dict[str, object], said: str
) -> None:
    created(url)
    config = server.call(f"STREAM.INFO.{stream}")["config"]
    server.call(f"STREAM.UPDATE.{stream}", **{**config, **change})
    assert any(said in warning for warning in findings(url).warnings)


def test_the_command_passes_a_record_through(url: str) -> None:
    created(url)
    done = CliRunner().invoke(app, ["doctor", "--store", url, "--json"], prog_name="tailrace")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["healthy"] is True, report
    assert report["capabilities"]["kind"].startswith("NATS JetStream")
    assert report["limits"]["max_payload"] < 2**20


def test_topics_are_listed_by_name_whatever_their_hashes_are(url: str) -> None:
    names = [f"run:{number:03}" for number in range(30)]
    with opened(url) as store:
        assert isinstance(store, spi.Maintenance)
        for name in reversed(names):
            stored(store, name, b"x")
        assert [info.name for info in store.topics()] == names
        assert [info.name for info in store.topics(prefix="run:00", limit=5)] == names[:5]
        assert [info.name for info in store.topics(after="run:027")] == names[28:]


def test_what_is_removed_gives_its_space_back(server: NatsServer, stream: str, url: str) -> None:
    with opened(url) as store:
        assert isinstance(store, spi.Maintenance)
        for number in range(20):
            stored(store, "t", bytes(100_000), b"%d" % number)
        full = server.call(f"STREAM.INFO.{stream}")["state"]["bytes"]
        assert full > 2_000_000
        assert store.delete("t")
        assert server.call(f"STREAM.INFO.{stream}")["state"]["bytes"] < 2_000
