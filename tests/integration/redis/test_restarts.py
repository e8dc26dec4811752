"""A server with an append-only file is killed again and again under writers and readers, and comes back."""

import pytest
from tests.integration.redis.crowd import Crowd

import tailrace
from tailrace.testing.reading import PATIENCE
from tailrace.testing.servers.redis import RedisServer

ROUNDS = 10


@pytest.mark.long
@pytest.mark.parametrize("protocol", [2, 3])
def test_readers_go_on_and_every_acknowledged_record_is_there_once(protocol: int) -> None:
    with RedisServer(aof="always") as server:
        url = f"{server.url}?protocol={protocol}"
        with (
            tailrace.connect(url) as writing,
            tailrace.connect(url, outage_budget=PATIENCE) as reading,
            Crowd(writing, reading, "t", writers=8, readers=4) as crowd,
        ):
            for _ in range(ROUNDS):
                crowd.until_read(10)
                server.kill()
                server.start()
            crowd.until_read(10)
            crowd.end()
            final = crowd.readers[0].found
            crowd.check(final)
            assert [reader.lost for reader in crowd.readers if reader.lost] == []
            assert crowd.acknowledged <= set(final)
