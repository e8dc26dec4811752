"""The registry of payloads outside of the database: what clients upload to it, and fetch from it.

The storage is only ever asked outside of transactions: nobody waits for it with a row locked.
"""

import secrets
from functools import partial

from tailrace.spi import Database
from tailrace.workflow.model import SECOND
from tailrace.workflow.payloads import places
from tailrace.workflow.payloads.errors import (
    PayloadError,
    PayloadExpiredError,
    PayloadIntegrityError,
    PayloadNotFoundError,
    PayloadOversizedError,
    PayloadUnavailableError,
)
from tailrace.workflow.payloads.references import Digest, RuntimeReference
from tailrace.workflow.payloads.settings import PayloadSettings
from tailrace.workflow.payloads.storage import Storage
from tailrace.workflow.store import payloads
from tailrace.workflow.store.payloads import PayloadRow, Quota, State


class Registry:
    """Thread-safe; blocks.

    Args:
        storage: Without one no payload can be uploaded, and none of the registry can be referred to.
        timeout: Seconds that one transaction may take.
    """

    def __init__(self, database: Database, storage: Storage, settings: PayloadSettings, timeout: float) -> None:
        self.settings = settings
        self._storage = storage
        self._database = database
        self._timeout = timeout

    @property
    def takes_uploads(self) -> bool:
        """Whether there is a storage for them."""
        return self._storage.base is not None

    @property
    def grace(self) -> int:
        """Microseconds that an upload is kept for somebody to claim it."""
        return int(self.settings.upload_grace * SECOND)

    def upload(self, namespace: str, digest: Digest, content: bytes) -> RuntimeReference:
        """Store a payload, durably once this returns; the same bytes again are the same payload.

        Raises:
            PayloadIntegrityError: The bytes are not those that were announced.
            PayloadOversizedError, PayloadsExhaustedError: They are too many, or one too many.
            PayloadUnavailableError: The storage can not take them now, or there is none.
        """
        base = self._storage.check()
        if digest.size_bytes > self.settings.max_payload_bytes:
            raise PayloadOversizedError(digest.size_bytes, self.settings.max_payload_bytes)
        digest.check(content)
        reference = RuntimeReference.to(namespace, digest)
        # Never an address that was used before: a deletion may still be under way there.
        uri = places.address(base, namespace, f"{reference.reference_id}.{secrets.token_hex(8)}")
        quota = Quota(self.settings.max_objects, self.settings.max_bytes)
        announce = partial(
            payloads.announce,
            namespace=namespace,
            name=reference.reference_id,
            uri=uri,
            digest=digest,
            quota=quota,
        )
        row = self._database.change(announce, self._timeout)
        self._storage.put(row.uri.decode(), content)
        if not self._database.change(partial(payloads.stored, payload_id=row.id), self._timeout):
            # It took longer than the grace. What it has stored since is nobody's.
            self._storage.delete(row.uri.decode())
            raise PayloadUnavailableError("the upload took too long", reference_id=reference.reference_id)
        return reference

    def fetch(
        self, namespace: str, reference_id: str, expected: Digest | None = None
    ) -> tuple[RuntimeReference, bytes]:
        """Return a payload that was uploaded to a namespace.

        Args:
            expected: What its bytes have to be; if the registry says otherwise, the storage is not asked for them.

        Raises:
            PayloadNotFoundError: There is no such payload, or its object is gone.
            PayloadExpiredError: Nobody has claimed it in time.
            PayloadIntegrityError: It is not the one that was expected, or the object is another one.
            PayloadUnavailableError: The storage can not answer now.
        """
        row = self.find(namespace, reference_id, expected)
        return RuntimeReference(reference_id, row.digest), self.read(row, reference_id)

    def find(self, namespace: str, reference_id: str, expected: Digest | None = None) -> PayloadRow:
        """Return what is known of a payload, without asking the storage for it.

        Raises:
            PayloadError: As ``fetch``.
        """
        self._storage.check()
        row = self._database.look(partial(payloads.find, namespace=namespace, name=reference_id))
        if row is None or row.state == State.ANNOUNCED:
            raise PayloadNotFoundError("there is no such payload in this namespace", reference_id=reference_id)
        if row.expired(self.grace):
            raise PayloadExpiredError("the payload was not claimed in time", reference_id=reference_id)
        if expected is not None and expected != row.digest:
            raise PayloadIntegrityError(
                "the reference says something else than the registry", reference_id=reference_id
            )
        return row

    def read(self, row: PayloadRow, reference_id: str) -> bytes:
        """Return the bytes of a payload that was found.

        Raises:
            PayloadError: As ``fetch``.
        """
        try:
            content = self._storage.get(row.uri.decode(), row.size)
            row.digest.check(content)
        except PayloadOversizedError as longer:
            raise PayloadIntegrityError("the object is longer than it was", reference_id=reference_id) from longer
        except PayloadError as wrong:
            raise wrong.about(reference_id=reference_id) from wrong
        return content
