"""The entries of one call, put together by topic; and the outcomes, put back in their order. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from tailrace.errors import TopicSealedError
from tailrace.spi import Appended, AppendOutcome, AppendRefused, Boundary, Entry


@dataclass(slots=True)
class Batch:
    """What one call appends to one topic.

    Attributes:
        indices: Of its entries in the call.
        payloads: Of all of them, in order.
        may_wait: Whether all of them may wait for somebody who holds the topic locked.
    """

    topic: str
    parts: Sequence[Entry]
    indices: Sequence[int]
    payloads: Sequence[bytes]
    may_wait: bool

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of all payloads, and of the largest."""
        if len(self.payloads) == 1:
            return (len(self.payloads[0]),) * 2
        sizes = [*map(len, self.payloads)]
        return sum(sizes), max(sizes)

    def appended(self, incarnation: int, last: int, tag: int) -> Sequence[AppendOutcome]:
        """Return the outcome of each part of a batch that was stored.

        Args:
            last: Position of the topic's last record before it.
        """
        ends = accumulate((len(part.payloads) for part in self.parts), initial=last)
        return [Appended(Boundary(incarnation, end, tag)) for end in islice(ends, 1, None)]

    def all(self, outcome: AppendOutcome) -> Sequence[AppendOutcome]:
        """Return one outcome for each part."""
        return [outcome] * len(self.parts)


def by_topic(entries: Sequence[Entry]) -> Sequence[Batch]:
    """Return one batch for each topic, in byte order of the names: whoever locks them so locks in one order."""
    if len(entries) == 1:
        (entry,) = entries
        return (Batch(entry.topic, entries, (0,), entry.payloads, entry.may_wait),)
    indices: dict[str, list[int]] = {}
    for index, entry in enumerate(entries):
        indices.setdefault(entry.topic, []).append(index)
    batches = []
    for topic in sorted(indices, key=str.encode):
        parts = [entries[index] for index in indices[topic]]
        payloads = parts[0].payloads if len(parts) == 1 else [payload for part in parts for payload in part.payloads]
        batches.append(Batch(topic, parts, indices[topic], payloads, all(part.may_wait for part in parts)))
    return batches


def in_order(outcomes: Iterable[tuple[Batch, Sequence[AppendOutcome]]]) -> Sequence[AppendOutcome]:
    """Return the outcomes of all batches in the order of the call's entries."""
    found: Mapping[int, AppendOutcome] = {
        index: outcome for batch, its in outcomes for index, outcome in zip(batch.indices, its, strict=True)
    }
    return [found[index] for index in range(len(found))]


def sealed() -> AppendOutcome:
    """Return the outcome for a topic that has ended."""
    return AppendRefused(TopicSealedError("the topic is sealed: nothing can be appended to it any more"))
