"""What tests of the examples share: a browser for each file of them."""

from collections.abc import Iterator

import pytest
from tests.examples.chrome import Chrome


# Not for the whole session: as long as it is there, Playwright's event loop counts as running in this thread, and no
# test can have another one.
@pytest.fixture(scope="module")
def chrome() -> Iterator[Chrome]:
    with Chrome() as started:
        yield started
