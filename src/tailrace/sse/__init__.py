"""Server-Sent Events of topics: their bytes, and streams that share the work. Knows ASGI's ``send`` and no server.

Needs the extra ``tokens``.
"""

from tailrace.sse.frames import Frames
from tailrace.sse.stream import EventStream, Stop
from tailrace.sse.trunk import Trunk
from tailrace.sse.trunks import Trunks

__all__ = ["EventStream", "Frames", "Stop", "Trunk", "Trunks"]
