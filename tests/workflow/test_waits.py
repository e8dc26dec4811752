"""Waits for items: what ends them, and what does not."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.workflow.databases import Between
from tests.workflow.items import items
from tests.workflow.places import Place

from tailrace.spi import Database
from tailrace.testing.reading import Background
from tailrace.workflow.cancellation import Cancellation
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import RunNotFoundError, StreamNotFoundError


@pytest.mark.parametrize("wait", [0, 60])
def test_nobody_waits_for_a_stream_that_was_never_opened(service: EmbeddedService, place: Place, wait: int) -> None:
    stream = place.stream()
    with pytest.raises(RunNotFoundError):
        service.subscribe(stream, wait_seconds=wait)
    service.append(stream.run.stream("other"), items("a"))
    with pytest.raises(StreamNotFoundError):
        service.subscribe(stream, wait_seconds=wait)


def test_a_wait_ends_without_items_when_its_time_is_over(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items(range(2)))
    began = time.monotonic()
    page = service.subscribe(stream, from_offset=2, wait_seconds=1)
    assert time.monotonic() - began >= 1
    assert (page.documents, page.next_offset, page.terminal) == ((), 2, False)


class Waited(Between):
    """Says when a look has been taken."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.looked = threading.Event()

    def asked(self, *_: object) -> None:
        self.looked.set()


@pytest.mark.parametrize("elsewhere", [False, True], ids=["by this process", "by another handle"])
@pytest.mark.parametrize("ends", ["append", "close", "error", "delete"])
def test_a_wait_is_ended_by_what_comes(place: Place, ends: str, elsewhere: bool) -> None:
    service, waited = place.behind(Waited)
    stream, other = place.stream(), place.service() if elsewhere else service
    other.append(stream, items([0]))
    waiting = Background(lambda: service.subscribe(stream, from_offset=1, wait_seconds=60))
    assert waited.looked.wait(20)
    if ends == "append":
        other.append(stream, items(["it"]))
        page = waiting.result()
        assert (len(page.documents), page.next_offset, page.terminal) == (1, 2, False)
    elif ends == "delete":
        other.delete_run(stream.run)
        with pytest.raises(RunNotFoundError):
            waiting.result()
    else:
        other.end(stream, error_reason="broke" if ends == "error" else None)
        page = waiting.result()
        assert (page.documents, page.next_offset, page.terminal) == ((), 1, True)
        assert page.stream.error_reason == ("broke" if ends == "error" else None)


class Watched(Cancellation):
    """Says when it is watched, and how many watch it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.watching = 0

    def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        take_back = super().watch(callback)
        self.watching += 1
        self.begun.set()

        def forget() -> None:
            self.watching -= 1
            take_back()

        return forget


def test_a_wait_that_is_cancelled_answers_without_items(service: EmbeddedService, place: Place) -> None:
    stream, cancellation = place.stream(), Watched()
    service.append(stream, items([0]))
    waiting = Background(lambda: service.subscribe(stream, from_offset=1, wait_seconds=60, cancellation=cancellation))
    assert cancellation.begun.wait(20)
    cancellation.cancel()
    page = waiting.result(5)
    assert (page.documents, page.next_offset, page.terminal) == ((), 1, False)
    assert cancellation.watching == 0


def test_a_wait_that_is_cancelled_before_it_has_begun_answers_as_well(
    service: EmbeddedService, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, cancellation = place.stream(), Cancellation()
    service.append(stream, items([0]))
    opened = service.engine.open

    def cancelled(*args: Any) -> Any:
        cancellation.cancel()
        return opened(*args)

    monkeypatch.setattr(service.engine, "open", cancelled)
    page = service.subscribe(stream, from_offset=1, wait_seconds=60, cancellation=cancellation)
    assert (page.documents, page.next_offset) == ((), 1)
