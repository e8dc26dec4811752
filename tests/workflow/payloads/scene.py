"""A service with payloads in a directory, and what tests do to it: let time pass, break the storage, look inside."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.workflow.payloads.inside import GRACE, Inside
from typing_extensions import override

from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.spi import Relational
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import Appended, NewItem, Run, StreamRef
from tailrace.workflow.payloads import Digest, DirectReference, PayloadDriver, RuntimeReference, open_driver
from tailrace.workflow.payloads.places import address
from tailrace.workflow.payloads.settings import PayloadSettings
from tailrace.workflow.settings import WorkflowSettings

UPLOADED, CLAIMED = 1, 2
"""States of a payload."""


class Interposed(PayloadDriver):
    """A driver that calls a function before one of its operations, if there is one for it."""

    def __init__(self, driver: PayloadDriver) -> None:
        self._driver = driver
        self.before: dict[str, Callable[[], object]] = {}

    @property
    @override
    def base(self) -> str:
        return self._driver.base

    @override
    def put(self, uri: str, content: bytes) -> None:
        self._call("put")
        self._driver.put(uri, content)

    @override
    def get(self, uri: str, limit: int) -> bytes:
        content = self._driver.get(uri, limit)
        self._call("after get")
        return content

    @override
    def delete(self, uri: str) -> None:
        self._call("delete")
        self._driver.delete(uri)

    @override
    def exists(self, uri: str) -> bool:
        return self._driver.exists(uri)

    @override
    def close(self) -> None:
        self._driver.close()

    def _call(self, operation: str) -> None:
        # Once: what it does may need the storage, too.
        self.before.pop(operation, lambda: None)()


class Scene(Inside):
    """One service on a database of its own; everything in it is closed with it."""

    def __init__(self, url: str, folder: Path, **settings: Any) -> None:
        self.url = url
        self.root = folder / "payloads"
        self.driver = Interposed(open_driver(f"file://{self.root}"))
        self.services: list[EmbeddedService] = []
        self.service = self.open(self.driver, **settings)

    def open(self, driver: PayloadDriver | None, **settings: Any) -> EmbeddedService:
        """Open a service, as another process would."""
        store = spi.open_store(parse_url(self.url), StoreOptions(create=True))
        assert isinstance(store, Relational)
        self.database = store.database
        service = EmbeddedService(
            store,
            WorkflowSettings(
                namespaces=frozenset({"default", "other"}),
                run_retention=0,
                **{name: value for name, value in settings.items() if name.startswith("sweep")},
            ),
            payload_driver=driver,
            payload_settings=PayloadSettings(
                upload_grace=GRACE,
                **{name: value for name, value in settings.items() if not name.startswith("sweep")},
            ),
        )
        self.services.append(service)
        return service

    def close(self) -> None:
        for service in self.services:
            service.close()

    def stream(self, name: str, run: str = "run", namespace: str = "default") -> StreamRef:
        return Run(namespace, f"of {run}", run).stream(name)

    def upload(self, content: bytes = b"payload", namespace: str = "default") -> RuntimeReference:
        return self.service.payloads.upload(namespace, Digest.of(content), content)

    def direct(self, name: str, content: bytes = b"direct") -> DirectReference:
        """Store a payload as a producer does that has the driver itself."""
        uri = address(self.driver.base, "default", name)
        self.driver.put(uri, content)
        return DirectReference(uri, Digest.of(content))

    @property
    def stores_nothing(self) -> bool:
        return self.count("workflow_items") == self.count("workflow_streams") == self.count("workflow_claims") == 0

    def append(self, stream: StreamRef, *references: RuntimeReference | DirectReference, **options: Any) -> Appended:
        """Append one item per reference; each has its number as key."""
        return self.service.append(stream, items(*references), **options)

    def expire(self, stream: StreamRef) -> None:
        """Close a stream, and let its retention pass by the database's clock."""
        self.service.end(stream, retention_seconds=1)
        self.change(
            "UPDATE {workflow_streams} SET expires_at = {now} - 1, reclaim_at = {now} - 1 WHERE name = ?",
            stream.topic.encode(),
        )

    def retry(self) -> None:
        """Let the time pass after which what failed is tried again."""
        self.change("UPDATE {workflow_streams} SET reclaim_at = expires_at WHERE reclaim_at IS NOT NULL")
        self.change("UPDATE {workflow_runs} SET prune_at = ended_at WHERE prune_at IS NOT NULL")
        self.change("UPDATE {workflow_payloads} SET discard_at = uploaded_at WHERE discard_at IS NOT NULL")

    def run_id(self, run: Run) -> int:
        """The row's."""
        found = self.database.look(
            lambda ask: ask("SELECT id FROM {workflow_runs} WHERE run_id = ?", run.run_id.encode())
        )
        return int(found[0][0])

    def runs(self) -> Sequence[Run]:
        rows = self.database.look(lambda ask: ask("SELECT namespace, workflow_id, run_id FROM {workflow_runs}"))
        return [Run(*(part.decode() for part in row)) for row in rows]


def items(*references: RuntimeReference | DirectReference) -> list[NewItem]:
    """Return items, each of which has its payload elsewhere, as the published client sends it."""
    made = []
    for number, reference in enumerate(references):
        key = "external_payload" if isinstance(reference, RuntimeReference) else "external_storage"
        payload = json.dumps({"codec": "avro", key: reference.document}).encode()
        made.append(NewItem(payload=payload, payload_codec="avro", idempotency_key=f"{number}"))
    return made


class Gate:
    """Holds up whoever comes through until it is opened, and says that somebody has come."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._opened = threading.Event()

    def __call__(self) -> None:
        self._reached.set()
        assert self._opened.wait(60)

    def reached(self) -> None:
        """Wait until somebody has come."""
        assert self._reached.wait(60)

    def open(self) -> None:
        self._opened.set()
