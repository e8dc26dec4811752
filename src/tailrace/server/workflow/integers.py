"""Whole numbers of a query. Pure."""

import re
from collections.abc import Mapping

from tailrace.workflow.errors import InvalidFieldsError

_INTEGER = re.compile(r"-?[0-9]{1,300}")


def integer_in(query: Mapping[str, str], name: str, default: int) -> int:
    """Return a parameter; within no bounds yet.

    Raises:
        InvalidFieldsError: It is no whole number.
    """
    text = query.get(name)
    if text is None:
        return default
    if not _INTEGER.fullmatch(text):
        raise InvalidFieldsError({name: ["must be an integer"]})
    return int(text)
