"""What tests of the examples share: one browser for all."""

from collections.abc import Iterator

import pytest
from tests.examples.chrome import Chrome


@pytest.fixture(scope="session")
def chrome() -> Iterator[Chrome]:
    with Chrome() as started:
        yield started
