"""S11 and S12: bytes that databases refuse, and a server whose defaults are not the usual ones."""

import threading
from collections.abc import Iterator

import pytest
from tests.workflow.items import documents, item, items, keyed, payloads
from tests.workflow.places import MariadbPlace, Place

from tailrace.testing.reading import Background
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.waiting import until
from tailrace.workflow.errors import InvalidFieldsError
from tailrace.workflow.model import NewItem, Run, Status

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
        barrier.wait(60)
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
