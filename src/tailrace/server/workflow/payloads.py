"""``/api/external-payloads/v1``: payloads that are kept outside of the database, sent and fetched as bytes.

Bodies are as large as one payload may be, and not as other requests: how much of them is in memory at once is bounded
before the first byte is read, from the size that the client announces.
"""

import asyncio
from functools import partial
from urllib.parse import unquote_to_bytes

from tailrace.asgi import Send
from tailrace.server.problems import Problem
from tailrace.server.request import DisconnectedError
from tailrace.server.response import NEVER_STORED, Response
from tailrace.server.workflow.call import Call
from tailrace.server.workflow.refusals import VERSIONED, Headers, Refusal, json_answer
from tailrace.workflow.payloads import Digest, PayloadNotFoundError, PayloadUnavailableError
from tailrace.workflow.payloads.references import is_reference_id
from tailrace.workflow.payloads.transport import announced, check_media_type, fetch_headers, upload_document

CHUNK = 256 * 1024
"""Bytes that are handed to the connection at once: a client that reads slowly does not have all of them wait there."""


async def upload(call: Call) -> Response:
    """Store a payload; the same bytes again are the same payload."""
    registry, headers = call.shared.service.payloads, call.request.headers
    if not registry.takes_uploads:
        raise PayloadUnavailableError("no storage of payloads is configured here")
    check_media_type(headers)
    digest = announced(headers, registry.settings.max_payload_bytes)
    with call.shared.room.taken(digest.size_bytes):
        content = await _body(call, digest)
        work = partial(registry.upload, call.namespace, digest, content)
        reference = await call.shared.transfer(work)
    return json_answer(upload_document(reference), 201)


async def fetch(call: Call) -> None:
    """Answer with the bytes of a payload, which have to be those that the client expects."""
    registry = call.shared.service.payloads
    reference_id = unquote_to_bytes(call.segments["reference_id"]).decode(errors="replace")
    if not is_reference_id(reference_id):
        raise PayloadNotFoundError("no payload has an id like that")
    expected = announced(call.request.headers)
    # Whatever a client says: there are no payloads that are larger, but for those from before the limit was lowered.
    with call.shared.room.taken(min(expected.size_bytes, registry.settings.max_payload_bytes)):
        work = partial(registry.fetch, call.namespace, reference_id, expected)
        reference, content = await call.shared.transfer(work)
        await _send(call.send, reference.digest, content, registry.settings.request_timeout)


async def _body(call: Call, digest: Digest) -> bytes:
    try:
        return await call.request.body(limit=digest.size_bytes, within=call.shared.core.settings.body_timeout)
    except Problem as problem:
        if problem.name == "too-large":
            raise Refusal(
                "external_payload_integrity_mismatch",
                "there are more bytes than were announced",
                retryable=False,
            ) from None
        raise


async def _send(send: Send, digest: Digest, content: bytes, within: float) -> None:
    told = tuple((name.lower().encode(), value.encode()) for name, value in fetch_headers(digest).items())
    headers: Headers = (NEVER_STORED, *VERSIONED, *told, (b"content-length", b"%d" % len(content)))
    try:
        # A client that has stopped reading must not take the room of others.
        async with asyncio.timeout(within):
            await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
            for at in range(0, len(content), CHUNK):
                await send({"type": "http.response.body", "body": content[at : at + CHUNK], "more_body": True})
            await send({"type": "http.response.body", "body": b""})
    except TimeoutError:
        raise DisconnectedError from None
