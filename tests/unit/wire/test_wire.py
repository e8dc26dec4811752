"""What crosses between a server and the store over HTTP arrives as it was sent; what makes no sense is refused."""

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace import spi, wire
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError, TopicSealedError
from tailrace.retention import Retention
from tailrace.wire.framing import only_frame

PLACES = [spi.Boundary(1, 0, 0), spi.Boundary(2**63 - 1, 2**63 - 1, 2**32 - 1), spi.Unborn(1_700_000_000_000_000, 0)]
NAMES = st.text(min_size=1, max_size=20).filter(
    lambda name: "\0" not in name and not any(0xD800 <= ord(c) < 0xE000 for c in name)
)


@given(
    st.lists(
        st.builds(spi.Entry, NAMES, st.lists(st.binary(max_size=40), min_size=1, max_size=4), st.booleans()),
        min_size=1,
        max_size=5,
    )
)
def test_an_append_arrives_as_it_was_sent(entries: list[spi.Entry]) -> None:
    assert wire.unpack_append(wire.pack_append(entries, 5.0)) == wire.AppendAsked(entries, 5.0)


def test_outcomes_arrive_with_the_very_types_of_their_errors() -> None:
    outcomes: list[spi.AppendOutcome] = [
        spi.Appended(PLACES[1]),  # type: ignore[arg-type]
        spi.AppendRefused(TopicSealedError("sealed")),
        spi.AppendRefused(StoreUnusableError("full")),
        spi.AppendRefused(DurableStreamUnavailableError("away")),
        spi.AppendUnknown(DurableStreamUnavailableError("lost")),
        spi.AppendDeferred(),
    ]
    arrived = wire.outcomes_from(wire.outcomes_to(outcomes), len(outcomes))
    assert [shown(outcome) for outcome in arrived] == [shown(outcome) for outcome in outcomes]


def test_pages_losses_and_failures_arrive_as_they_were_sent() -> None:
    records = [spi.StoredRecord(position, 7, bytes([position]) * (position - 1)) for position in range(1, 6)]
    outcomes: list[spi.ReadOutcome] = [
        spi.Page(records, PLACES[0], True, spi.Seal("failed")),
        spi.Page([], PLACES[2]),
        spi.PositionLost("gone"),
        spi.ReadFailed(StoreUnusableError("no rights")),
        spi.Page(records[:1], PLACES[1], False, spi.Seal()),
    ]
    head, payloads = only_frame(wire.pack_pages(outcomes))
    arrived = wire.unpack_pages(head, payloads)
    assert [shown(outcome) for outcome in arrived] == [shown(outcome) for outcome in outcomes]


@pytest.mark.parametrize("place", PLACES)
def test_reads_and_bounds_arrive_as_they_were_sent(place: Any) -> None:
    requests = [spi.ReadRequest("t", place, 0, 5), spi.ReadRequest("\N{SNOWMAN}", place, 5, 0)]
    assert wire.requests_from(wire.requests_to(requests)) == requests
    bounds = place if isinstance(place, spi.Unborn) else spi.Bounds(place, place, spi.Seal("why"))
    assert wire.bounds_from(wire.bounds_to(bounds)) == bounds


def test_operations_arrive_as_they_were_sent() -> None:
    infos = [spi.TopicInfo("t", 3, 9, 1_700_000_000.5, None), spi.TopicInfo("u", 0, 0, None, spi.Seal("x"))]
    assert wire.infos_from(wire.infos_to(infos)) == infos
    retention = Retention(max_age=1.5, max_bytes=0)
    assert wire.trim_from(wire.trim_to("t", retention)) == ("t", retention)
    budget, report = spi.SweepBudget(max_records=5), spi.SweepReport(1, 2, 3, 4, done=False)
    assert wire.budget_from(wire.budget_to(budget)) == budget
    assert wire.report_from(wire.report_to(report)) == report


def test_hints_arrive_as_they_were_sent() -> None:
    for hints in (wire.Hints(), wire.Hints([0, 2], True, False, 1.0, "over")):
        assert wire.hints_from(wire.hints_to(hints), 3) == hints._replace(moved=list(hints.moved))


def test_what_a_store_can_do_arrives_but_for_what_only_its_own_process_can_know() -> None:
    store = spi.Capabilities(
        store="s", durable=True, durability="d.", shared=False, gap_detection="conservative", atomic_batches=False,
        defers=True,
        enforces=frozenset({"age"}), gevent="refused", fork="refused", local=True, max_payload=7, notes=("n.",),
    )  # fmt: skip
    said = wire.Description(wire.PROTOCOL, "1.2", store, 100, 10)
    arrived = wire.description_from(wire.description_to(said))
    assert arrived._replace(store=store) == said
    known = arrived.store
    assert (known.store, known.durable, known.durability, known.gap_detection) == ("s", True, "d.", "conservative")
    assert known.defers is True
    assert (known.atomic_batches, known.enforces, known.max_payload, known.notes) == (False, {"age"}, 7, ("n.",))
    assert (known.shared, known.gevent, known.fork, known.local) == (True, "cooperative", "reopens", False)


UNPACK: dict[str, Callable[[bytes], object]] = {
    "append": wire.unpack_append,
    "outcomes": lambda data: wire.outcomes_from(data, 1),
    "requests": wire.requests_from,
    "pages": lambda data: wire.unpack_pages(*only_frame(data)),
    "bounds": wire.bounds_from,
    "seal": wire.seal_from,
    "topic": wire.topic_from,
    "topics": wire.topics_from,
    "hints": lambda data: wire.hints_from(data, 2),
    "description": wire.description_from,
    "infos": wire.infos_from,
    "list": wire.topics_asked_from,
    "trim": wire.trim_from,
    "budget": wire.budget_from,
    "report": wire.report_from,
}

GOOD: dict[str, bytes] = {
    "append": wire.pack_append([spi.Entry("t", [b"x", b""])], 1.0),
    "outcomes": wire.outcomes_to([spi.Appended(spi.Boundary(1, 1, 1))]),
    "requests": wire.requests_to([spi.ReadRequest("t", PLACES[0], 1, 1)]),
    "pages": wire.pack_pages([spi.Page([spi.StoredRecord(1, 1, b"x")], PLACES[0])]),
    "bounds": wire.bounds_to(spi.Bounds(spi.Boundary(1, 0, 0), spi.Boundary(1, 1, 1))),
    "seal": wire.seal_to("t", "why"),
    "topic": b'{"topic": "t"}',
    "topics": wire.topics_to(["t"]),
    "hints": wire.hints_to(wire.Hints([1])),
    "infos": wire.infos_to([spi.TopicInfo("t", 1, 1, 1.0, None)]),
    "list": b'{"prefix": "", "after": "", "limit": 1}',
    "trim": wire.trim_to("t", Retention(max_records=1)),
    "budget": wire.budget_to(spi.SweepBudget()),
    "report": wire.report_to(spi.SweepReport(1, 1, 1, 1, done=True)),
}


def test_the_good_ones_are_good() -> None:
    for name, data in GOOD.items():
        UNPACK[name](data)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("name", UNPACK)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_whatever_arrives_is_understood_or_refused(name: str, data: st.DataObject) -> None:
    good = GOOD.get(name, b"{}")
    kind = data.draw(st.sampled_from(["bytes", "json", "cut", "flip"]))
    if kind == "bytes":
        said = data.draw(st.binary(max_size=60))
    elif kind == "json":
        text = json.dumps(data.draw(VALUES)).encode()
        said = (
            wire.frame(json.loads(text))
            if name in ("append", "pages") and b"NaN" not in text and b"Inf" not in text
            else text
        )
    elif kind == "cut":
        said = good[: data.draw(st.integers(0, len(good)))]
    else:
        at = data.draw(st.integers(0, len(good) - 1))
        said = good[:at] + bytes([data.draw(st.integers(0, 255))]) + good[at + 1 :]
    with contextlib.suppress(wire.MalformedError):
        UNPACK[name](said)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=10))
def test_frames_come_out_whole_however_they_are_cut(sizes: list[int]) -> None:
    stream = b"".join(wire.frame([size], [b"x" * size]) for size in sizes)
    frames, found, at = wire.Frames(1000), [], 0
    for step in sizes * len(stream):
        found += [(head, bytes(body)) for head, body in frames.feed(stream[at : at + step])]
        at += step
        if at >= len(stream):
            break
    frames.end()
    assert found == [([size], b"x" * size) for size in sizes]


def test_a_frame_over_the_limit_is_refused_before_it_has_arrived() -> None:
    with pytest.raises(wire.MalformedError):
        list(wire.Frames(100).feed(wire.frame([], [b"x" * 101])[:8]))


def test_an_error_of_a_later_release_is_one_that_waiting_does_not_mend() -> None:
    assert type(wire.failure_of("of-tomorrow", "x")) is StoreUnusableError
    assert wire.failure_of("internal", "x").maybe_stored is True


def shown(outcome: Any) -> object:
    error = getattr(outcome, "error", None)
    if error is None:
        return outcome
    return type(outcome), type(error), str(error), error.maybe_stored
