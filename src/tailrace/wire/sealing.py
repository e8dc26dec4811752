"""What a seal asks for."""

from tailrace import arguments
from tailrace.errors import InvalidArgumentError
from tailrace.wire import checks
from tailrace.wire.framing import MalformedError, from_json, to_json


def seal_to(topic: str, error: str | None) -> bytes:
    """Return the body that asks for it."""
    return to_json({"topic": topic, "error": error})


def seal_from(data: bytes) -> tuple[str, str | None]:
    """Return the topic and the reason in a body.

    Raises:
        MalformedError: It is not one.
    """
    topic, error = checks.members(from_json(data, "the body"), "the body", "topic", "error")
    try:
        return checks.topic(topic), arguments.seal_error(error)
    except InvalidArgumentError as invalid:
        raise MalformedError(str(invalid)) from None
