"""The registry of payloads outside of the database: uploads, fetches, and what an append has to know before it begins.

The storage is only ever asked outside of transactions: nobody waits for it with a row locked.
"""

import secrets
from collections.abc import Sequence
from functools import partial

from tailrace.errors import InvalidArgumentError
from tailrace.spi import Database
from tailrace.workflow.model import SECOND, NewItem
from tailrace.workflow.payloads import places
from tailrace.workflow.payloads.drivers import PayloadDriver
from tailrace.workflow.payloads.errors import (
    PayloadError,
    PayloadExpiredError,
    PayloadIntegrityError,
    PayloadNotFoundError,
    PayloadOversizedError,
    PayloadUnavailableError,
)
from tailrace.workflow.payloads.mentions import Kind, Mention, mentions
from tailrace.workflow.payloads.references import Digest, RuntimeReference
from tailrace.workflow.payloads.settings import PayloadSettings
from tailrace.workflow.store import payloads
from tailrace.workflow.store.claims import Claim
from tailrace.workflow.store.payloads import PayloadRow, Quota, State


class Registry:
    """Thread-safe; blocks.

    Args:
        driver: ``None``: no payload can be uploaded, and none of the registry can be referred to.
        timeout: Seconds that one transaction may take.
    """

    def __init__(
        self, database: Database, driver: PayloadDriver | None, settings: PayloadSettings, timeout: float
    ) -> None:
        self.settings = settings
        self.driver = driver
        self._database = database
        self._timeout = timeout

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
        driver = self._open()
        if digest.size_bytes > self.settings.max_payload_bytes:
            raise PayloadOversizedError(digest.size_bytes, self.settings.max_payload_bytes)
        digest.check(content)
        reference = RuntimeReference.to(namespace, digest)
        # Never an address that was used before: a deletion may still be under way there.
        uri = places.address(driver.base, namespace, f"{reference.reference_id}.{secrets.token_hex(8)}")
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
        self._put(row.uri.decode(), content)
        if not self._database.change(partial(payloads.stored, payload_id=row.id), self._timeout):
            # It took longer than the grace. What it has stored since is nobody's.
            driver.delete(row.uri.decode())
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
        row = self._find(namespace, reference_id)
        _check_same(Mention(Kind.REGISTRY, reference_id, expected), row)
        return RuntimeReference(reference_id, row.digest), self._get(row, reference_id)

    def prepare(self, namespace: str, items: Sequence[NewItem]) -> Sequence[Sequence[Claim]]:
        """Look at every payload that items refer to; return what each item has to claim. Claims nothing.

        What is wrong with a payload is returned and not raised: an item that was stored before is answered all the
        same, whatever has become of its payload since.

        Raises:
            PayloadUnsupportedError: An item refers to a payload in a way that nobody could follow.
        """
        base = None if self.driver is None else self.driver.base
        seen: dict[Mention, Claim] = {}
        claims: list[list[Claim]] = []
        for number, item in enumerate(items):
            try:
                found = mentions(item.payload, item.payload_reference, namespace, base)
            except PayloadError as wrong:
                raise _about(wrong, item=number) from wrong
            wanted = [mention for mention in found if mention.kind is not Kind.OPAQUE]
            for mention in wanted:
                if mention not in seen:
                    seen[mention] = self._look_at(namespace, mention, number)
            claims.append([seen[mention] for mention in wanted])
        return claims if seen else ()

    def content(self, namespace: str, payload: bytes, payload_reference: object, offset: int) -> bytes | None:
        """Return the bytes of the payload that an item refers to; ``None`` if it has its payload in it, or elsewhere.

        Args:
            payload: JSON text, as the item has it.
            offset: Of the item, which errors name.

        Raises:
            PayloadError: They can not be had: missing, altered, or the storage is away.
        """
        base = None if self.driver is None else self.driver.base
        try:
            for mention in mentions(payload, payload_reference, namespace, base):
                if mention.kind is not Kind.OPAQUE:
                    return self._content(namespace, mention)
        except PayloadError as wrong:
            raise _about(wrong, offset=offset) from wrong
        return None

    def close(self) -> None:
        """Release the storage. Idempotent, never raises."""
        if self.driver is not None:
            self.driver.close()

    def _content(self, namespace: str, mention: Mention) -> bytes:
        if mention.kind is Kind.REGISTRY:
            row = self._find(namespace, mention.name)
            _check_same(mention, row)
            return self._get(row, mention.name)
        content = self._read(mention.name)
        if mention.digest is not None:
            mention.digest.check(content)
        return content

    def _look_at(self, namespace: str, mention: Mention, number: int) -> Claim:
        try:
            if mention.kind is Kind.REGISTRY:
                row = self._find(namespace, mention.name)
                _check_same(mention, row)
                self._get(row, mention.name)
            else:
                row = self._register(namespace, mention)
        except PayloadError as problem:
            return Claim(0, _about(problem, item=number))
        return Claim(row.id)

    def _register(self, namespace: str, mention: Mention) -> PayloadRow:
        content = self._read(mention.name)
        digest = Digest.of(content)
        if mention.digest is not None:
            mention.digest.check(content)
        register = partial(payloads.register, namespace=namespace, uri=mention.name, digest=digest)
        row = self._database.change(register, self._timeout)
        if row is None:
            raise PayloadUnavailableError("the object at this address is being deleted")
        if row.digest != digest:
            raise PayloadIntegrityError("the object at this address was another one before")
        # It may have been deleted since it was read. From now on it is not, without its row.
        if not self._open().exists(mention.name):
            raise PayloadNotFoundError("the object is not in the storage")
        return row

    def _find(self, namespace: str, reference_id: str) -> PayloadRow:
        self._open()
        row = self._database.look(partial(payloads.find, namespace=namespace, name=reference_id))
        if row is None or row.state == State.ANNOUNCED:
            raise PayloadNotFoundError("there is no such payload in this namespace", reference_id=reference_id)
        if row.expired(self.grace):
            raise PayloadExpiredError("the payload was not claimed in time", reference_id=reference_id)
        return row

    def _get(self, row: PayloadRow, reference_id: str) -> bytes:
        try:
            content = self._read(row.uri.decode(), row.size)
            row.digest.check(content)
        except PayloadOversizedError as longer:
            raise PayloadIntegrityError("the object is longer than it was", reference_id=reference_id) from longer
        except PayloadError as wrong:
            raise _about(wrong, reference_id=reference_id) from wrong
        return content

    def _read(self, uri: str, limit: int | None = None) -> bytes:
        try:
            return self._open().get(uri, self.settings.max_payload_bytes if limit is None else limit)
        except InvalidArgumentError as elsewhere:
            raise PayloadUnavailableError("the object is in another storage than the one here") from elsewhere

    def _put(self, uri: str, content: bytes) -> None:
        try:
            self._open().put(uri, content)
        except InvalidArgumentError as elsewhere:
            raise PayloadUnavailableError("the object is in another storage than the one here") from elsewhere

    def _open(self) -> PayloadDriver:
        if self.driver is None:
            raise PayloadUnavailableError("no storage of payloads is configured here")
        return self.driver


def _check_same(mention: Mention, row: PayloadRow) -> None:
    if mention.digest is not None and mention.digest != row.digest:
        raise PayloadIntegrityError("the reference says something else than the registry", reference_id=mention.name)


def _about(error: PayloadError, **details: object) -> PayloadError:
    """Return the same error, which says more."""
    error.details = {**error.details, **details}
    return error
