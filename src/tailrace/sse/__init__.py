"""Server-Sent Events of topics: their bytes, and streams that share the work. Knows ASGI's ``send`` and no server.

Needs the extra ``tokens``.
"""

from tailrace.sse.serving import Start, View, postpone, serve, serve_head
from tailrace.sse.settings import StreamSettings
from tailrace.sse.stream import Stop
from tailrace.sse.streams import Streams

__all__ = ["Start", "Stop", "StreamSettings", "Streams", "View", "postpone", "serve", "serve_head"]
