"""Who gets in, and over TLS: everything is as without it, and what does not fit is told by what to change."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.integration.nats.stores import opened

import tailrace
from tailrace import StreamClient, spi
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.options import EngineOptions, StoreOptions, parse_url
from tailrace.testing.reading import numbered, payloads, take
from tailrace.testing.servers.certificates import Certificates
from tailrace.testing.servers.nats import NatsServer

# Hints that do not come are made up for so late that the test fails.
NO_FALLBACK = EngineOptions(poll_healthy=60.0, poll_unsure=60.0)


@pytest.fixture(scope="module")
def encrypted() -> Iterator[NatsServer]:
    with NatsServer(tls=True, users={"streams": "p/w @:?#"}) as server:
        yield server


@pytest.fixture(scope="module")
def strict() -> Iterator[NatsServer]:
    """A server that wants to know its clients."""
    with NatsServer(tls=True, mutual=True) as server:
        yield server


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Certificates of an authority that nobody trusts here."""
    return Certificates.make(tmp_path_factory.mktemp("strangers"))


def works(url: str) -> None:
    """Append through one client, and hear of it in another."""
    with tailrace.connect(url, create=True) as streams:
        store = spi.open_store(parse_url(url), StoreOptions())
        with StreamClient(store, options=NO_FALLBACK) as others, others.topic("t").subscribe_from_tail() as live:
            assert live.receive(timeout=0.2) is None
            streams.topic("t").append_many(numbered(3))
            assert payloads(take(live, 3)) == numbered(3)
        assert streams.maintenance.delete("t")


def _mine(certificates: Certificates) -> dict[str, str]:
    return {"tls_cert": str(certificates.certificate), "tls_key": str(certificates.key)}


def test_over_tls_with_a_password(encrypted: NatsServer) -> None:
    works(encrypted.url())


def test_with_a_certificate_of_ones_own(strict: NatsServer) -> None:
    assert strict.certificates is not None
    works(strict.url(**_mine(strict.certificates)))


def test_without_a_certificate_of_ones_own_the_setting_is_named(strict: NatsServer) -> None:
    with pytest.raises(DurableStreamUnavailableError, match="tls_cert"):
        opened(strict.url(), append_timeout=3.0)


def test_an_authority_that_is_not_trusted_is_told_with_the_setting(
    encrypted: NatsServer, strangers: Certificates
) -> None:
    with pytest.raises(StoreUnusableError, match="tls_ca"):
        opened(encrypted.url(tls_ca=str(strangers.authority)), append_timeout=3.0)


def test_a_server_that_wants_tls_gets_it_whatever_the_scheme_is(encrypted: NatsServer) -> None:
    works(encrypted.url().replace("tls://", "nats://"))


def test_a_server_without_tls_is_not_spoken_to_in_the_clear_by_a_url_that_wants_it() -> None:
    with NatsServer(users={"streams": "secret"}) as plain:
        with pytest.raises(StoreUnusableError, match=r"TLS|tls") as caught:
            opened(plain.url().replace("nats://", "tls://"), append_timeout=3.0)
        assert "secret" not in str(caught.value)


def test_with_a_token() -> None:
    with NatsServer(token="to/ken @:") as server:
        works(server.url())


def test_with_several_servers_any_may_be_away(encrypted: NatsServer) -> None:
    with NatsServer() as server:
        works(f"nats://127.0.0.1:9,127.0.0.1:{server.port}/")


def test_an_nkey_is_read_from_its_file(tmp_path: Path) -> None:
    nkeys = pytest.importorskip("nkeys")
    seed = nkeys.encode_seed(bytes(range(32)), nkeys.PREFIX_BYTE_USER)
    public = nkeys.from_seed(seed).public_key.decode()
    file = tmp_path / "user.nk"
    file.write_bytes(bytes(seed))
    with NatsServer(settings={"authorization": {"users": [{"nkey": public}]}}) as server:
        works(f"nats://127.0.0.1:{server.port}/?nkey={quote(str(file))}")
