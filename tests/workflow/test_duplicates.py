"""Keys: what was stored is not stored again, and is answered whatever came since."""

import pytest
from tests.workflow.items import documents, item, items, keyed, payloads
from tests.workflow.places import Place

from tailrace.testing.reading import take
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import (
    IdempotencyConflictError,
    StreamClosedError,
    StreamErroredError,
)
from tailrace.workflow.model import NewItem


def test_a_duplicate_is_answered_with_its_first_offset(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, keyed("a", "b"))
    before = service.describe(stream)
    again = service.append(stream, keyed("b", "a"))
    assert (list(again.offsets), again.accepted, again.deduped) == ([1, 0], 0, 2)
    assert service.describe(stream) == again.stream == before
    mixed = service.append(stream, [*keyed("a", "c"), item("no key"), *keyed("c", "b"), item("no key")])
    assert (list(mixed.offsets), mixed.accepted, mixed.deduped) == ([0, 2, 3, 2, 1, 4], 3, 3)
    assert service.describe(stream).pending_items == 5
    assert payloads(service, stream) == ["a", "b", "c", "no key", "no key"]


def test_a_key_repeated_in_the_first_batch_is_stored_once(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    appended = service.append(stream, keyed("a", "a", "b", "a"))
    assert (list(appended.offsets), appended.accepted, appended.deduped) == ([0, 0, 1, 0], 2, 2)


def test_s25_a_producer_that_died_before_it_knew_appends_all_of_it_again(
    service: EmbeddedService, place: Place
) -> None:
    stream = place.stream()
    keys = [f"command:{number}" for number in range(10)]
    first = service.append(stream, keyed(*keys[:5]))
    again = place.service().append(stream, keyed(*keys))
    assert list(again.offsets[:5]) == list(first.offsets)
    assert (list(again.offsets), again.accepted, again.deduped) == (list(range(10)), 5, 5)
    with pytest.raises(IdempotencyConflictError):
        service.append(stream, [item("new", "new"), item("another", keys[7])])
    assert payloads(service, stream) == keys


def test_an_empty_key_is_none(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    assert list(service.append(stream, [item(1, ""), item(2, ""), item(3)]).offsets) == [0, 1, 2]
    assert [document["idempotency_key"] for document in documents(service, stream)] == [None] * 3


def test_keys_are_of_their_stream_and_compared_byte_for_byte(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    keys = ["k", "K", "k ", "\uff4b", "é", "e\u0301"]
    assert list(service.append(stream, keyed(*keys)).offsets) == list(range(6))
    assert list(service.append(stream.run.stream("other"), keyed("k")).offsets) == [0]


@pytest.mark.parametrize("before", [False, True], ids=["inside one batch", "stored before"])
def test_a_key_with_another_payload_is_a_conflict_and_nothing_is_stored(
    service: EmbeddedService, place: Place, before: bool
) -> None:
    stream = place.stream()
    batch = [item("new", "n"), item("one", "k"), item("two", "k")]
    if before:
        service.append(stream, [batch.pop(1)])
    with pytest.raises(IdempotencyConflictError) as caught:
        service.append(stream, batch)
    assert caught.value.details == {"item": len(batch) - 1}
    assert place.count("workflow_items") == before
    if not before:
        assert (place.count("workflow_streams"), place.count("workflow_runs")) == (0, 0)


def test_the_same_json_written_otherwise_is_the_same_payload(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    first = NewItem(payload=b' {"b": [1, 2.50], "a": "\\u00e9"} ', idempotency_key="k")
    service.append(stream, [first])
    same = NewItem(payload='{"a":"é","b":[1,2.5]}'.encode(), idempotency_key="k")
    assert service.append(stream, [same]).deduped == 1
    (document,) = service.subscribe(stream).documents
    assert document.endswith(b":" + first.payload + b"}")
    for other in (b'{"a":"e","b":[1,2.5]}', b'{"a":"\xc3\xa9","b":[1.0,2.5]}', b'{"a":"\xc3\xa9","b":["1",2.5]}'):
        with pytest.raises(IdempotencyConflictError):
            service.append(stream, [NewItem(payload=other, idempotency_key="k")])


ALIKE = [
    (b"12345678901234567.89", b"12345678901234567.90"),
    (b"0.1", b"0.10000000000000000001"),
    (b"5e-324", b"4.9e-324"),
    (b"1e400", b"1e401"),
    (b"1e400", b'"\\u00001e400"'),
    (b"1e400", b'{"\\u0000":"1e400"}'),
    (b'{"a":1,"a":2}', b'{"a":2}'),
    (b'{"a":1,"a":2}', b'{"a":2,"a":1}'),
    (b'{"a":1,"a":2}', b'{"\\u0000":[["a",1],["a",2]]}'),
    (b"0.0", b"-0.0"),
    (b"1", b"1.0"),
    (b'"\xc3\xa9"', b'"e\xcc\x81"'),
]


@pytest.mark.parametrize(("first", "other"), ALIKE, ids=repr)
def test_payloads_that_python_takes_for_the_same_are_different_all_the_same(
    service: EmbeddedService, place: Place, first: bytes, other: bytes
) -> None:
    stream = place.stream()
    service.append(stream, [NewItem(payload=first, idempotency_key="k")])
    with pytest.raises(IdempotencyConflictError):
        service.append(stream, [NewItem(payload=other, idempotency_key="k")])
    assert service.append(stream, [NewItem(payload=first, idempotency_key="k")]).deduped == 1


def test_numbers_of_as_many_digits_as_a_float_has_may_be_written_otherwise(
    service: EmbeddedService, place: Place
) -> None:
    stream = place.stream()
    service.append(stream, [NewItem(payload=b"[0.30000000000000004, 1e21, 2.5]", idempotency_key="k")])
    same = NewItem(payload=b"[3.0000000000000004e-1, 1.0E+21, 2.5000000000000000000000]", idempotency_key="k")
    assert service.append(stream, [same]).deduped == 1


@pytest.mark.parametrize("reason", [None, "broke"], ids=["closed", "errored"])
def test_after_the_end_duplicates_alone_are_answered_and_anything_new_is_refused(
    service: EmbeddedService, place: Place, reason: str | None
) -> None:
    stream = place.stream()
    service.append(stream, keyed("a", "b"))
    service.end(stream, error_reason=reason)
    ended = service.describe(stream)
    assert list(service.append(stream, keyed("b", "b", "a")).offsets) == [1, 1, 0]
    refusal = StreamClosedError if reason is None else StreamErroredError
    for batch in (keyed("a", "c"), keyed("c"), items([1])):
        with pytest.raises(refusal):
            service.append(stream, batch)
    assert service.describe(stream) == ended
    assert place.count("workflow_items") == 2


def test_a_reference_may_be_an_object_whatever_its_keys_are_called(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    reference = {"payload": 1, "a": {"payload": "x", ', "payload":': ', "payload":'}, "emitted_at": "never"}
    service.append(stream, [item({"payload": [2]}, "k", payload_reference=reference)])
    (document,) = documents(service, stream)
    assert (document["payload"], document["payload_reference"]) == ({"payload": [2]}, reference)
    with service.topic(stream).subscribe_from_beginning() as subscription:
        (record,) = take(subscription, 1)
    assert record.payload == b'{"payload": [2]}'
    assert service.append(stream, [item({"payload": [2]}, "k", payload_reference=dict(reference))]).deduped == 1
    with pytest.raises(IdempotencyConflictError):
        service.append(stream, [item({"payload": [2]}, "k", payload_reference={**reference, "payload": 2})])
