"""What a store tells of its server: what an acknowledgement means there, and what would lose records or refuse work."""

import pytest
from tests.integration.mysql.stores import contents, opened, stored
from tests.mysql_server import mariadb_server

from tailrace import spi
from tailrace.backends.mysql.examination import warnings
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.testing.servers.mariadb import MariadbServer

CAREFUL = {"version": "10.11.19-MariaDB", "innodb_flush_log_at_trx_commit": "1", "max_allowed_packet": "67108864"}


def test_a_careful_server_is_not_warned_of() -> None:
    assert list(warnings(CAREFUL, mariadb=True)) == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("innodb_flush_log_at_trx_commit", "0"),
        ("innodb_flush_log_at_trx_commit", "2"),
        ("innodb_doublewrite", "OFF"),
        ("read_only", "ON"),
        ("max_allowed_packet", "1048576"),
        ("wait_timeout", "5"),
        ("version", "10.5.2-MariaDB"),
    ],
)
def test_what_would_lose_records_or_refuse_work_is_warned_of_by_name(setting: str, value: str) -> None:
    (sentence,) = warnings({**CAREFUL, setting: value}, mariadb=True)
    assert setting.replace("_", "-") in sentence.replace("_", "-")


def test_the_binary_log_is_looked_at_only_where_there_is_one() -> None:
    facts = {**CAREFUL, "sync_binlog": "0", "binlog_format": "STATEMENT"}
    assert list(warnings({**facts, "log_bin": "OFF"}, mariadb=True)) == []
    assert len(list(warnings({**facts, "log_bin": "ON"}, mariadb=True))) == 2


def test_facts_sizes_and_durability_are_the_servers_own(server: MariadbServer, database: str) -> None:
    with opened(server.url(database)) as store:
        found = store.examine()
        assert found.facts["innodb_flush_log_at_trx_commit"] == "2"
        assert set(found.sizes) >= {"tailrace_topics", "tailrace_records"}
        assert any("innodb_flush_log_at_trx_commit is 2" in sentence for sentence in found.warnings)
        assert "power cut may take" in store.capabilities.durability
        assert store.capabilities.store == f"MariaDB {'.'.join(map(str, server.flavour.version))}"


def test_under_statement_based_logging_appends_are_refused_with_what_to_set() -> None:
    with mariadb_server(log_bin="binlog", server_id="1") as server:
        database = server.create_database()
        with opened(server.url(database)):
            pass
        server.execute("SET GLOBAL binlog_format = STATEMENT")
        with opened(server.url(database)) as store:
            (outcome,) = store.append([spi.Entry("t", [b"x"])], 10.0)
            assert isinstance(outcome, spi.AppendRefused)
            assert isinstance(outcome.error, StoreUnusableError)
            assert "binlog_format" in str(outcome.error)
            assert isinstance(store.bounds("t"), spi.Unborn)


def test_a_store_speaks_tls_and_believes_only_whom_it_was_told_to() -> None:
    with MariadbServer(tls=True) as server:
        database = server.create_database()
        with opened(server.url(database)) as store:
            stored(store, "t", b"x")
        with opened(server.url(database, ssl_mode="required")) as store:
            assert contents(store, "t") == [b"x"]
        other = str(server.folder / "other.pem")
        with pytest.raises(StoreUnusableError, match="TLS settings"):
            opened(server.url(database, ssl_ca=other))
        with MariadbServer(tls=True) as stranger:
            assert stranger.certificates is not None
            with pytest.raises(DurableStreamUnavailableError, match="certificate"):
                opened(server.url(database, ssl_ca=str(stranger.certificates.authority)))
        with pytest.raises(StoreUnusableError, match="TLS"):
            opened(server.url(database, ssl_mode="disabled"))
