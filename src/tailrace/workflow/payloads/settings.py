"""How much may be kept outside of the database, and for how long without an owner."""

from dataclasses import dataclass

from tailrace.errors import InvalidArgumentError
from tailrace.options import positive_count, positive_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadSettings:
    """What one deployment allows.

    Attributes:
        threshold_bytes: Payloads with more bytes than that are uploaded by clients, and not sent with an item.
        max_payload_bytes: Bytes of one payload.
        request_timeout: Seconds that clients give an upload or a fetch.
        upload_grace: Seconds that an upload is kept for somebody to claim it.
        max_objects: Payloads that a namespace may have; ``None`` for any number.
        max_bytes: Bytes of them, together; likewise.
        direct_references: Whether producers may store payloads themselves, in a storage that readers have too.
    """

    threshold_bytes: int = 64 * 1024
    max_payload_bytes: int = 16 * 2**20
    request_timeout: float = 30.0
    upload_grace: float = 3600.0
    max_objects: int | None = None
    max_bytes: int | None = None
    direct_references: bool = True

    def __post_init__(self) -> None:
        positive_count("threshold_bytes", self.threshold_bytes)
        positive_count("max_payload_bytes", self.max_payload_bytes)
        if self.max_payload_bytes < self.threshold_bytes:
            raise InvalidArgumentError("max_payload_bytes must be at least threshold_bytes")
        positive_seconds("request_timeout", self.request_timeout)
        positive_seconds("upload_grace", self.upload_grace)
        for name in ("max_objects", "max_bytes"):
            if getattr(self, name) is not None:
                positive_count(name, getattr(self, name), at_most=2**62)
