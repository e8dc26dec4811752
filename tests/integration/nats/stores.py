"""Opening stores, and looking at what they answer."""

from contextlib import closing

from tailrace import DurableStreamUnavailableError, spi
from tailrace.options import StoreOptions, parse_url


def opened(url: str, *, create: bool = True, append_timeout: float = 10.0) -> "closing[spi.Backend]":
    """Open a store, making its streams."""
    store = spi.open_store(parse_url(url), StoreOptions(create=create, append_timeout=append_timeout))
    return closing(store)


def created(url: str) -> None:
    """Make a store."""
    opened(url).thing.close()


def stored(store: spi.Backend, topic: str, *payloads: bytes) -> spi.Appended:
    """Append, in one entry."""
    (outcome,) = store.append([spi.Entry(topic, payloads)], 10.0)
    assert isinstance(outcome, spi.Appended), outcome
    return outcome


def refused(store: spi.Backend, topic: str, *payloads: bytes) -> DurableStreamUnavailableError:
    """Append what is refused; return why."""
    (outcome,) = store.append([spi.Entry(topic, payloads or (b"x",))], 5.0)
    assert isinstance(outcome, spi.AppendRefused), outcome
    assert outcome.error.maybe_stored is False
    return outcome.error


def contents(store: spi.Backend, topic: str) -> list[bytes]:
    """Return every retained payload."""
    bounds = store.bounds(topic)
    assert isinstance(bounds, spi.Bounds), bounds
    after: spi.Place = bounds.beginning
    found: list[bytes] = []
    while True:
        (page,) = store.read([spi.ReadRequest(topic, after, 4096, 2**26)])
        assert isinstance(page, spi.Page), page
        found += [payload for _position, _tag, payload in page.records]
        after = page.end
        if not page.more:
            return found
