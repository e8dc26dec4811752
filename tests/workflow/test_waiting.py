"""Many who wait for one stream: they hold no threads, share what is read, and leave nothing behind."""

import asyncio
import threading
from functools import partial

import pytest
from tests.polling import until
from tests.workflow.databases import Between
from tests.workflow.items import items
from tests.workflow.places import Place

from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Database
from tailrace.testing.reading import Background
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import ItemPage, StreamRef
from tailrace.workflow.store import reading
from tailrace.workflow.waiting import Look, Looks, Wanted

MANY = 1000


def look_at(database: Database, wanted: Wanted) -> Look:
    """Look, sharing it with nobody."""
    read = partial(reading.page, stream=wanted.stream, from_offset=wanted.from_offset, max_items=wanted.max_items)
    return Look(*database.look(read))


async def waiting(service: EmbeddedService, stream: StreamRef, at: int, many: int) -> list[asyncio.Task[ItemPage]]:
    """Return tasks of which each waits for the next item."""
    tasks = [asyncio.create_task(service.subscribe_async(stream, from_offset=at, wait_seconds=60)) for _ in range(many)]
    # Live: whoever is not yet has a look of his own under way.
    await until(lambda: service.engine.stats()["live_subscriptions"] == many, "all wait")
    return tasks


def test_a_thousand_who_wait_hold_no_thread_and_one_append_wakes_them_with_few_reads(place: Place) -> None:
    service, database = place.behind(Between)
    stream = place.stream()
    service.append(stream, items([0]))

    async def run() -> list[ItemPage]:
        tasks = await waiting(service, stream, 1, MANY)
        assert threading.active_count() < MANY / 10
        database.looks = 0
        await asyncio.to_thread(service.append, stream, items(["it"]))
        return await asyncio.gather(*tasks)

    pages = asyncio.run(run())
    assert {(len(page.documents), page.next_offset) for page in pages} == {(1, 2)}
    # One look for all, but for those who were about to look when it came.
    assert database.looks < MANY / 50
    assert service.engine.stats()["subscriptions"] == 0


def test_who_waits_together_shares_one_look_and_each_gets_the_page(place: Place) -> None:
    service, database = place.behind(Between)
    stream = place.stream()
    service.append(stream, items("abc"))
    looks: list[Wanted] = []

    def look(wanted: Wanted) -> Look:
        looks.append(wanted)
        return look_at(database, wanted)

    shared, wanted = Looks(look), Wanted(stream, 3, 100)
    before = shared.fresh(wanted)
    board = shared.board(wanted)
    assert shared.board(wanted) is board
    assert not shared.shared(board, before).says_something
    service.append(stream, items("d"))
    found = shared.shared(board, before)
    assert len(found.page.documents) == 1
    assert shared.shared(board, before) is found
    assert len(looks) == 3
    # Whoever comes now looks for himself, and so does who waits for more.
    assert shared.board(wanted) is not board
    assert shared.board(Wanted(stream, 4, 100)) is not board


def test_what_was_found_in_another_life_of_the_stream_is_nobodys_answer(place: Place) -> None:
    service, database = place.behind(Between)
    stream = place.stream()
    service.append(stream, items("a"))
    shared, wanted = Looks(partial(look_at, database)), Wanted(stream, 1, 100)
    before, board = shared.fresh(wanted), shared.board(wanted)
    service.append(stream, items("b"))
    assert shared.shared(board, before).says_something
    service.delete_run(stream.run)
    service.append(stream, items("c"))
    again = shared.fresh(wanted)
    assert not again.says_something
    assert not shared.shared(board, again).says_something


def test_s13b_whoever_waits_with_one_that_is_interrupted_looks_for_himself(place: Place) -> None:
    service, database = place.behind(Between)
    stream = place.stream()
    service.append(stream, items("a"))
    looking, interrupted = threading.Event(), threading.Event()

    def look(wanted: Wanted) -> Look:
        if not looking.is_set():
            looking.set()
            assert interrupted.wait(20)
            raise KeyboardInterrupt
        return look_at(database, wanted)

    shared, wanted = Looks(look), Wanted(stream, 0, 100)
    board, before = shared.board(wanted), look_at(database, wanted)
    leader = Background(lambda: shared.shared(board, before))
    assert looking.wait(20)
    others = [Background(lambda: shared.shared(board, before)) for _ in range(3)]
    interrupted.set()
    with pytest.raises(KeyboardInterrupt):
        leader.result()
    assert [len(other.result().page.documents) for other in others] == [1, 1, 1]


def test_a_wait_that_is_cancelled_leaves_nothing_behind(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items([0]))

    async def run() -> None:
        tasks = await waiting(service, stream, 1, 20)
        for task in tasks:
            task.cancel()
        assert await asyncio.gather(*tasks, return_exceptions=True)
        assert {task.cancelled() for task in tasks} == {True}
        # Not sooner or later: with the cancellation.
        assert service.engine.stats()["subscriptions"] == 0
        await asyncio.to_thread(service.append, stream, items([1]))
        assert (await service.subscribe_async(stream, from_offset=1, wait_seconds=60)).next_offset == 2

    asyncio.run(run())


def test_what_waits_ends_when_the_service_is_closed(place: Place) -> None:
    service, stream = place.service(), place.stream()
    service.append(stream, items([0]))
    blocked = Background(lambda: service.subscribe(stream, from_offset=1, wait_seconds=60))

    async def run() -> None:
        await until(lambda: service.engine.stats()["subscriptions"] == 1, "the first one waits")
        tasks = [asyncio.create_task(service.subscribe_async(stream, from_offset=1, wait_seconds=60))]
        await until(lambda: service.engine.stats()["subscriptions"] == 2, "the second one waits")
        service.close()
        with pytest.raises(DurableStreamUnavailableError):
            await tasks[0]

    asyncio.run(run())
    with pytest.raises(DurableStreamUnavailableError):
        blocked.result()
