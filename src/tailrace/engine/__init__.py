"""The contract, once, above every store."""

from tailrace.engine.engine import Engine
from tailrace.engine.foreign import foreign_errors
from tailrace.engine.reader import PULL_GRACE, Reader, Step
from tailrace.engine.waiter import Waiter
from tailrace.engine.workers import Workers

__all__ = ["PULL_GRACE", "Engine", "Reader", "Step", "Waiter", "Workers", "foreign_errors"]
