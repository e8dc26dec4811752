"""What refers to a payload: read strictly, told apart, and named so that the same bytes have the same name."""

import hashlib
import json
from typing import Any

import pytest
from durable_workflow.external_storage import ExternalPayloadReference, RuntimeExternalPayloadReference
from hypothesis import given
from hypothesis import strategies as st

from tailrace.workflow.payloads import (
    Digest,
    DirectReference,
    PayloadIntegrityError,
    PayloadUnsupportedError,
    RuntimeReference,
)
from tailrace.workflow.payloads.mentions import Kind, Mention, classify, mentions
from tailrace.workflow.payloads.references import reference_id

CONTENT = b"wwHioz3/VYAiNwA="
DIGEST = Digest.of(CONTENT)
REFERENCE = RuntimeReference.to("default", DIGEST)
BASE = "s3://bucket/payloads/"
URI = f"{BASE}default/avro/4f/{DIGEST.sha256}"
DIRECT = DirectReference(URI, DIGEST)


def changed(document: dict[str, object], **members: object) -> dict[str, object]:
    return {**document, **members}


def without(document: dict[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in document.items() if key != name}


def found(payload: Any, reference: object = None, *, base: str | None = BASE) -> tuple[Mention, ...]:
    return mentions(json.dumps(payload).encode(), reference, "default", base)


def runtime_payload(reference: RuntimeReference = REFERENCE) -> dict[str, object]:
    return {"codec": "avro", "external_payload": reference.document}


def direct_payload(reference: DirectReference = DIRECT) -> dict[str, object]:
    return {"codec": "avro", "external_storage": reference.document}


def test_both_documents_are_read_as_they_are_written() -> None:
    assert RuntimeReference.parse(REFERENCE.document) == REFERENCE
    assert DirectReference.parse(DIRECT.document) == DIRECT
    expiring = DirectReference(URI, DIGEST, "2030-01-01T00:00:00Z")
    assert DirectReference.parse(expiring.document) == expiring


def test_the_published_client_reads_both_documents() -> None:
    runtime = RuntimeExternalPayloadReference.from_dict(REFERENCE.document)
    direct = ExternalPayloadReference.from_dict(DIRECT.document)

    assert runtime.to_dict() == REFERENCE.document
    assert direct.to_dict() == DIRECT.document


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "ep_01234567890123456789012345",
        {},
        without(REFERENCE.document, "schema"),
        without(REFERENCE.document, "sha256"),
        changed(REFERENCE.document, more=1),
        changed(REFERENCE.document, schema="durable-workflow.v2.runtime-external-payload-reference.v2"),
        changed(REFERENCE.document, schema=None),
        changed(REFERENCE.document, codec="json"),
        changed(REFERENCE.document, codec=None),
        changed(REFERENCE.document, size_bytes=-1),
        changed(REFERENCE.document, size_bytes=16.0),
        changed(REFERENCE.document, size_bytes=True),
        changed(REFERENCE.document, size_bytes="16"),
        changed(REFERENCE.document, size_bytes=2**63),
        changed(REFERENCE.document, sha256=DIGEST.sha256.upper()),
        changed(REFERENCE.document, sha256=DIGEST.sha256 + "\n"),
        changed(REFERENCE.document, sha256=DIGEST.sha256[:-1]),
        changed(REFERENCE.document, sha256=5),
        changed(REFERENCE.document, reference_id="ep_" + "I" * 26),
        changed(REFERENCE.document, reference_id="ep_" + "a" * 26),
        changed(REFERENCE.document, reference_id="ep_" + "0" * 25),
        changed(REFERENCE.document, reference_id=REFERENCE.reference_id + "\n"),
        changed(REFERENCE.document, reference_id=None),
    ],
)
def test_a_runtime_reference_that_is_anything_else_is_refused(document: object) -> None:
    with pytest.raises(PayloadUnsupportedError):
        RuntimeReference.parse(document)


@pytest.mark.parametrize(
    "document",
    [
        None,
        without(DIRECT.document, "uri"),
        changed(DIRECT.document, more=1),
        changed(DIRECT.document, schema=REFERENCE.document["schema"]),
        changed(DIRECT.document, uri=""),
        changed(DIRECT.document, uri="s3://bucket/a b"),
        changed(DIRECT.document, uri="s3://bucket/a\n"),
        changed(DIRECT.document, uri="s3://bucket/" + "a" * 1024),
        changed(DIRECT.document, uri=5),
        changed(DIRECT.document, codec="json"),
        changed(DIRECT.document, sha256="x" * 64),
        changed(DIRECT.document, expires_at=""),
        changed(DIRECT.document, expires_at="2030-01-01T00:00:00"),
        changed(DIRECT.document, expires_at="tomorrow"),
        changed(DIRECT.document, expires_at=5),
    ],
)
def test_a_direct_reference_that_is_anything_else_is_refused(document: object) -> None:
    with pytest.raises(PayloadUnsupportedError):
        DirectReference.parse(document)


def test_an_id_is_what_it_was_in_every_release() -> None:
    # Rows and objects of former releases have these names.
    assert reference_id("default", DIGEST) == "ep_KS6JRVRPF8XJZVA88N7VH0CFXM"
    assert reference_id("other", DIGEST) == "ep_Q4TKVK8YWDWDZQMVYKVPR4YD50"


@given(st.text(), st.binary(), st.text(), st.binary())
def test_ids_are_the_same_for_the_same_bytes_in_one_namespace_and_differ_otherwise(
    namespace: str, content: bytes, other_namespace: str, other_content: bytes
) -> None:
    mine = reference_id(namespace, Digest.of(content))

    same = (namespace, content) == (other_namespace, other_content)
    assert (reference_id(other_namespace, Digest.of(other_content)) == mine) is same
    RuntimeExternalPayloadReference.from_dict(RuntimeReference(mine, Digest.of(content)).document)


def test_a_digest_is_over_the_text_and_refuses_any_other() -> None:
    assert DIGEST.size_bytes == len(CONTENT)
    assert DIGEST.sha256 == hashlib.sha256(CONTENT).hexdigest()

    DIGEST.check(CONTENT)
    for wrong in (b"", CONTENT[:-1], CONTENT[:-1] + b"A", CONTENT + b"\n"):
        with pytest.raises(PayloadIntegrityError) as error:
            DIGEST.check(wrong, reference_id=REFERENCE.reference_id)
        assert error.value.reference_id == REFERENCE.reference_id


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (REFERENCE.reference_id, Kind.REGISTRY),
        (URI, Kind.DRIVER),
        (f"{BASE}default/x", Kind.DRIVER),
        # Another namespace's objects are nobody's business here, and neither is any other spelling.
        (f"{BASE}other/x", Kind.OPAQUE),
        (f"{BASE}default", Kind.OPAQUE),
        (f"{BASE}default/", Kind.OPAQUE),
        (f"{BASE}default/../other/x", Kind.OPAQUE),
        (f"{BASE}default/%2e%2e/other/x", Kind.OPAQUE),
        (f"{BASE}x", Kind.OPAQUE),
        ("s3://bucket/elsewhere/default/x", Kind.OPAQUE),
        ("s3://other/payloads/default/x", Kind.OPAQUE),
        (URI.upper(), Kind.OPAQUE),
        ("gs://bucket/payloads/default/x", Kind.OPAQUE),
        (REFERENCE.reference_id.lower(), Kind.OPAQUE),
        (REFERENCE.reference_id + " ", Kind.OPAQUE),
        ("", Kind.OPAQUE),
        ("whatever a producer likes", Kind.OPAQUE),
    ],
)
def test_whose_business_a_text_is(text: str, kind: Kind) -> None:
    assert classify(text, "default", BASE) == Mention(kind, text)


def test_the_address_of_an_object_of_the_registry_is_its_id() -> None:
    uri = f"{BASE}default/{REFERENCE.reference_id}"

    assert classify(uri, "default", BASE) == Mention(Kind.REGISTRY, REFERENCE.reference_id)
    assert classify(uri, "other", BASE).kind is Kind.OPAQUE
    assert classify(uri, "default", None).kind is Kind.OPAQUE


@pytest.mark.parametrize("payload", [None, 7, "external_payload", [runtime_payload()], {}, {"a": "external_storage"}])
def test_a_payload_of_any_other_form_refers_to_nothing(payload: object) -> None:
    assert found(payload) == ()


def test_a_payload_refers_to_what_its_document_says() -> None:
    registry = Mention(Kind.REGISTRY, REFERENCE.reference_id, DIGEST)

    assert found(runtime_payload()) == (registry,)
    assert found(None, REFERENCE.document) == (registry,)
    assert found(direct_payload()) == (Mention(Kind.DRIVER, URI, DIGEST),)
    assert found(direct_payload(), base=None) == (Mention(Kind.OPAQUE, URI, DIGEST),)


@pytest.mark.parametrize(
    "document", [{}, {"schema": "another"}, {"reference_id": REFERENCE.reference_id}, {"schema": []}]
)
def test_an_object_without_the_schema_of_a_reference_is_opaque(document: dict[str, object]) -> None:
    assert found(None, document) == ()


def test_an_object_with_the_schema_of_a_reference_is_one_or_refused() -> None:
    with pytest.raises(PayloadUnsupportedError):
        found(None, without(REFERENCE.document, "codec"))


def test_two_references_to_one_payload_are_one() -> None:
    assert found(direct_payload(), URI) == (Mention(Kind.DRIVER, URI, DIGEST),)
    assert found(runtime_payload(), REFERENCE.reference_id) == found(runtime_payload())
    assert len(found(runtime_payload(), URI)) == 2


def test_two_references_that_disagree_about_one_payload_are_refused() -> None:
    other = RuntimeReference(REFERENCE.reference_id, Digest.of(b"other"))

    with pytest.raises(PayloadUnsupportedError):
        found(runtime_payload(), other.document)


def test_a_key_that_is_written_with_escapes_is_seen() -> None:
    payload = json.dumps(runtime_payload()).replace("external_payload", "extern\\u0061l_payload", 1)
    # Only the key: the schema has the word too, spelled otherwise.
    assert "external_payload" not in payload

    assert mentions(payload.encode(), None, "default", BASE) == found(runtime_payload())


@pytest.mark.parametrize(
    "payload",
    [
        {"external_payload": REFERENCE.document},
        {"codec": "json", "external_payload": REFERENCE.document},
        {"codec": "avro", "external_payload": REFERENCE.document, "more": 1},
        {"codec": "avro", "external_payload": REFERENCE.document, "external_storage": DIRECT.document},
        {"codec": "avro", "external_payload": None},
        {"codec": "avro", "external_payload": REFERENCE.reference_id},
        {"codec": "avro", "external_storage": URI},
        {"codec": "avro", "external_storage": DIRECT.document, "blob": "wwHioz3/VYAiNwA="},
    ],
)
def test_a_payload_with_the_key_of_a_form_has_that_form_or_is_refused(payload: object) -> None:
    with pytest.raises(PayloadUnsupportedError):
        found(payload)
