"""The envelope of a payload, ``{"codec": "avro", "blob": ...}``: base64 of one framed Avro value.

The frame is Avro's single-object encoding: two bytes, the fingerprint of the one schema that there is, the datum. For
producers and readers; a server stores envelopes as they are and never opens them. No I/O.
"""

import base64
import binascii
from collections.abc import Mapping

from tailrace.workflow import avro
from tailrace.workflow.avro import EnvelopeError

CODEC = "avro"
"""The only codec of payloads. JSON is how requests are written, not how payloads are."""

FINGERPRINT = bytes.fromhex("e2a33dff55802237")
"""CRC-64-AVRO of the schema's canonical form, as the frame has it."""

_MAGIC = b"\xc3\x01"
_HEADER = _MAGIC + FINGERPRINT


def encode(value: object) -> dict[str, str]:
    """Return the envelope of a value.

    Args:
        value: ``None``, a boolean, an integer of 64 bits, a finite float, bytes, text, a list of values, or a
            dictionary of text to values. Anything else has to be made one of these first: nothing is guessed.

    Raises:
        EnvelopeError: It is not, or not all of what it holds is.
    """
    return {"codec": CODEC, "blob": encode_blob(value)}


def decode(envelope: object) -> object:
    """Return the value of an envelope.

    Raises:
        EnvelopeError: It is not an object with a codec and a blob and nothing else, or either is wrong.
    """
    if not isinstance(envelope, Mapping) or envelope.keys() != {"codec", "blob"}:
        raise EnvelopeError("an envelope is an object with codec and blob, and nothing else")
    if envelope["codec"] != CODEC:
        raise EnvelopeError(f"the codec of a payload must be {CODEC}", reason="unsupported_payload_codec")
    return decode_blob(envelope["blob"])


def encode_blob(value: object) -> str:
    """Return the blob alone, as some fields of the protocol carry it. Raises like ``encode``."""
    return base64.b64encode(_HEADER + avro.write(value)).decode()


def decode_blob(blob: object) -> object:
    """Return the value of a blob. Raises like ``decode``."""
    if not isinstance(blob, str):
        raise EnvelopeError("a blob is text")
    try:
        framed = base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError) as wrong:
        raise EnvelopeError("a blob is standard base64, padded, in one line") from wrong
    if base64.b64encode(framed).decode() != blob:
        # Bits that no byte has, or more padding than needed: two texts would be one value, with two digests.
        raise EnvelopeError("a blob is base64 in its one canonical form")
    if framed[: len(_MAGIC)] != _MAGIC or len(framed) < len(_HEADER):
        raise EnvelopeError("the bytes of a blob begin with C3 01 and a fingerprint")
    if not framed.startswith(_HEADER):
        raise EnvelopeError("the fingerprint is of another schema", reason="unsupported_payload_schema")
    return avro.read(framed[len(_HEADER) :])
