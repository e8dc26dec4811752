"""How payloads travel: headers, answers, discovery, and the table of errors. The published client agrees."""

import asyncio
import pickle

import httpx
import pytest
from durable_workflow import Client, errors

from tailrace.errors import InvalidArgumentError
from tailrace.workflow.envelope import encode
from tailrace.workflow.payloads import (
    Digest,
    PayloadError,
    PayloadExpiredError,
    PayloadIntegrityError,
    PayloadMediaTypeError,
    PayloadNotFoundError,
    PayloadOversizedError,
    PayloadsExhaustedError,
    PayloadUnavailableError,
    PayloadUnsupportedError,
    RuntimeReference,
    transport,
)
from tailrace.workflow.payloads.settings import PayloadSettings

DIGEST = Digest.of(b"wwHioz3/VYAiNwA=")
REFERENCE = RuntimeReference.to("default", DIGEST)
ENVELOPE = encode({"text": "x" * 100})
HEADERS = {
    "x-durable-workflow-payload-codec": "avro",
    "x-durable-workflow-payload-size": "16",
    "x-durable-workflow-payload-sha256": DIGEST.sha256,
}


def with_header(name: str, value: str) -> dict[str, str]:
    return {**HEADERS, f"x-durable-workflow-payload-{name}": value}


def test_headers_say_what_the_bytes_are() -> None:
    assert transport.announced(HEADERS, 16) == DIGEST


@pytest.mark.parametrize("name", ["codec", "size", "sha256"])
def test_a_missing_header_is_named(name: str) -> None:
    headers = {key: value for key, value in HEADERS.items() if not key.endswith(name)}

    with pytest.raises(PayloadUnsupportedError, match=f"(?i)payload-{name}"):
        transport.announced(headers, 16)


@pytest.mark.parametrize("size", ["", "-1", "+1", "1.0", "016", "1_6", "\u0661", " 16", "9" * 19, "9" * 30])
def test_a_size_is_a_plain_number(size: str) -> None:
    with pytest.raises(PayloadUnsupportedError):
        transport.announced(with_header("size", size), 2**70)


@pytest.mark.parametrize(
    ("name", "value"), [("codec", "json"), ("codec", ""), ("sha256", DIGEST.sha256.upper()), ("sha256", "")]
)
def test_a_codec_and_a_digest_are_what_they_have_to_be(name: str, value: str) -> None:
    with pytest.raises(PayloadUnsupportedError):
        transport.announced(with_header(name, value), 16)


def test_more_bytes_than_the_limit_are_refused_before_they_are_read() -> None:
    assert transport.announced(with_header("size", "100"), 100).size_bytes == 100
    with pytest.raises(PayloadOversizedError) as error:
        transport.announced(with_header("size", "101"), 100)
    assert error.value.details["limit"] == 100


@pytest.mark.parametrize("given", ["application/octet-stream", "Application/Octet-Stream; a=b"])
def test_an_upload_is_bytes(given: str) -> None:
    transport.check_media_type({"content-type": given})


@pytest.mark.parametrize("headers", [{}, {"content-type": "application/json"}, {"content-type": ""}])
def test_an_upload_of_something_else_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(PayloadMediaTypeError):
        transport.check_media_type(headers)


def test_what_is_fetched_may_be_from_before_the_limit_was_lowered() -> None:
    assert transport.announced(with_header("size", "9" * 18)).size_bytes == 10**18 - 1
    with pytest.raises(PayloadUnsupportedError):
        transport.announced({})


def test_the_names_of_headers_are_those_that_are_read() -> None:
    assert set(transport.HEADERS) == set(HEADERS)


TABLE = {
    PayloadNotFoundError: (404, "external_payload_not_found", False, errors.ExternalPayloadNotFound),
    PayloadExpiredError: (410, "external_payload_expired", False, errors.ExternalPayloadExpired),
    PayloadUnavailableError: (503, "external_payload_unavailable", True, errors.ExternalPayloadUnavailable),
    PayloadOversizedError: (413, "external_payload_oversized", False, errors.ExternalPayloadOversized),
    PayloadMediaTypeError: (415, "external_payload_unsupported", False, errors.ExternalPayloadUnsupported),
    PayloadUnsupportedError: (422, "external_payload_unsupported", False, errors.ExternalPayloadUnsupported),
    PayloadIntegrityError: (
        422,
        "external_payload_integrity_mismatch",
        False,
        errors.ExternalPayloadIntegrityMismatch,
    ),
    # A word that the client has no class for.
    PayloadsExhaustedError: (429, "external_payload_exhausted", True, errors.ServerError),
}


def made(kind: type[PayloadError]) -> PayloadError:
    if kind is PayloadOversizedError:
        return PayloadOversizedError(2, 1, reference_id=REFERENCE.reference_id)
    return kind("told", reference_id=REFERENCE.reference_id)


@pytest.mark.parametrize("kind", TABLE)
def test_every_error_has_its_status_and_its_word_also_in_another_process(kind: type[PayloadError]) -> None:
    for error in (made(kind), pickle.loads(pickle.dumps(made(kind)))):
        assert type(error) is kind
        assert (error.status, error.reason, error.retryable) == TABLE[kind][:3]
        assert error.details["retryable"] is error.retryable
        assert error.reference_id == REFERENCE.reference_id


class Server:
    """The registry as far as the client sees it: what it answers is made by the code under test."""

    def __init__(self, settings: PayloadSettings) -> None:
        self._settings = settings
        self.kept: dict[str, bytes] = {}
        self.refusal: PayloadError | None = None

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path == "/api/cluster/info":
            storage = transport.discovery(self._settings)
            return httpx.Response(200, json={"namespace": {"external_payload_storage": storage}})
        if self.refusal is not None:
            error = self.refusal
            body = {"message": str(error), "reason": error.reason, **error.details}
            return httpx.Response(error.status, json=body)
        headers = dict(request.headers)
        if path == transport.PATH:
            transport.check_media_type(headers)
            digest = transport.announced(headers, self._settings.max_payload_bytes)
            digest.check(request.content)
            reference = RuntimeReference.to("default", digest)
            self.kept[reference.reference_id] = request.content
            return httpx.Response(201, json=transport.upload_document(reference))
        content = self.kept[path.removeprefix(f"{transport.PATH}/")]
        reference = RuntimeReference.to("default", Digest.of(content))
        assert transport.announced(headers) == reference.digest
        return httpx.Response(200, headers=transport.fetch_headers(reference.digest), content=content)


def exchange(server: Server) -> object:
    """Send a value as the client does, and read back what it has sent."""

    async def run() -> object:
        client = Client("http://server.test")
        await client._http.aclose()
        client._http = httpx.AsyncClient(transport=httpx.MockTransport(server.answer), base_url="http://server.test")
        try:
            runtime = await client._runtime_external_payload_transport()
            assert runtime is not None
            sent = await client._externalize_runtime_payloads(ENVELOPE, worker=False, transport=runtime, uploaded={})
            assert set(sent) == {"codec", "external_payload"}
            client.external_storage_cache.clear()
            return await client._resolve_runtime_payloads(sent, worker=False, transport=runtime)
        finally:
            await client._http.aclose()

    return asyncio.run(run())


def test_the_published_client_uploads_and_fetches_through_it() -> None:
    server = Server(PayloadSettings(threshold_bytes=16, max_payload_bytes=1000))

    assert exchange(server) == ENVELOPE
    assert len(server.kept) == 1


@pytest.mark.parametrize("kind", TABLE)
def test_the_published_client_raises_what_the_word_means(kind: type[PayloadError]) -> None:
    server = Server(PayloadSettings(threshold_bytes=16, max_payload_bytes=1000))
    server.refusal = made(kind)

    with pytest.raises(TABLE[kind][3]):
        exchange(server)


@pytest.mark.parametrize(
    "settings",
    [
        {"threshold_bytes": 0},
        {"threshold_bytes": 10, "max_payload_bytes": 9},
        {"request_timeout": 0},
        {"upload_grace": -1},
        {"max_objects": 0},
        {"max_bytes": True},
    ],
)
def test_settings_out_of_bounds_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(InvalidArgumentError):
        PayloadSettings(**settings)
