"""The bytes of Server-Sent Events, as the HTML standard has them. Pure.

Text that a browser would hand on unchanged goes as ``data`` lines. The standard knows no escapes: it takes a carriage
return for the end of a line, and only UTF-8 for text. Payloads that hold one, or are no UTF-8, go as base64 in an event
of another type.
"""

import base64
import json

HEARTBEAT = b":\n\n"
"""A comment: keeps proxies from cutting a silent stream. It has no ``id``, or a reader would forget its own."""


def event(token: str, payload: bytes, *, text: bool = True) -> bytes:
    """Return one record: of the type ``message``, or ``base64`` if that is what its data is.

    Args:
        token: The id: a reader that comes back with it goes on after this record.
        payload: Any bytes.
        text: Whether text may go as it is; if not, every record is base64, and of the type ``message``.
    """
    if text and b"\r" not in payload and _is_text(payload):
        # Each line feed begins another line of data; the reader puts them together again.
        return b"id: %b\ndata: %b\n\n" % (token.encode(), payload.replace(b"\n", b"\ndata: "))
    marker = b"event: base64\n" if text else b""
    return b"%bid: %b\ndata: %b\n\n" % (marker, token.encode(), base64.b64encode(payload))


def prime(token: str, retry: float) -> bytes:
    """Return where a reader is, and when to come back: first of all, and last where the stream is to be resumed.

    It has no data, so browsers dispatch nothing, and they do keep the id.
    """
    return b"retry: %d\nid: %b\n\n" % (retry * 1000, token.encode())


def end(token: str, error: str | None) -> bytes:
    """Return the last event of a topic that was sealed, as failed if there is an error."""
    return _told(b"end", token, {"kind": "sealed" if error is None else "failed", "error": error})


def gap(token: str, reason: str) -> bytes:
    """Return the last event of a stream that can not go on without skipping records."""
    return _told(b"gap", token, {"reason": reason})


def later(seconds: float) -> bytes:
    """Return what tells a browser when to come back; the id that it has stays."""
    return b"retry: %d\n\n" % (seconds * 1000)


def _told(kind: bytes, token: str, content: dict[str, object]) -> bytes:
    # JSON escapes whatever a reason holds, so it is one line.
    return b"event: %b\nid: %b\ndata: %b\n\n" % (kind, token.encode(), json.dumps(content).encode())


def _is_text(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True
