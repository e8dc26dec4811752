"""The contract, once, above every store."""

from tailrace.engine.engine import Engine
from tailrace.engine.foreign import foreign_errors
from tailrace.engine.pump import read_all
from tailrace.engine.reader import LOOK_SECONDS, Reader, Step
from tailrace.engine.submission import Submission
from tailrace.engine.waiter import Waiter
from tailrace.engine.workers import Workers

__all__ = [
    "LOOK_SECONDS",
    "Engine",
    "Reader",
    "Step",
    "Submission",
    "Waiter",
    "Workers",
    "foreign_errors",
    "read_all",
]
