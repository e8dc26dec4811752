"""JSON as the standard has it, and what is refused as none. Pure.

Python's own decoder is more generous (``NaN``), and less: it stops at integers of 4301 digits, and at objects that are
nested some hundred levels deep, how many depends on where it is called from.
"""

from tailrace.server.workflow import scanning
from tailrace.server.workflow.refusals import Refusal
from tailrace.workflow.nesting import MAX_DEPTH, is_too_deep


def decoded(body: bytes) -> object:
    """Return what a body holds.

    Raises:
        Refusal: ``malformed_json``.
    """
    return read(text_of(body), scanning.value)


def read(text: str, how: scanning.Read) -> object:
    """Return what a text holds, read in some way.

    Raises:
        Refusal: ``malformed_json``.
    """
    try:
        return scanning.whole(text, how)
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:
        raise malformed(str(error)) from None


def text_of(body: bytes) -> str:
    """Return a body as text.

    Raises:
        Refusal: ``malformed_json``: it is no UTF-8.
    """
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise malformed("it is not UTF-8") from None


def check_depth(text: bytes) -> None:
    """Refuse JSON that is nested too deeply for its readers.

    Raises:
        Refusal: ``malformed_json``.
    """
    if is_too_deep(text):
        raise too_deep()


def malformed(error: str) -> Refusal:
    """Return the refusal of what is no JSON."""
    return Refusal("malformed_json", "the body must be JSON", json_error=error)


def too_deep() -> Refusal:
    """Return the refusal of what no reader could decode."""
    return malformed(f"it is nested more than {MAX_DEPTH} levels deep")
