"""The payloads that items refer to: looked at before an append begins, and read for whoever has an item.

The storage is only ever asked outside of transactions: nobody waits for it with a row locked.
"""

from collections.abc import Sequence
from functools import partial

from tailrace.spi import Database
from tailrace.workflow.model import NewItem
from tailrace.workflow.payloads.errors import (
    PayloadError,
    PayloadIntegrityError,
    PayloadNotFoundError,
    PayloadUnavailableError,
)
from tailrace.workflow.payloads.mentions import Kind, Mention, mentions
from tailrace.workflow.payloads.references import Digest
from tailrace.workflow.payloads.registry import Registry
from tailrace.workflow.payloads.storage import Storage
from tailrace.workflow.store import payloads
from tailrace.workflow.store.claims import Claim
from tailrace.workflow.store.payloads import PayloadRow


class ReferredPayloads:
    """Thread-safe; blocks.

    Args:
        registry: Has those that were uploaded to it.
        storage: Has those that producers have stored themselves, too.
        timeout: Seconds that one transaction may take.
    """

    def __init__(self, database: Database, storage: Storage, registry: Registry, timeout: float) -> None:
        self._database = database
        self._storage = storage
        self._registry = registry
        self._timeout = timeout

    def prepare(self, namespace: str, items: Sequence[NewItem]) -> Sequence[Sequence[Claim]]:
        """Look at every payload that items refer to; return what each item has to claim. Claims nothing.

        What is wrong with a payload is returned and not raised: an item that was stored before is answered all the
        same, whatever has become of its payload since.

        Raises:
            PayloadUnsupportedError: An item refers to a payload in a way that nobody could follow.
        """
        seen: dict[Mention, Claim] = {}
        claims: list[list[Claim]] = []
        for number, item in enumerate(items):
            try:
                found = mentions(item.payload, item.payload_reference, namespace, self._storage.base)
            except PayloadError as wrong:
                raise wrong.about(item=number) from wrong
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
        try:
            for mention in mentions(payload, payload_reference, namespace, self._storage.base):
                if mention.kind is not Kind.OPAQUE:
                    return self._content(namespace, mention)
        except PayloadError as wrong:
            raise wrong.about(offset=offset) from wrong
        return None

    def _content(self, namespace: str, mention: Mention) -> bytes:
        if mention.kind is Kind.REGISTRY:
            return self._registry.fetch(namespace, mention.name, mention.digest)[1]
        return self._read(mention)

    def _look_at(self, namespace: str, mention: Mention, number: int) -> Claim:
        try:
            if mention.kind is Kind.REGISTRY:
                row = self._registry.find(namespace, mention.name, mention.digest)
                self._registry.read(row, mention.name)
            else:
                row = self._register(namespace, mention)
        except PayloadError as problem:
            return Claim(0, problem.about(item=number))
        return Claim(row.id)

    def _register(self, namespace: str, mention: Mention) -> PayloadRow:
        digest = Digest.of(self._read(mention))
        register = partial(payloads.register, namespace=namespace, uri=mention.name, digest=digest)
        row = self._database.change(register, self._timeout)
        if row is None:
            raise PayloadUnavailableError("the object at this address is being deleted")
        if row.digest != digest:
            raise PayloadIntegrityError("the object at this address was another one before")
        # It may have been deleted since it was read. From now on it is not, without its row.
        if not self._storage.exists(mention.name):
            raise PayloadNotFoundError("the object is not in the storage")
        return row

    def _read(self, mention: Mention) -> bytes:
        content = self._storage.get(mention.name, self._registry.settings.max_payload_bytes)
        if mention.digest is not None:
            mention.digest.check(content)
        return content
