"""What is fixed for all requests below ``/api``, and the names of namespaces. No I/O."""

from tailrace.errors import InvalidArgumentError
from tailrace.workflow.bounds import MAX_NAMESPACE_CHARS, is_namespace

MAX_REQUEST_BYTES = 2 * 2**20
"""Bytes in the body of one request, whatever it is."""


def namespace_of(name: str) -> str:
    """Return the name of a namespace as it is compared: the case of its letters does not count.

    Raises:
        InvalidArgumentError: It is none.
    """
    lowered = name.lower()
    if not is_namespace(lowered):
        raise InvalidArgumentError(
            f"a namespace has 1 to {MAX_NAMESPACE_CHARS} printable characters of ASCII, and no space at an end"
        )
    return lowered
