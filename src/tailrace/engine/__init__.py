"""The contract, once, above every store."""

from tailrace.engine.engine import Engine
from tailrace.engine.foreign import foreign_errors
from tailrace.engine.reader import LOOK_SECONDS, Reader, Step
from tailrace.engine.waiter import Waiter
from tailrace.engine.workers import Workers

__all__ = ["LOOK_SECONDS", "Engine", "Reader", "Step", "Waiter", "Workers", "foreign_errors"]
