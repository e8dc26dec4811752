"""PostgreSQL in ways that applications have it: behind a pooler, and in a schema of an odd name."""

from collections.abc import Iterator

import pytest
from tests.workflow.items import items, keyed, payloads
from tests.workflow.places import Place, PostgresPlace

from tailrace.testing.reading import Background
from tailrace.testing.servers.postgres import PgBouncer
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import StreamFullError


def use(service: EmbeddedService, other: EmbeddedService, place: Place) -> None:
    """Do with them what can be done, often enough for statements to be prepared."""
    stream = place.stream()
    for number in range(12):
        assert list(service.append(stream, keyed(f"k{number}", "k0")).offsets) == [number, 0]
        with pytest.raises(StreamFullError):
            other.append(stream, items("ab"), max_pending_items=number + 2)
        assert service.describe(stream).total_items == number + 1
    waiting = Background(lambda: service.subscribe(stream, from_offset=12, wait_seconds=60))
    other.append(stream, items("x"))
    assert waiting.result().next_offset == 13
    assert len(payloads(other, stream)) == 13
    other.end(stream)
    assert [found.stream_name for found in service.list_streams(stream.run)] == ["out"]
    assert service.sweep().failed == 0
    assert service.delete_run(stream.run)


@pytest.fixture
def place(places) -> Iterator[PostgresPlace]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    found = places("postgres")
    yield found
    found.empty()


def test_a_service_works_behind_a_pooler(place: PostgresPlace) -> None:
    with PgBouncer(place.server) as pooler:
        url = pooler.url(place.database)
        services = [place.service(url=url) for _ in range(2)]
        use(*services, place)
        for service in services:
            service.close()


def test_a_schema_may_have_any_name(place: PostgresPlace) -> None:
    services = [place.service(url=place.server.url(place.database, schema='we"ird %s %b ? {now}')) for _ in range(2)]
    use(*services, place)
