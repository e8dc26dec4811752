"""Payloads on their way take a bounded part of the server: of its memory, its workers and its patience."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.workflow.http.api import a_stream, said
from tests.workflow.http.storing import storing

from tailrace.server.problems import Problem
from tailrace.server.request import DisconnectedError
from tailrace.server.workflow import payloads, shared
from tailrace.server.workflow.room import Room
from tailrace.workflow.payloads import Digest
from tailrace.workflow.payloads.local import LocalDriver


def test_room_is_for_so_many_bytes_and_for_one_payload_in_any_case() -> None:
    room = Room(10)
    with room.taken(4), room.taken(6), pytest.raises(Problem, match="on their way"), room.taken(1):
        pass
    with room.taken(11), pytest.raises(Problem), room.taken(1):
        pass
    with pytest.raises(KeyError), room.taken(10):
        raise KeyError
    with room.taken(10):
        pass


class Held:
    """A storage that answers when it is told to."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open = False
        self._inside = 0

    def put(self, _driver: LocalDriver, _uri: str, _content: bytes) -> None:
        with self._changed:
            self._inside += 1
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self._open, 60)

    def hold(self, count: int) -> None:
        """Return once so many calls are in there."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._inside == count, 60)

    def release(self) -> None:
        with self._changed:
            self._open = True
            self._changed.notify_all()

    @property
    def inside(self) -> int:
        return self._inside


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    held = Held()
    monkeypatch.setattr(LocalDriver, "put", lambda *given: held.put(*given))
    yield held
    held.release()


def test_a_storage_that_hangs_leaves_workers_to_streams(tmp_path: Path, held: Held) -> None:
    most = shared.TRANSFERS
    with storing(tmp_path) as at, ThreadPoolExecutor(most + 1) as clients:
        sent = [clients.submit(at.upload, b"%d" % number) for number in range(most + 1)]
        held.hold(most)
        stream = a_stream()
        assert at.append(stream, 1).status_code == 200
        assert at.api.get(f"{stream}/items").json()["next_offset"] == 1
        assert held.inside == most
        held.release()
        assert {answer.result(60).status_code for answer in sent} == {201}


def test_who_gets_no_turn_is_told_that_the_storage_is_busy(
    tmp_path: Path, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "TRANSFERS", 1)
    with storing(tmp_path, request_timeout=0.2) as at, ThreadPoolExecutor(1) as clients:
        first = clients.submit(at.upload, b"first")
        held.hold(1)

        assert said(at.upload(b"second")) == (503, "external_payload_unavailable")

        held.release()
        assert first.result(60).status_code == 201


def test_more_bytes_than_there_is_room_for_are_told_to_come_back(
    tmp_path: Path, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "ROOM_BYTES", 0)
    with storing(tmp_path, threshold_bytes=1, max_payload_bytes=10) as at, ThreadPoolExecutor(4) as clients:
        sent = [clients.submit(at.upload, b"%d" % number * 10) for number in range(4)]
        held.hold(4)

        answer = at.upload(b"x")

        assert said(answer) == (503, "overloaded")
        assert answer.headers["retry-after"] == "1"
        held.release()
        assert {each.result(60).status_code for each in sent} == {201}
        assert at.upload(b"x").status_code == 201


def test_a_client_that_has_stopped_reading_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "CHUNK", 2)
    taken: list[Any] = []

    async def send(message: Any) -> None:
        if len(taken) == 2:
            await asyncio.Event().wait()
        taken.append(message)

    with pytest.raises(DisconnectedError):
        asyncio.run(payloads._send(send, Digest.of(b"12345"), b"12345", 0.05))
    assert [message.get("body") for message in taken] == [None, b"12"]


def test_it_is_handed_over_in_pieces(at_once: list[Any]) -> None:
    assert [message.get("body") for message in at_once] == [None, b"12", b"34", b"5", b""]
    assert [message.get("more_body") for message in at_once] == [None, True, True, True, None]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(payloads, "CHUNK", 2)
    taken: list[Any] = []

    async def send(message: Any) -> None:
        taken.append(message)

    asyncio.run(payloads._send(send, Digest.of(b"12345"), b"12345", 60))
    return taken
