"""The server looks after what has had its time: lost producers, and streams that have expired."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workflow.http.api import Api, a_stream, said, serving, until

from tailrace.server import ServerSettings


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("retention")
    with serving(folder, settings=ServerSettings(sweep_every=0.1)) as api:
        yield api


def test_a_stream_whose_producer_is_lost_ends_as_errored(api: Api) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", {"items": [{}], "lease_seconds": 1})

    until(lambda: api.get(stream).json()["stream"]["status"] == "errored")

    assert api.get(stream).json()["stream"]["error_reason"] == "producer lost"
    assert said(api.post(f"{stream}/lease", {"lease_seconds": 60})) == (409, "stream_errored")


def test_a_stream_that_has_expired_is_not_found_and_never_comes_back(api: Api) -> None:
    stream = a_stream()
    api.post(f"{stream}/items", {"items": [{"idempotency_key": "k"}]})
    api.post(f"{stream}/close", {"retention_seconds": 1})

    until(lambda: bool(api.get(stream).status_code == 404))

    assert said(api.get(stream)) == (404, "stream_not_found")
    assert said(api.get(f"{stream}/items")) == (404, "stream_not_found")
    assert said(api.get(f"{stream}/events")) == (404, "stream_not_found")
    assert said(api.post(f"{stream}/items", {"items": [{"idempotency_key": "k"}]})) == (404, "stream_not_found")
    assert said(api.post(f"{stream}/close")) == (404, "stream_not_found")
    assert api.get(stream.rpartition("/")[0]).json()["streams"] == []
