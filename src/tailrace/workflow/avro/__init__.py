"""One Avro datum of the record ``durable_workflow.protocol.Value``, which holds any value. Frames are elsewhere.

Own code, because the library (fastavro) recurses without a bound: ten kilobytes of nested arrays end the process with
a segmentation fault. It also reads eleven bytes as a long, and a branch of -1 as the last one. Used by ``envelope``.
"""

from tailrace.workflow.avro.reading import read
from tailrace.workflow.avro.values import MAX_DEPTH, EnvelopeError
from tailrace.workflow.avro.writing import write

__all__ = ["MAX_DEPTH", "EnvelopeError", "read", "write"]
