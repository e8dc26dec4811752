"""One server for the tests of a file that only ask it something."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workflow.http.api import Api, serving


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("api")
    with serving(folder) as api:
        yield api
