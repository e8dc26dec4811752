"""A server that has no room left.

Its tables are in one file that may not grow: to InnoDB that is a disk without space. (On a file system that really is
full the server ends itself.)
"""

import pytest
from tests.integration.full_disk import refuses_stores_no_half_and_goes_on
from tests.mysql_server import mariadb_server


@pytest.mark.long
def test_a_full_disk_refuses_stores_no_half_and_goes_on_when_there_is_room() -> None:
    settings = {
        "innodb_file_per_table": "OFF",
        "innodb_data_file_path": "ibdata1:12M:autoextend:max:60M",
        "innodb_autoextend_increment": "4",
    }
    with mariadb_server(**settings) as server:

        def make_room() -> None:
            server.stop()
            server.start("--innodb-data-file-path=ibdata1:12M:autoextend")

        url = server.url(server.create_database())
        refuses_stores_no_half_and_goes_on(url, room=35_000_000, make_room=make_room)
