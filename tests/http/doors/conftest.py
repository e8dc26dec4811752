"""A server for the tests that only ask it something."""

from collections.abc import Iterator

import pytest
from tests.http.doors.serving import Served, served


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running
