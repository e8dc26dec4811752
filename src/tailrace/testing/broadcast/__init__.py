"""Live delivery as cases. A place for live messages passes when all of them do, unchanged.

The whole test file of a place:

    import pytest
    from tailrace.testing.broadcast import *  # noqa: F403

    @pytest.fixture
    def place_under_test():
        return MyPlaceUnderTest()

where ``MyPlaceUnderTest`` derives from ``PlaceUnderTest`` and says where the place is.
"""

from tailrace.testing.broadcast.close import TestClose
from tailrace.testing.broadcast.delivery import TestDelivery
from tailrace.testing.broadcast.entering import TestEntering
from tailrace.testing.broadcast.fixtures import channel, driver, open_channel, other_channel, peer_topic, place, topic
from tailrace.testing.broadcast.independence import TestIndependence
from tailrace.testing.broadcast.loss import TestConnectionLoss
from tailrace.testing.broadcast.overflow import TestOverflow
from tailrace.testing.broadcast.place import MemoryPlaceUnderTest, PlaceUnderTest
from tailrace.testing.broadcast.preparing import TestPreparing

__all__ = [
    "MemoryPlaceUnderTest",
    "PlaceUnderTest",
    "TestClose",
    "TestConnectionLoss",
    "TestDelivery",
    "TestEntering",
    "TestIndependence",
    "TestOverflow",
    "TestPreparing",
    "channel",
    "driver",
    "open_channel",
    "other_channel",
    "peer_topic",
    "place",
    "topic",
]
