"""Operations on a store: what is asked, and what came of it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tailrace import arguments, spi
from tailrace.errors import InvalidArgumentError
from tailrace.retention import Retention
from tailrace.wire import checks
from tailrace.wire.framing import MalformedError, from_json, to_json
from tailrace.wire.places import seal_from_list, seal_to_list

_MOST = 2**53


class TopicsAsked(NamedTuple):
    """A page of the list of topics."""

    prefix: str
    after: str
    limit: int


def topics_asked_from(data: bytes) -> TopicsAsked:
    """Return which topics are asked for."""
    prefix, after, limit = checks.members(from_json(data, "the body"), "the body", *TopicsAsked._fields)
    try:
        return TopicsAsked(
            arguments.name_part("prefix", prefix),
            arguments.name_part("after", after),
            checks.whole(limit, "limit", least=1),
        )
    except InvalidArgumentError as error:
        raise MalformedError(str(error)) from None


def infos_to(infos: Iterable[spi.TopicInfo]) -> bytes:
    """Return topics, as a body."""
    return to_json(
        [[info.name, info.records, info.bytes, info.last_append_at, seal_to_list(info.seal)] for info in infos]
    )


def infos_from(data: bytes) -> Sequence[spi.TopicInfo]:
    """Return topics, from a body."""
    found = []
    for each in checks.items(from_json(data, "the topics"), "the topics"):
        name, records, size, last, seal = checks.items(each, "a topic", 5)
        found.append(
            spi.TopicInfo(
                checks.text(name, "a name"),
                checks.whole(records, "records"),
                checks.whole(size, "bytes"),
                None if last is None else checks.moment(last, "last_append_at"),
                seal_from_list(seal),
            )
        )
    return found


def trim_to(topic: str, retention: Retention) -> bytes:
    """Return the body that asks to trim a topic."""
    bounds = [retention.max_age, retention.max_records, retention.max_bytes]
    return to_json({"topic": topic, "retention": bounds})


def trim_from(data: bytes) -> tuple[str, Retention]:
    """Return which topic is to be trimmed to what."""
    topic, bounds = checks.members(from_json(data, "the body"), "the body", "topic", "retention")
    max_age, max_records, max_bytes = checks.items(bounds, "retention", 3)
    try:
        # It checks its own values.
        kept = Retention(max_age=max_age, max_records=max_records, max_bytes=max_bytes)  # type: ignore[arg-type]
    except InvalidArgumentError as error:
        raise MalformedError(str(error)) from None
    return checks.topic(topic), kept


def count_from(data: bytes) -> int:
    """Return how many there were, from a body."""
    return checks.whole(from_json(data, "the answer"), "the answer")


def flag_from(data: bytes) -> bool:
    """Return whether there was one, from a body."""
    return checks.flag(from_json(data, "the answer"), "the answer")


def budget_to(budget: spi.SweepBudget) -> bytes:
    """Return the body that asks for a sweep."""
    return to_json([budget.max_records, budget.max_seconds, budget.chunk_records])


def budget_from(data: bytes) -> spi.SweepBudget:
    """Return how much a sweep may do."""
    max_records, max_seconds, chunk_records = checks.items(from_json(data, "the body"), "the body", 3)
    return spi.SweepBudget(
        checks.whole(max_records, "max_records", _MOST),
        checks.seconds(max_seconds, "max_seconds"),
        checks.whole(chunk_records, "chunk_records", _MOST, 1),
    )


def report_to(report: spi.SweepReport) -> bytes:
    """Return what a sweep did, as a body."""
    return to_json([report.topics, report.records, report.bytes, report.forgotten, report.done])


def report_from(data: bytes) -> spi.SweepReport:
    """Return what a sweep did, from a body."""
    topics, records, size, forgotten, done = checks.items(from_json(data, "the report"), "the report", 5)
    return spi.SweepReport(
        checks.whole(topics, "topics"),
        checks.whole(records, "records"),
        checks.whole(size, "bytes"),
        checks.whole(forgotten, "forgotten"),
        checks.flag(done, "done"),
    )
