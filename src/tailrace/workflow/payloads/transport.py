"""How payloads travel between clients and the registry: headers, answers, and what discovery says. Pure.

The HTTP server calls these before and after it touches the storage. Header names come in lower case, as ASGI has them.
"""

import re
from collections.abc import Mapping

from tailrace.workflow.payloads.errors import (
    PayloadMediaTypeError,
    PayloadOversizedError,
    PayloadUnsupportedError,
)
from tailrace.workflow.payloads.references import RUNTIME_SCHEMA, Digest, RuntimeReference
from tailrace.workflow.payloads.settings import PayloadSettings

PATH = "/api/external-payloads/v1"
MEDIA_TYPE = "application/octet-stream"

TRANSPORT_SCHEMA = "durable-workflow.v2.runtime-external-payload-transport.v1"
UPLOAD_SCHEMA = "durable-workflow.v2.runtime-external-payload-upload.v1"

_HEADER = "X-Durable-Workflow-Payload-"
HEADERS = tuple((_HEADER + name).lower() for name in ("Codec", "Size", "SHA256"))
_SIZE = re.compile("0|[1-9][0-9]{0,18}")


def announced(headers: Mapping[str, str], limit: int | None = None) -> Digest:
    """Return what the headers of an upload or a fetch say about its bytes.

    Args:
        limit: Bytes of an upload; none for a fetch, which may be of a payload from before the limit was lowered.

    Raises:
        PayloadUnsupportedError: One is missing or wrong.
        PayloadOversizedError: They are more than ``limit``.
    """
    size = _header(headers, "Size")
    if not _SIZE.fullmatch(size):
        raise PayloadUnsupportedError(f"{_HEADER}Size must be a number of bytes")
    digest = Digest(_header(headers, "Codec"), int(size), _header(headers, "SHA256"))
    if limit is not None and digest.size_bytes > limit:
        raise PayloadOversizedError(digest.size_bytes, limit)
    return digest


def check_media_type(headers: Mapping[str, str]) -> None:
    """Refuse an upload that does not say it is bytes.

    Raises:
        PayloadMediaTypeError: It does not.
    """
    if headers.get("content-type", "").partition(";")[0].strip().lower() != MEDIA_TYPE:
        raise PayloadMediaTypeError(f"a payload is uploaded as {MEDIA_TYPE}")


def fetch_headers(digest: Digest) -> dict[str, str]:
    """Return the headers of the answer to a fetch; its body is the payload's bytes."""
    return {
        "Content-Type": MEDIA_TYPE,
        f"{_HEADER}Codec": digest.codec,
        f"{_HEADER}Size": str(digest.size_bytes),
        f"{_HEADER}SHA256": digest.sha256,
    }


def upload_document(reference: RuntimeReference) -> dict[str, object]:
    """Return the body of the answer to an upload; its status is 201, also if the payload was there already."""
    return {"schema": UPLOAD_SCHEMA, "transport_version": 1, "reference": reference.document}


def discovery(settings: PayloadSettings) -> dict[str, object]:
    """Return ``namespace.external_payload_storage`` of ``GET /api/cluster/info``, where a storage is configured.

    Clients that store payloads themselves also look at ``runtime_external_payload_transport`` in the capabilities of
    the worker protocol: only where that is true do they ask for ``direct_provider_adapters``.
    """
    return {
        "status": "available",
        "threshold_bytes": settings.threshold_bytes,
        "transport": {
            "schema": TRANSPORT_SCHEMA,
            "version": 1,
            "reference_schema": RUNTIME_SCHEMA,
            "mode": "authenticated_namespace_runtime",
            "upload": {"method": "POST", "path": PATH},
            # Clients compare the word in braces too.
            "fetch": {"method": "GET", "path_template": f"{PATH}/{{referenceId}}"},
            "limits": {
                "max_payload_bytes": settings.max_payload_bytes,
                "request_timeout_seconds": settings.request_timeout,
            },
        },
        "direct_provider_adapters": {"capability_negotiated": True, "enabled": settings.direct_references},
    }


def _header(headers: Mapping[str, str], name: str) -> str:
    try:
        return headers[(_HEADER + name).lower()]
    except KeyError:
        raise PayloadUnsupportedError(f"the header {_HEADER}{name} is missing") from None
