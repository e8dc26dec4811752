"""What a store implements. See ``docs/how-to/write-a-store.md``."""

from tailrace.boundaries import MAX_POSITION, Boundary, Place, Unborn
from tailrace.options import StoreURL
from tailrace.spi.backend import Backend, Capabilities, Maintenance, Watch
from tailrace.spi.broadcasting import Carrier, Line, Listener, Mark
from tailrace.spi.findings import Examinable, Findings
from tailrace.spi.judging import lost_birth, lost_place
from tailrace.spi.pages import (
    AppendDeferred,
    Appended,
    AppendOutcome,
    AppendRefused,
    AppendUnknown,
    Bounds,
    Changes,
    Entry,
    Page,
    PositionLost,
    ReadFailed,
    ReadOutcome,
    ReadRequest,
    Seal,
    StoredRecord,
    SweepBudget,
    SweepReport,
    TopicInfo,
)
from tailrace.spi.registry import open_broadcast, open_engine, open_schema, open_store, schemes
from tailrace.spi.relational import Ask, Database, Relational
from tailrace.spi.schema import Migration, Schema
from tailrace.spi.sweeping import SweepTally
from tailrace.spi.transactional import Transactional

__all__ = [
    "MAX_POSITION",
    "AppendDeferred",
    "AppendOutcome",
    "AppendRefused",
    "AppendUnknown",
    "Appended",
    "Ask",
    "Backend",
    "Boundary",
    "Bounds",
    "Capabilities",
    "Carrier",
    "Changes",
    "Database",
    "Entry",
    "Examinable",
    "Findings",
    "Line",
    "Listener",
    "Maintenance",
    "Mark",
    "Migration",
    "Page",
    "Place",
    "PositionLost",
    "ReadFailed",
    "ReadOutcome",
    "ReadRequest",
    "Relational",
    "Schema",
    "Seal",
    "StoreURL",
    "StoredRecord",
    "SweepBudget",
    "SweepReport",
    "SweepTally",
    "TopicInfo",
    "Transactional",
    "Unborn",
    "Watch",
    "lost_birth",
    "lost_place",
    "open_broadcast",
    "open_engine",
    "open_schema",
    "open_store",
    "schemes",
]
