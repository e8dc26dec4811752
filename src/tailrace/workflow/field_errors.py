"""What is wrong with the fields of one request, collected so that all of it is told at once. Pure."""

import re

from tailrace.workflow.errors import InvalidFieldsError

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")
# A reason may be the text of an error, which has lines.
_CONTROLS_BUT_LINES = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class FieldErrors:
    """Used by one thread, for one request."""

    def __init__(self) -> None:
        self._errors: dict[str, list[str]] = {}

    def add(self, field: str, text: str) -> None:
        """Note that something is wrong with a field."""
        self._errors.setdefault(field, []).append(text)

    def integer(self, field: str, value: object, least: int, most: int | None) -> None:
        """Check an integer."""
        if isinstance(value, bool) or not isinstance(value, int):
            self.add(field, "must be an integer")
        elif value < least or (most is not None and value > most):
            self.add(field, f"must be at least {least}" if most is None else f"must be from {least} to {most}")

    def text(self, field: str, value: object, most: int, *, least: int = 0, lines: bool = False) -> None:
        """Check a text; its length is in characters."""
        if not isinstance(value, str):
            self.add(field, "must be a string")
            return
        if not least <= len(value) <= most:
            self.add(
                field, f"must have {least} to {most} characters" if least else f"must have at most {most} characters"
            )
        if (_CONTROLS_BUT_LINES if lines else _CONTROLS).search(value):
            self.add(field, "must not hold control characters")
        if not _encodes(value):
            self.add(field, "must not hold lone surrogates")

    def optional(self, field: str, value: object, most: int) -> None:
        """Check a text that may be missing."""
        if value is not None:
            self.text(field, value, most)

    def refuse(self) -> None:
        """Raise, if anything was wrong.

        Raises:
            InvalidFieldsError: Something was.
        """
        if self._errors:
            raise InvalidFieldsError(self._errors)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
