"""A service with payloads on each database in turn; and a server for all tests of a file that speaks S3."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workflow.payloads.scene import Scene
from tests.workflow.places import Place

from tailrace.testing.servers.s3 import S3Server

_numbers = itertools.count()


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with S3Server() as server:
        yield server


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server believes; without any, the library would look for some on the network."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tests")


@pytest.fixture
def bucket(s3: S3Server, credentials: None) -> str:
    name = f"payloads-{next(_numbers)}"
    s3.make_bucket(name)
    return name


@pytest.fixture
def scene(place: Place, tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(place.url, tmp_path)
    yield scene
    # Before the database is emptied: nobody may be in the middle of something.
    scene.close()
