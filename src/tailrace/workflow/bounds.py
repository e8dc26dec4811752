"""What every ingress checks before anything else is done, and the service itself for callers that skipped it. Pure."""

import re
from collections.abc import Sequence
from typing import Any

from tailrace.workflow.envelope import CODEC
from tailrace.workflow.errors import InvalidStreamNameError
from tailrace.workflow.field_errors import FieldErrors
from tailrace.workflow.model import NewItem, Run

MAX_PENDING_ITEMS = 10_000
"""Undelivered items of a stream; a producer may ask for less, never for more."""

MAX_RETENTION_SECONDS = 2_592_000
"""Thirty days."""

DEFAULT_RETENTION_SECONDS = 3600

MAX_ITEMS = 500
"""Items in one append, and in one page."""

DEFAULT_PAGE_ITEMS = 100

MAX_WAIT_SECONDS = 60

MAX_ID_CHARS = 191
"""Characters of a workflow's id, a run's, a key, a reference."""

MAX_KIND_CHARS = 64
"""Characters of a codec, an origin, an item's type."""

MAX_NAMESPACE_CHARS = 128

MAX_LEASE_SECONDS = 86_400

CODECS = frozenset({CODEC})

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,190}")
_UNSUPPORTED_CODEC = (
    "unsupported_payload_codec: payloads travel as the HTTP document transport says, and only the codec avro is known"
)


def check_name(name: object) -> str:
    """Return a stream's name.

    Raises:
        InvalidStreamNameError: It is none.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidStreamNameError(
            "a stream's name has 1 to 191 letters, digits, dots, underscores, colons and hyphens of ASCII, "
            "and begins with a letter or a digit"
        )
    return name


def is_namespace(name: str) -> bool:
    """Whether a namespace can be called like this: in lower case, and such that a header can carry it."""
    return (
        1 <= len(name) <= MAX_NAMESPACE_CHARS
        and name == name.lower() == name.strip()
        and name.isascii()
        and name.isprintable()
    )


def check_run(run: Run) -> None:
    """Refuse ids that no run can have.

    Raises:
        InvalidFieldsError: They are of that kind.
    """
    wrong = FieldErrors()
    wrong.text("namespace", run.namespace, MAX_NAMESPACE_CHARS, least=1)
    wrong.text("workflow_id", run.workflow_id, MAX_ID_CHARS, least=1)
    wrong.text("run_id", run.run_id, MAX_ID_CHARS, least=1)
    wrong.refuse()


def check_start(workflow_type: object, task_queue: object) -> None:
    """Refuse what a run can not be started with.

    Raises:
        InvalidFieldsError: It is out of bounds.
    """
    wrong = FieldErrors()
    wrong.optional("workflow_type", workflow_type, MAX_ID_CHARS)
    wrong.optional("task_queue", task_queue, MAX_ID_CHARS)
    wrong.refuse()


def check_append(items: Sequence[NewItem], max_pending_items: object, lease_seconds: object = None) -> None:
    """Refuse a batch that is out of bounds.

    Raises:
        InvalidFieldsError: It is; with everything that is wrong.
    """
    wrong = FieldErrors()
    if not 1 <= len(items) <= MAX_ITEMS:
        wrong.add("items", f"must have 1 to {MAX_ITEMS} items")
    for number, item in enumerate(items[:MAX_ITEMS]):
        _check_item(wrong, f"items.{number}", item)
    wrong.integer("max_pending_items", max_pending_items, 1, MAX_PENDING_ITEMS)
    if lease_seconds is not None:
        wrong.integer("lease_seconds", lease_seconds, 1, MAX_LEASE_SECONDS)
    wrong.refuse()


def check_end(error_reason: object, retention_seconds: object) -> None:
    """Refuse an end that is out of bounds.

    Raises:
        InvalidFieldsError: It is.
    """
    wrong = FieldErrors()
    if error_reason is not None:
        wrong.text("error_reason", error_reason, MAX_ID_CHARS, least=1, lines=True)
    if retention_seconds is not None:
        wrong.integer("retention_seconds", retention_seconds, 1, MAX_RETENTION_SECONDS)
    wrong.refuse()


def check_page(from_offset: object, max_items: object, wait_seconds: object = 0) -> None:
    """Refuse a page that is out of bounds.

    Raises:
        InvalidFieldsError: It is.
    """
    wrong = FieldErrors()
    wrong.integer("from", from_offset, 0, None)
    wrong.integer("max_items", max_items, 1, MAX_ITEMS)
    wrong.integer("wait_seconds", wait_seconds, 0, MAX_WAIT_SECONDS)
    wrong.refuse()


def check_lease(lease_seconds: object) -> None:
    """Refuse a lease that is out of bounds.

    Raises:
        InvalidFieldsError: It is.
    """
    wrong = FieldErrors()
    wrong.integer("lease_seconds", lease_seconds, 1, MAX_LEASE_SECONDS)
    wrong.refuse()


def _check_item(wrong: FieldErrors, at: str, item: NewItem) -> None:
    wrong.optional(f"{at}.idempotency_key", item.idempotency_key, MAX_ID_CHARS)
    wrong.text(f"{at}.origin", item.origin, MAX_KIND_CHARS, least=1)
    wrong.optional(f"{at}.origin_reference", item.origin_reference, MAX_ID_CHARS)
    wrong.optional(f"{at}.item_type", item.item_type, MAX_KIND_CHARS)
    wrong.optional(f"{at}.content_type", item.content_type, MAX_ID_CHARS)
    _check_reference(wrong, f"{at}.payload_reference", item.payload_reference)
    if item.payload_codec is not None:
        wrong.text(f"{at}.payload_codec", item.payload_codec, MAX_KIND_CHARS)
        if isinstance(item.payload_codec, str) and item.payload_codec not in CODECS:
            wrong.add(f"{at}.payload_codec", _UNSUPPORTED_CODEC)


def _check_reference(wrong: FieldErrors, field: str, reference: Any) -> None:  # noqa: ANN401 - of a request
    if isinstance(reference, dict):
        # Its own shape is checked by whoever looks it up.
        return
    if reference is not None:
        wrong.text(field, reference, MAX_ID_CHARS)
