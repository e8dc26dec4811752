"""Opening stores, and looking at what they answer."""

from contextlib import closing

from tailrace import spi
from tailrace.backends.mysql import MysqlStore
from tailrace.options import StoreOptions, parse_url


def opened(url: str, *, create: bool = True, append_timeout: float = 10.0) -> "closing[MysqlStore]":
    """Open a store, making its tables."""
    store = spi.open_store(parse_url(url), StoreOptions(create=create, append_timeout=append_timeout))
    assert isinstance(store, MysqlStore)
    return closing(store)


def stored(store: spi.Backend, topic: str, *payloads: bytes) -> None:
    """Append, in one entry."""
    (outcome,) = store.append([spi.Entry(topic, payloads)], 10.0)
    assert isinstance(outcome, spi.Appended), outcome


def contents(store: spi.Backend, topic: str) -> list[bytes]:
    """Return every retained payload."""
    bounds = store.bounds(topic)
    assert isinstance(bounds, spi.Bounds), bounds
    (page,) = store.read([spi.ReadRequest(topic, bounds.beginning, 4096, 2**26)])
    assert isinstance(page, spi.Page), page
    assert not page.more
    return [payload for _position, _tag, payload in page.records]
