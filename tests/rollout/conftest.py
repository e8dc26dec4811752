"""Every case of a deployment is performed in both colours."""

import functools

import pytest
from tests.rollout.colours import COLOURS, Colour
from tests.rollout.fixtures import Deploy, deployed


@pytest.fixture(params=COLOURS, ids=lambda colour: colour.name)
def colour(request: pytest.FixtureRequest) -> Colour:
    """The colour of channel, streams and rollout."""
    chosen: Colour = request.param
    return chosen


@pytest.fixture
def deployment(colour: Colour) -> Deploy:
    """Starts a deployment for a ``with``; takes the options of ``Deployment``."""
    return functools.partial(deployed, colour)
