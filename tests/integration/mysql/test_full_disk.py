"""A server that has no room left: told in our words, by our classes, with nothing half-written.

Its tables are in one file that may not grow: to InnoDB that is a disk without space. (On a file system that really is
full the server ends itself.)
"""

import os

import pytest
from tests.mysql_server import mariadb_server

import tailrace
from tailrace import StoreUnusableError
from tailrace.testing.reading import payloads, take

LARGE = 100_000


@pytest.mark.long
def test_a_full_disk_refuses_stores_no_half_and_goes_on_when_there_is_room() -> None:
    # What is random can not be compressed.
    batches = [[os.urandom(LARGE) for _ in range(7)] for _ in range(100)]
    acknowledged: list[bytes] = []
    settings = {
        "innodb_file_per_table": "OFF",
        "innodb_data_file_path": "ibdata1:12M:autoextend:max:60M",
        "innodb_autoextend_increment": "4",
    }
    with mariadb_server(**settings) as server:
        database = server.create_database()
        with tailrace.connect(server.url(database), create=True) as streams:
            topic = streams.topic("t")

            def fill() -> None:
                for batch in batches:
                    topic.append_many(batch)
                    acknowledged.extend(batch)

            with pytest.raises(StoreUnusableError, match="no space left") as caught:
                fill()
            assert caught.value.maybe_stored is False
            assert len(acknowledged) >= 7
            with topic.subscribe_from_beginning() as subscription:
                assert payloads(take(subscription, len(acknowledged))) == acknowledged
                assert subscription.receive(timeout=0.1) is None
                server.stop()
                server.start("--innodb-data-file-path=ibdata1:12M:autoextend")
                topic.append(b"there is room")
                assert payloads(take(subscription, 1)) == [b"there is room"]
