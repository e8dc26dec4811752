"""A server is killed again and again under writers and readers: nothing acknowledged is lost or doubled."""

import pytest
from tests.faults.killing import survive
from tests.faults.running import SQL, running


@pytest.mark.long
@pytest.mark.parametrize("kind", [*SQL, "nats"])
def test_what_was_acknowledged_is_there_once_in_one_order_and_readers_go_on_by_themselves(kind: str) -> None:
    with running(kind) as there:

        def kill() -> None:
            there.server.kill()
            there.server.start()

        print(f"{kind}: {survive(there.url, kill)}")  # noqa: T201
