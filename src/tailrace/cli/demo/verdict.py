"""The judgement, from the bytes of both files and from what was delivered. Pure but for reading them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.cli.demo.deliveries import Deliveries, Life
from tailrace.cli.demo.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came out.

    Attributes:
        records: Events that the worker had to stream.
        delivered: Events returned by ``receive``, over all lives of the consumer.
        redelivered: Those returned again because their effect was not yet saved at a kill, and was undone.
        duplicates: Events whose effect is in the result more than once.
        losses: Events whose effect is not in the result.
        expected, found: SHA-256 of the input and of the consumer's text.
        difference: Offset of the first byte that differs; ``None`` if none does.
    """

    records: int
    delivered: int
    redelivered: int
    duplicates: int
    losses: int
    in_order: bool
    size: int
    expected: str
    found: str
    difference: int | None

    @property
    def good(self) -> bool:
        """Whether the consumer has exactly what the worker streamed."""
        return self.in_order and not self.duplicates and not self.losses and self.difference is None


def judge(stage: Stage, records: int) -> Verdict:
    """Compare the consumer's text with the input, and account for every event that was delivered."""
    deliveries = Deliveries(stage.deliveries)
    deliveries.look()
    result = in_result(deliveries.lives)
    delivered = sum(len(life.numbers) for life in deliveries.lives)
    wanted = stage.input.read_bytes()
    got = stage.output.read_bytes() if stage.output.exists() else b""
    return Verdict(
        records=records,
        delivered=delivered,
        redelivered=delivered - len(result),
        duplicates=len(result) - len(set(result)),
        losses=len(set(range(records)) - set(result)),
        in_order=result == sorted(result),
        size=len(wanted),
        expected=hashlib.sha256(wanted).hexdigest(),
        found=hashlib.sha256(got).hexdigest(),
        difference=first_difference(wanted, got),
    )


def in_result(lives: Sequence[Life]) -> list[int]:
    """Return the numbers whose effect is in the result, in its order.

    Each life first undoes what the one before had not saved: exactly that is taken off here, so a record
    given again only counts as a duplicate if its first effect was kept.
    """
    result: list[int] = []
    for life in lives:
        del result[life.kept :]
        result += life.numbers
    return result


def first_difference(wanted: bytes, got: bytes) -> int | None:
    """Return the offset of the first byte that differs, ``None`` if all are equal."""
    if wanted == got:
        return None
    shorter = min(len(wanted), len(got))
    return next((at for at in range(shorter) if wanted[at] != got[at]), shorter)
