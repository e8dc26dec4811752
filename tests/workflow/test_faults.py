"""Replies that are lost, bytes that databases refuse, and servers whose defaults are not the usual ones."""

import re
import threading
from collections.abc import Iterator

import pytest
from tests.workflow.items import documents, item, items, keyed, payloads
from tests.workflow.places import MariadbPlace, Place, PostgresPlace

from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.faults import FlakyProxy
from tailrace.testing.reading import Background
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.waiting import until
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import InvalidFieldsError
from tailrace.workflow.model import NewItem, Run, Status


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


UNUSUAL = {
    "autocommit": "OFF",
    "transaction_isolation": "SERIALIZABLE",
    "sql_mode": "ANSI,NO_BACKSLASH_ESCAPES,TRADITIONAL",
    "character_set_server": "latin1",
    "default_time_zone": "+05:30",
    "innodb_lock_wait_timeout": "1",
}


@pytest.fixture(scope="module")
def unusual() -> Iterator[Place]:
    with MariadbServer(settings=UNUSUAL) as server:
        place = MariadbPlace(server)
        yield place
        place.close()


def test_s12_sixteen_threads_open_sixteen_streams_whatever_a_server_is_set_to(unusual: Place) -> None:
    run, barrier = unusual.stream().run, threading.Barrier(16)

    def opened(number: int) -> int:
        barrier.wait()
        return unusual.shared.append(run.stream(f"s{number}"), items([number])).offsets[0]

    callers = [Background(lambda number=number: opened(number)) for number in range(16)]  # type: ignore[misc]
    assert [caller.result() for caller in callers] == [0] * 16
    assert len(unusual.shared.list_streams(run)) == 16


def test_s12_a_reader_sees_what_others_append_whatever_was_left_open(unusual: MariadbPlace) -> None:
    stream = unusual.stream()
    writer = unusual.shared
    reader = unusual.service(url=unusual.server.url(unusual.database, pool_size="1"))
    writer.append(stream, items("a"))
    assert payloads(reader, stream) == ["a"]
    waiting = Background(lambda: reader.subscribe(stream, from_offset=1, wait_seconds=60))
    writer.append(stream, items("b"))
    assert len(waiting.result().documents) == 1
    # The same connection for everything: what a call leaves open would be seen by the next.
    with pytest.raises(InvalidFieldsError):
        reader.append(stream, [])
    reader.append(stream, keyed("k"))
    reader.append(stream, keyed("k"))
    writer.append(stream, items("c"))
    assert payloads(reader, stream) == ["a", "b", "k", "c"]
    writer.end(stream, retention_seconds=3600)
    assert reader.describe(stream).status is Status.CLOSED
    assert reader.sweep().failed == 0
    reader.close()
    left_open = "SELECT COUNT(*) FROM information_schema.innodb_trx"
    until(lambda: unusual.execute(left_open) == [(0,)], "no transaction is left open", step=0.15)


AWKWARD = [
    rb'"\u0000"',
    rb'"\ud800"',
    rb'"\udfff\ud83d"',
    rb"1e400",
    rb"-0.0",
    rb"123456789012345678901234567890.000000000000000000000000000001",
    b"9" * 4999,
    '"\U0001f30a é \u2028 \ufeff \x7f"'.encode(),
    rb'"it\u0027s \\ \" %s %b ? {now} {workflow_items} IN ??"',
    b'"it\'s % ? {now} -- /* ; */ $1 :a"',
    b'{"a":1,"a":2}',
    b"[[[[[[[[[[]]]]]]]]]]",
    b" \t\r\n null \n",
]


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "mariadb", "unusual"])
def test_s11_awkward_payloads_come_back_byte_for_byte(request: pytest.FixtureRequest, places, engine: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    place: Place = request.getfixturevalue("unusual") if engine == "unusual" else places(engine)
    service, stream = place.shared, place.stream()
    batch = [NewItem(payload=payload, idempotency_key=f"k{number}") for number, payload in enumerate(AWKWARD)]
    service.append(stream, batch)
    assert service.append(stream, batch).deduped == len(AWKWARD)
    page = service.subscribe(stream)
    for payload, document in zip(AWKWARD, page.documents, strict=True):
        assert document.endswith(b'"payload":' + payload + b"}")
    place.empty()


TEXTS = [
    "it's",
    'a "quoted" \\ one',
    "% %s %b ? ?? IN ??",
    "{now} {workflow_items}",
    "$1 :a -- /* ; */",
    "\U0001f30a é\u2028",
]


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "mariadb", "unusual"])
def test_s11_awkward_texts_come_back_as_they_were_wherever_they_stand(
    request: pytest.FixtureRequest,
    places,  # type: ignore[no-untyped-def]  # noqa: ANN001
    engine: str,
) -> None:
    place: Place = request.getfixturevalue("unusual") if engine == "unusual" else places(engine)
    service = place.shared
    for text in TEXTS:
        stream = Run("default", text, text).stream("out")
        names = {"origin": text, "origin_reference": text, "item_type": text, "content_type": text}
        service.append(stream, [item(text, text, payload_reference=text, **names)])
        assert service.append(stream, [item(text, text, payload_reference=text, **names)]).deduped == 1
        (document,) = documents(service, stream)
        assert {document[name] for name in (*names, "payload", "idempotency_key", "payload_reference")} == {text}
        assert service.end(stream, error_reason=text).error_reason == service.describe(stream).error_reason == text
        assert service.latest_run("default", text).run == stream.run
        started = service.start_run(Run("default", text, "registered"), workflow_type=text, task_queue=text)
        assert (started.workflow_type, started.task_queue) == (text, text)
    place.empty()
