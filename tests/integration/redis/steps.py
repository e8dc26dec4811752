"""What tests of this folder do to a store, in a word each."""

from collections.abc import Sequence

from tailrace import spi
from tailrace.errors import DurableStreamUnavailableError


def append(store: spi.Backend, topic: str, *payloads: bytes) -> spi.Boundary:
    """Append as one entry; return the place of its end."""
    (outcome,) = store.append([spi.Entry(topic, payloads)], 10.0)
    assert isinstance(outcome, spi.Appended), outcome
    return outcome.end


def refused(store: spi.Backend, topic: str, *payloads: bytes) -> DurableStreamUnavailableError:
    """Append what must certainly not be stored; return why."""
    (outcome,) = store.append([spi.Entry(topic, payloads or (b"x",))], 10.0)
    assert isinstance(outcome, spi.AppendRefused), outcome
    return outcome.error


def read(store: spi.Backend, topic: str, after: spi.Place, *, records: int = 512, size: int = 2**20) -> spi.ReadOutcome:
    """Read one topic once."""
    (outcome,) = store.read([spi.ReadRequest(topic, after, records, size)])
    return outcome


def payloads(outcome: spi.ReadOutcome) -> list[bytes]:
    """Return what a page holds."""
    assert isinstance(outcome, spi.Page), outcome
    return [payload for _position, _tag, payload in outcome.records]


def bounds(store: spi.Backend, topic: str) -> spi.Bounds:
    """Return where a topic stands that exists."""
    found = store.bounds(topic)
    assert isinstance(found, spi.Bounds)
    return found


def numbered(count: int, start: int = 0) -> Sequence[bytes]:
    """Return payloads that tell themselves apart."""
    return [b"%d" % number for number in range(start, start + count)]


def history(store: spi.Backend, topic: str) -> list[bytes]:
    """Return all that a topic holds."""
    found: list[bytes] = []
    after: spi.Place = bounds(store, topic).beginning
    while True:
        page = read(store, topic, after)
        assert isinstance(page, spi.Page), page
        if not page.records:
            return found
        found += payloads(page)
        after = page.end
