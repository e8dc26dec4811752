"""Payloads that are kept outside of the database: what refers to them, where they are, how they travel.

Nothing here needs an optional package until a driver that does is opened.
"""

from tailrace.workflow.payloads.drivers import PayloadDriver
from tailrace.workflow.payloads.errors import (
    PayloadError,
    PayloadExpiredError,
    PayloadHeldError,
    PayloadIntegrityError,
    PayloadMediaTypeError,
    PayloadNotFoundError,
    PayloadOversizedError,
    PayloadsExhaustedError,
    PayloadUnavailableError,
    PayloadUnsupportedError,
)
from tailrace.workflow.payloads.opening import open_driver
from tailrace.workflow.payloads.references import Digest, DirectReference, RuntimeReference

__all__ = [
    "Digest",
    "DirectReference",
    "PayloadDriver",
    "PayloadError",
    "PayloadExpiredError",
    "PayloadHeldError",
    "PayloadIntegrityError",
    "PayloadMediaTypeError",
    "PayloadNotFoundError",
    "PayloadOversizedError",
    "PayloadUnavailableError",
    "PayloadUnsupportedError",
    "PayloadsExhaustedError",
    "RuntimeReference",
    "open_driver",
]
