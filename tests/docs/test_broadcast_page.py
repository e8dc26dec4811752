"""The rights in the page about live messages are enough, and each of them is needed."""

import re
from pathlib import Path

import pytest

from tailrace import broadcast
from tailrace.broadcast import BroadcastUnavailableError
from tailrace.testing.broadcast.listening import hear
from tailrace.testing.servers.redis import RedisServer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "broadcast.md"


def _rights(form: str) -> dict[str, list[str]]:
    found = re.findall(
        rf"^\| (Publishes|Listens), `{form}` \| `([^`]+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {who: rights.split(" ") for who, rights in found}


def _use(server: RedisServer, form: str, publisher: str, listener: str) -> None:
    urls = [f"{server.url_for(user, 'secret')}?mode={form}" for user in (publisher, listener)]
    with broadcast.connect(urls[0]) as sending, broadcast.connect(urls[1]) as listening:
        with listening.topic("t").subscribe() as subscription:
            sending.topic("t").publish(b"x")
            assert hear(subscription, 1) == [b"x"]


@pytest.mark.parametrize("form", ["pubsub", "streams"])
def test_the_rights_that_the_page_names_are_enough_and_each_is_needed(form: str) -> None:
    rights = _rights(form)
    users = {who: rights[who] for who in ("Publishes", "Listens")}
    for who in ("Publishes", "Listens"):
        for missing in rights[who]:
            # A server answers these so that it can be told that it refuses; EVALSHA is enough once the text is there.
            if missing not in ("+hello", "+ping", "+eval"):
                users[f"{who}-{len(users)}"] = [right for right in rights[who] if right != missing]
    acl = [f"user {user} on >secret -@all {' '.join(given)}" for user, given in users.items()]
    with RedisServer(acl=acl) as server:
        _use(server, form, "Publishes", "Listens")
        for user in users:
            if user.startswith("Publishes-"):
                with pytest.raises(BroadcastUnavailableError):
                    _use(server, form, user, "Listens")
            elif user.startswith("Listens-") and "+unsubscribe" in users[user]:
                with pytest.raises(BroadcastUnavailableError):
                    _use(server, form, "Publishes", user)
