"""The contract as cases. A store passes when all of them do, unchanged.

The whole test file of an adapter:

    import pytest
    from tailrace.testing.contract import *  # noqa: F403

    @pytest.fixture
    def store_under_test(tmp_path):
        return MyStoreUnderTest(tmp_path)

where ``MyStoreUnderTest`` derives from ``tailrace.testing.stores.StoreUnderTest`` and says how to open
the store. What the store can not do, and every case that was not run for it, is in the summary of the
run; ``pytest --require-stores=mine`` makes it an error if the store itself is missing.
"""

from tailrace.testing.contract.append import TestAppend
from tailrace.testing.contract.append_many import TestAppendMany
from tailrace.testing.contract.backpressure import TestBackpressure
from tailrace.testing.contract.bad_input import TestBadInput
from tailrace.testing.contract.cancellation import TestCancellation
from tailrace.testing.contract.checkpoint import TestCheckpoint
from tailrace.testing.contract.close import TestClose
from tailrace.testing.contract.cursors import TestCursors
from tailrace.testing.contract.deferred import TestDeferred
from tailrace.testing.contract.fork import TestFork
from tailrace.testing.contract.idle import TestIdleWaits
from tailrace.testing.contract.independence import TestOrderAndIndependence
from tailrace.testing.contract.leaks import TestLeaks
from tailrace.testing.contract.lineage import TestLineage
from tailrace.testing.contract.one_shot import TestOneShot
from tailrace.testing.contract.outage import TestOutage
from tailrace.testing.contract.receive import TestReceive
from tailrace.testing.contract.resume import TestResume
from tailrace.testing.contract.retention import TestRetention
from tailrace.testing.contract.seal import TestSeal
from tailrace.testing.contract.start import TestStartPositions
from tailrace.testing.contract.sweep import TestSweep
from tailrace.testing.fixtures import (
    connect,
    driver,
    elsewhere,
    faulty,
    name,
    peer_topic,
    repeats,
    store,
    streams,
    swallowed_interrupts,
    topic,
)

__all__ = [
    "TestAppend",
    "TestAppendMany",
    "TestBackpressure",
    "TestBadInput",
    "TestCancellation",
    "TestCheckpoint",
    "TestClose",
    "TestCursors",
    "TestDeferred",
    "TestFork",
    "TestIdleWaits",
    "TestLeaks",
    "TestLineage",
    "TestOneShot",
    "TestOrderAndIndependence",
    "TestOutage",
    "TestReceive",
    "TestResume",
    "TestRetention",
    "TestSeal",
    "TestStartPositions",
    "TestSweep",
    "connect",
    "driver",
    "elsewhere",
    "faulty",
    "name",
    "peer_topic",
    "repeats",
    "store",
    "streams",
    "swallowed_interrupts",
    "topic",
]
