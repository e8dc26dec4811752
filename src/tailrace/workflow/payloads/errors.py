"""Every error of payloads outside of the database, with its status and reason on the wire.

    PayloadError
    ├── PayloadNotFoundError        no such object in this namespace
    ├── PayloadExpiredError         it was there, unclaimed for too long
    ├── PayloadUnavailableError     the storage can not answer now
    ├── PayloadOversizedError        more bytes than one payload may have
    ├── PayloadUnsupportedError     no reference, codec or header that is known
    │   └── PayloadMediaTypeError
    ├── PayloadIntegrityError       the bytes are not those that were announced
    ├── PayloadsExhaustedError      the namespace has as much as it may have
    └── PayloadHeldError            it was to be deleted, and a backup holds it

Messages hold neither payloads nor addresses.
"""

from typing import ClassVar, Self

from tailrace.workflow.errors import WorkflowStreamError


class PayloadError(WorkflowStreamError):
    """Base of what goes wrong with a payload that is kept outside of the database.

    Attributes:
        retryable: Whether the same request may succeed later, unchanged.
        reference_id: Of the payload, if it has one of ours.
    """

    reason = "external_payload_error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, reference_id: str | None = None) -> None:
        details: dict[str, object] = {"retryable": self.retryable}
        if reference_id is not None:
            details["reference_id"] = reference_id
        super().__init__(message, details)

    def about(self, **details: object) -> Self:
        """Return this error, which says more."""
        self.details = {**self.details, **details}
        return self

    @property
    def reference_id(self) -> str | None:
        found = self.details.get("reference_id")
        return found if isinstance(found, str) else None


class PayloadNotFoundError(PayloadError):
    """There is no such payload in this namespace, or its object is gone from the storage."""

    status = 404
    reason = "external_payload_not_found"


class PayloadExpiredError(PayloadError):
    """The payload was uploaded, and nobody claimed it in time. Upload it again."""

    status = 410
    reason = "external_payload_expired"


class PayloadUnavailableError(PayloadError):
    """The storage can not answer now: away, full, not permitted, not there. The same call may succeed later."""

    status = 503
    reason = "external_payload_unavailable"
    retryable = True


class PayloadOversizedError(PayloadError):
    """A payload has more bytes than are allowed."""

    status = 413
    reason = "external_payload_oversized"

    def __init__(self, size: int, limit: int, *, reference_id: str | None = None) -> None:
        super().__init__(f"{size} bytes are over the limit of {limit} bytes", reference_id=reference_id)
        self.details = {**self.details, "limit": limit}


class PayloadUnsupportedError(PayloadError):
    """A reference, a codec or a header is none that is known here."""

    status = 422
    reason = "external_payload_unsupported"


class PayloadMediaTypeError(PayloadUnsupportedError):
    """A payload was sent as something else than bytes."""

    status = 415


class PayloadIntegrityError(PayloadError):
    """The bytes of a payload, or what is said about them, are not those that were announced."""

    status = 422
    reason = "external_payload_integrity_mismatch"


class PayloadsExhaustedError(PayloadError):
    """The namespace has as many payloads, or as many bytes of them, as it may have."""

    status = 429
    reason = "external_payload_exhausted"
    retryable = True


class PayloadHeldError(PayloadError):
    """A payload is to be deleted, and a hold on its namespace keeps it, with all that refers to it. Try again later."""

    status = 409
    reason = "external_payload_held"
    retryable = True
