"""A server with a storage of payloads in a directory, and a way behind its back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.workflow.http.api import Api, serving
from tests.workflow.payloads.inside import GRACE, HOUR, Inside

from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.server.configuration import Access, Workflow
from tailrace.spi import Relational
from tailrace.workflow.payloads import Digest
from tailrace.workflow.payloads.settings import PayloadSettings
from tailrace.workflow.payloads.transport import PATH

TABLES = ("workflow_items", "workflow_streams", "workflow_runs", "workflow_claims")


class Storing(Inside):
    """The server, its database and its directory.

    Attributes:
        api: A client.
    """

    def __init__(self, api: Api, url: str, folder: Path) -> None:
        self.api = api
        self.root = folder / "payloads"
        self.store = spi.open_store(parse_url(url), StoreOptions())
        assert isinstance(self.store, Relational)
        self.database = self.store.database

    def upload(self, content: bytes, headers: dict[str, str | None] | None = None) -> Any:
        """Send a payload as clients do; return the answer."""
        return self.api.ask("POST", PATH, {**announcing(content), **(headers or {})}, content=content)

    def fetch(self, reference: dict[str, Any], headers: dict[str, str | None] | None = None) -> Any:
        """Ask for a payload as clients do; return the answer."""
        names = {"codec": "codec", "size": "size_bytes", "sha256": "sha256"}
        asked = {f"x-durable-workflow-payload-{name}": str(reference[key]) for name, key in names.items()}
        return self.api.get(f"{PATH}/{reference['reference_id']}", headers={**asked, **(headers or {})})

    def append(self, stream: str, *payloads: Any, **more: Any) -> Any:
        """Append one item for each payload; return the answer."""
        return self.api.post(f"{stream}/items", {"items": [{"payload": each, **more} for each in payloads]})

    def rows(self) -> dict[str, int]:
        """Count what an append that is refused must not leave behind."""
        return {table: self.count(table) for table in TABLES}

    def expire(self) -> None:
        """Let the grace of every upload pass, for who asks for it: passes of retention do not find it yet."""
        self.change("UPDATE {workflow_payloads} SET uploaded_at = uploaded_at - ?", HOUR)

    def path_of(self, reference_id: str) -> Path:
        """Return the file of a payload."""
        (found,) = self.root.glob(f"*/{reference_id}.*")
        return found


def announcing(content: bytes) -> dict[str, str]:
    """Return the headers of an upload."""
    digest = Digest.of(content)
    return {
        "content-type": "application/octet-stream",
        "x-durable-workflow-payload-codec": digest.codec,
        "x-durable-workflow-payload-size": str(digest.size_bytes),
        "x-durable-workflow-payload-sha256": digest.sha256,
    }


def external(reference: dict[str, Any]) -> dict[str, Any]:
    """Return the payload of an item that refers to an upload."""
    return {"codec": "avro", "external_payload": reference}


@contextmanager
def storing(folder: Path, *, url: str = "", access: Access | None = None, **payloads: Any) -> Iterator[Storing]:
    """Serve a store with a storage of payloads while a test runs.

    Args:
        url: Of the store; SQLite in the folder without it.
        payloads: What there may be of them.
    """
    url = url or f"sqlite:///{folder}/runs.db"
    workflow = Workflow(
        namespaces=("default", "other"),
        payload_store=(folder / "payloads").as_uri(),
        payloads=PayloadSettings(upload_grace=GRACE, **payloads),
    )
    with serving(folder, access=access, workflow=workflow, store=url) as api:
        inside = Storing(api, url, folder)
        try:
            yield inside
        finally:
            inside.store.close()
