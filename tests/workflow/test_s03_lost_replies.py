"""S03: the server performs a statement and its reply is lost, or the statement never arrives."""

import re
from collections.abc import Iterator

import pytest
from tests.workflow.items import items, keyed, payloads
from tests.workflow.places import MariadbPlace, Place, PostgresPlace

from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.faults import FlakyProxy
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import Status


@pytest.fixture(params=["postgres", "mariadb"])
def place(request: pytest.FixtureRequest, places) -> Iterator[Place]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    found = places(request.param)
    yield found
    found.empty()


@pytest.fixture
def proxy(place: PostgresPlace | MariadbPlace) -> Iterator[FlakyProxy]:
    with FlakyProxy(place.server.address) as proxy:
        yield proxy


@pytest.fixture
def behind(place: PostgresPlace | MariadbPlace, proxy: FlakyProxy) -> EmbeddedService:
    """A service behind the proxy."""
    mode = {"sslmode": "disable"} if place.engine == "postgres" else {"ssl_mode": "disabled"}
    url = place.server.url(place.database, **mode).replace(f":{place.server.port}/", f":{proxy.port}/")
    return place.service(url=url, append_timeout=5.0)


class Lost:
    """Picks a commit for its reply to be lost, once it is armed.

    Attributes:
        picked: Whether one was.
    """

    def __init__(self) -> None:
        self.armed = self.picked = False
        self._prepared: bytes | None = None

    def __call__(self, sent: bytes) -> bool:
        # On PostgreSQL it is prepared, and known by a name from then on.
        prepared = re.search(rb"(\w+)\0COMMIT\0", sent)
        if prepared is not None:
            self._prepared = prepared[1]
        named = self._prepared is not None and b"\0" + self._prepared + b"\0" in sent
        self.picked = self.armed and (named or sent.endswith(b"COMMIT"))
        return self.picked


@pytest.fixture
def lost(place: Place, behind: EmbeddedService, proxy: FlakyProxy) -> Lost:
    """What loses the reply to the next commit, on a connection that has been used before."""
    lost = Lost()
    proxy.drop_reply(lost)
    behind.append(place.stream(), items("x"))
    lost.armed = True
    return lost


@pytest.mark.parametrize("new", [False, True], ids=["a known stream", "a new stream"])
def test_s03_an_append_whose_commit_is_not_answered_is_unknown_and_its_retry_answers_the_first_offsets(
    place: Place, behind: EmbeddedService, lost: Lost, new: bool
) -> None:
    stream = place.stream()
    if not new:
        place.shared.append(stream, keyed("before"))
    at = 0 if new else 1
    with pytest.raises(DurableStreamUnavailableError) as caught:
        behind.append(stream, keyed("a", "b"))
    assert caught.value.maybe_stored is True
    assert lost.picked
    again = behind.append(stream, keyed("a", "b", "c"))
    assert list(again.offsets) == [at, at + 1, at + 2]
    assert (again.accepted, again.deduped) == (1, 2)
    assert payloads(place.shared, stream, at) == ["a", "b", "c"]


def test_s03_an_append_whose_lock_is_not_answered_is_not_stored_or_sent_again_as_a_whole(
    place: Place, proxy: FlakyProxy, behind: EmbeddedService
) -> None:
    stream = place.stream()
    place.shared.append(stream, keyed("before"))
    lost: list[bytes] = []
    proxy.drop_reply(lambda sent: b"FOR UPDATE" in sent and not lost.append(sent))  # type: ignore[func-returns-value]
    maybe_stored = False
    try:
        behind.append(stream, keyed("a", "b"))
    except DurableStreamUnavailableError as exc:
        maybe_stored = exc.maybe_stored
        assert payloads(place.shared, stream) == ["before"]
    assert lost
    assert maybe_stored is False
    assert behind.append(stream, keyed("a", "b")).stream.total_items == 3
    assert payloads(place.shared, stream) == ["before", "a", "b"]


def test_s03_an_end_whose_commit_is_not_answered_may_be_repeated(
    place: Place, behind: EmbeddedService, lost: Lost
) -> None:
    stream = place.stream()
    place.shared.append(stream, keyed("a"))
    with pytest.raises(DurableStreamUnavailableError) as caught:
        behind.end(stream, error_reason="first")
    assert caught.value.maybe_stored is True
    assert lost.picked
    assert behind.end(stream, error_reason="second").error_reason == "first"


def test_reads_are_made_again_after_a_cut(place: Place, proxy: FlakyProxy, behind: EmbeddedService) -> None:
    stream = place.stream()
    behind.append(stream, items("abc"))
    for _ in range(3):
        assert proxy.cut()
        assert payloads(behind, stream) == ["a", "b", "c"]
        assert behind.describe(stream).status is Status.OPEN
