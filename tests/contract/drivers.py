"""The facades, for stores whose kit is run through all of them only by `make test-long`."""

import pytest

from tailrace.testing.drivers import Driver
from tailrace.testing.fixtures import DRIVERS

_PARAMS = [
    pytest.param(driver, id=driver.name, marks=() if driver is DRIVERS[0] else pytest.mark.long) for driver in DRIVERS
]


@pytest.fixture(params=_PARAMS)
def driver(request: pytest.FixtureRequest) -> Driver:
    """The facade that the case is performed through."""
    chosen: Driver = request.param
    return chosen
