"""Reads that wait: woken by an append or an end, counted like streams, and ended with the server or their client."""

import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.http.doors.serving import drained
from tests.workflow.http.api import VERSION, Api, a_stream, said, serving, until

from tailrace.server import ServerSettings

ITEM = {"items": [{"payload": "x"}]}


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as aside:
        yield aside


def waiting(api: Api, count: int) -> None:
    """Return once so many reads wait."""
    until(lambda: api.server.application.service.live.count == count)


def poll(api: Api, aside: ThreadPoolExecutor, stream: str, offset: int) -> "Future[Any]":
    """Begin a read that waits; return once it does."""
    before = api.server.application.service.live.count
    future = aside.submit(api.get, f"{stream}/items?from={offset}&wait_seconds=60")
    waiting(api, before + 1)
    return future


def test_an_append_wakes_a_read_that_waits(api: Api, aside: ThreadPoolExecutor) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", ITEM)
    future = poll(api, aside, stream, 1)

    api.post(f"{stream}/items", ITEM)

    answer = future.result(20).json()
    assert [item["offset"] for item in answer["items"]] == [1]
    assert (answer["next_offset"], answer["terminal"]) == (2, False)


def test_one_append_wakes_all_who_wait(api: Api, aside: ThreadPoolExecutor) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", ITEM)
    futures = [poll(api, aside, stream, 1) for _ in range(4)]

    api.post(f"{stream}/items", ITEM)

    assert [future.result(20).json()["next_offset"] for future in futures] == [2] * 4


def test_an_end_wakes_a_read_that_waits(api: Api, aside: ThreadPoolExecutor) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", ITEM)
    future = poll(api, aside, stream, 1)

    api.post(f"{stream}/close", {"error_reason": "lost"})

    answer = future.result(20).json()
    assert (answer["items"], answer["next_offset"], answer["terminal"]) == ([], 1, True)
    assert answer["stream"]["status"] == "errored"


def test_a_deleted_run_wakes_a_read_that_waits(api: Api, aside: ThreadPoolExecutor) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", ITEM)
    future = poll(api, aside, stream, 1)

    api.ask("DELETE", stream.removesuffix("/streams/tokens"))

    assert said(future.result(20)) == (404, "instance_not_found")


def test_what_is_there_is_not_waited_for(api: Api) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", ITEM)

    assert api.get(f"{stream}/items?wait_seconds=60").json()["next_offset"] == 1


def test_a_read_gives_up_after_its_time(api: Api) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", ITEM)

    answer = api.get(f"{stream}/items?from=1&wait_seconds=1").json()

    assert (answer["items"], answer["next_offset"], answer["terminal"]) == ([], 1, False)


def test_a_client_that_vanishes_is_not_waited_for(api: Api) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", ITEM)
    connection = api.server.connect()
    head = f"GET {stream}/items?from=1&wait_seconds=60 HTTP/1.1\r\nhost: localhost\r\n{VERSION}: 2\r\n\r\n"
    connection.sendall(head.encode())
    waiting(api, 1)

    connection.shutdown(socket.SHUT_RDWR)
    connection.close()

    waiting(api, 0)
    # It was not a delivery.
    api.post(f"{stream}/items", ITEM)
    assert api.get(stream).json()["stream"]["pending_items"] == 2


def test_a_server_that_ends_answers_with_what_there_is(tmp_path: Path, aside: ThreadPoolExecutor) -> None:
    with serving(tmp_path) as api:
        stream = a_stream()
        api.post(f"{stream}/items", ITEM)
        future = poll(api, aside, stream, 1)

        api.server.drain()

        answer = future.result(20)
        assert answer.status_code == 200
        assert (answer.json()["items"], answer.json()["terminal"]) == ([], False)
        assert said(api.get(f"{stream}/items?from=1&wait_seconds=60")) == (503, "overloaded")


def test_more_reads_that_wait_than_the_server_holds_are_told_to_come_back(
    tmp_path: Path, aside: ThreadPoolExecutor
) -> None:
    with serving(tmp_path, settings=ServerSettings(max_streams=1)) as api:
        stream = a_stream()
        api.post(f"{stream}/items", ITEM)
        first = poll(api, aside, stream, 1)

        refused = api.get(f"{stream}/items?from=1&wait_seconds=60")
        assert said(refused) == (503, "overloaded")
        assert refused.headers["retry-after"] == "1"
        # Who does not wait is answered all the same.
        assert api.get(f"{stream}/items?from=1").status_code == 200
        api.post(f"{stream}/items", ITEM)
        assert first.result(20).json()["next_offset"] == 2


def test_a_connection_serves_the_next_request_after_a_read_that_waited(api: Api) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", ITEM)
    head = f"host: localhost\r\n{VERSION}: 2\r\n"
    asked = f"GET {stream}/items?from=1&wait_seconds=1 HTTP/1.1\r\n{head}\r\n"
    last = f"GET {stream} HTTP/1.1\r\n{head}connection: close\r\n\r\n"
    with api.server.connect() as connection:
        connection.sendall((asked + last).encode())
        answers = drained(connection)

    assert answers.count(b"HTTP/1.1 200 OK") == 2
