"""Checks of what callers pass in, before anything is done with it."""

from collections.abc import Iterable

from tailrace import limits
from tailrace.errors import InvalidArgumentError, InvalidTopicNameError, InvalidTypeError

FOREVER = limits.MAX_TIMEOUT
"""Seconds for a wait without an end in sight."""


def known_options(call: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse options that a call does not have.

    Raises:
        InvalidArgumentError: There is one; all that there are are named.
    """
    names = sorted(known)
    unknown = set(given).difference(names)
    if unknown:
        raise InvalidArgumentError(f"{call} has no option called {min(unknown)}; known: {', '.join(names)}")


def topic_name(name: object) -> str:
    """Return a topic name that every store can keep and compare byte for byte.

    Raises:
        InvalidTypeError: It is not text.
        InvalidTopicNameError: It is empty, too long, or holds a NUL or a lone surrogate.
    """
    if not isinstance(name, str):
        raise InvalidTypeError(f"a topic name must be text, not {type(name).__name__}")
    if not name:
        raise InvalidTopicNameError("a topic name must not be empty")
    size = _utf8_size(name, "a topic name", InvalidTopicNameError)
    if size > limits.MAX_TOPIC_NAME_BYTES:
        raise InvalidTopicNameError(
            f"a topic name may have {limits.MAX_TOPIC_NAME_BYTES} bytes of UTF-8; this one has {size}"
        )
    # A subclass of str could compare or hash in its own way.
    return str.__str__(name)


def name_part(what: str, text: object) -> str:
    """Return text that topic names are compared with; may be empty.

    Raises:
        InvalidTypeError: It is not text.
        InvalidTopicNameError: It holds a NUL or a lone surrogate.
    """
    if not isinstance(text, str):
        raise InvalidTypeError(f"{what} must be text, not {type(text).__name__}")
    _utf8_size(text, what, InvalidTopicNameError)
    return str.__str__(text)


def payload_bytes(payload: object) -> bytes:
    """Return a payload as immutable bytes.

    Raises:
        InvalidTypeError: It is not bytes-like. Text must be encoded by the caller.
    """
    if type(payload) is bytes:
        return payload
    if isinstance(payload, bytes | bytearray | memoryview):
        # A copy: a caller may reuse its buffer while the append still waits for its turn.
        return bytes(payload)
    hint = "; encode text first" if isinstance(payload, str) else ""
    raise InvalidTypeError(f"a payload must be bytes, not {type(payload).__name__}{hint}")


def payload_list(payloads: object) -> list[bytes]:
    """Return the payloads of one ``append_many``.

    Raises:
        InvalidTypeError: It is not an iterable of bytes.
        InvalidArgumentError: There are too many for one call.
    """
    if isinstance(payloads, str | bytes | bytearray | memoryview) or not isinstance(payloads, Iterable):
        raise InvalidTypeError(f"payloads must be an iterable of bytes, not {type(payloads).__name__}")
    checked = [payload_bytes(payload) for payload in payloads]
    if len(checked) > limits.MAX_APPEND_MANY:
        raise InvalidArgumentError(f"append_many takes {limits.MAX_APPEND_MANY} payloads at most, not {len(checked)}")
    return checked


def timeout_seconds(timeout: object) -> float:
    """Return a timeout that every platform's wait can take.

    Raises:
        InvalidTypeError: It is not a number.
        InvalidArgumentError: It is negative or not a number (NaN).
    """
    if not isinstance(timeout, int | float):
        raise InvalidTypeError(f"a timeout must be a number of seconds, not {type(timeout).__name__}")
    if not timeout >= 0:
        raise InvalidArgumentError(f"a timeout must be 0 seconds or more, not {timeout}")
    return min(timeout, limits.MAX_TIMEOUT)


def seal_error(error: object) -> str | None:
    """Return the reason of a failed seal.

    Raises:
        InvalidTypeError: It is neither text nor ``None``.
        InvalidArgumentError: It is empty, too long, or holds a NUL or a lone surrogate.
    """
    if error is None:
        return None
    if not isinstance(error, str):
        raise InvalidTypeError(f"a seal's error must be text or None, not {type(error).__name__}")
    size = _utf8_size(error, "a seal's error", InvalidArgumentError)
    if not 0 < size <= limits.MAX_SEAL_ERROR_BYTES:
        raise InvalidArgumentError(f"a seal's error must have 1 to {limits.MAX_SEAL_ERROR_BYTES} bytes of UTF-8")
    return str.__str__(error)


def _utf8_size(text: str, what: str, error: type[InvalidArgumentError]) -> int:
    if "\0" in text:
        raise error(f"{what} must not hold a NUL character")
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise error(f"{what} must not hold a lone surrogate: it has no UTF-8 form") from None
