"""Things that go wrong, on demand: a store handle that misbehaves, and a proxy that breaks connections."""

from tailrace.testing.faults.backend import FaultyBackend
from tailrace.testing.faults.kinds import Fail, Fault, LoseReply, Pause, Stall
from tailrace.testing.faults.proxy import FlakyProxy
from tailrace.testing.faults.resp_proxy import Loss, RespProxy
from tailrace.testing.faults.watch import FaultyWatch

__all__ = [
    "Fail",
    "Fault",
    "FaultyBackend",
    "FaultyWatch",
    "FlakyProxy",
    "LoseReply",
    "Loss",
    "Pause",
    "RespProxy",
    "Stall",
]
