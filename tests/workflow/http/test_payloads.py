"""Payloads outside of the database: sent and fetched as bytes, within their own bound, and refused by the table."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.workflow.http.api import VERSION, a_run, a_stream, said
from tests.workflow.http.storing import Storing, announcing, external, storing

from tailrace.workflow.payloads import Digest
from tailrace.workflow.payloads.holding import Holds
from tailrace.workflow.payloads.transport import HEADERS, PATH, UPLOAD_SCHEMA

LIMIT = 3 * 2**20
CODEC, SIZE, SHA256 = HEADERS


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storing]:
    folder: Path = tmp_path_factory.mktemp("payloads")
    with storing(folder, max_payload_bytes=LIMIT) as storage:
        yield storage


def uploaded(at: Storing, content: bytes, **headers: str) -> dict[str, Any]:
    answer = at.upload(content, {name.replace("_", "-"): value for name, value in headers.items()})
    assert answer.status_code == 201
    reference: dict[str, Any] = answer.json()["reference"]
    return reference


def test_an_upload_is_answered_with_its_reference(at: Storing) -> None:
    answer = at.upload(b"wwHioz3/VYAiNwQO")

    assert answer.status_code == 201
    assert answer.headers[VERSION] == "2"
    digest = Digest.of(b"wwHioz3/VYAiNwQO")
    assert answer.json() == {
        "schema": UPLOAD_SCHEMA,
        "transport_version": 1,
        "reference": {
            "schema": "durable-workflow.v2.runtime-external-payload-reference.v1",
            "reference_id": answer.json()["reference"]["reference_id"],
            "codec": "avro",
            "size_bytes": digest.size_bytes,
            "sha256": digest.sha256,
        },
    }
    again = at.upload(b"wwHioz3/VYAiNwQO")
    assert (again.status_code, again.json()) == (201, answer.json())


def test_a_fetch_is_answered_with_the_bytes_and_what_they_are(at: Storing) -> None:
    reference = uploaded(at, b"fetched")

    answer = at.fetch(reference)

    assert (answer.status_code, answer.content) == (200, b"fetched")
    told = {name: answer.headers[name] for name in ("content-type", "content-length", *HEADERS, VERSION)}
    assert told == {**announcing(b"fetched"), "content-length": "7", VERSION: "2"}
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("content", [b"", b"\x00\r\n\xff", b"x" * LIMIT], ids=["empty", "binary", "as large as can be"])
def test_up_to_the_limit_any_bytes_come_back_as_they_were(at: Storing, content: bytes) -> None:
    assert at.fetch(uploaded(at, content)).content == content


@pytest.mark.parametrize("chunked", [False, True])
def test_one_byte_above_the_limit_is_refused_and_not_stored(at: Storing, chunked: bool) -> None:
    content = b"y" * (LIMIT + 1)
    before = at.objects
    body: Any = iter([content[:LIMIT], content[LIMIT:]]) if chunked else content

    answer = at.api.ask("POST", PATH, announcing(content), content=body)

    assert said(answer) == (413, "external_payload_oversized")
    assert (answer.json()["limit"], answer.json()["retryable"]) == (LIMIT, False)
    assert at.objects == before
    # Whoever is told so has been let come to the end, on a connection that is still good.
    assert at.api.get("/api/cluster/info").status_code == 200


def test_other_requests_keep_their_own_bound(at: Storing) -> None:
    answer = at.append(a_stream(), "z" * (2 * 2**20))

    assert said(answer) == (413, "payload_too_large")
    assert answer.json()["limit"] == 2 * 2**20


@pytest.mark.parametrize(
    ("headers", "status", "reason"),
    [
        ({CODEC: None}, 422, "external_payload_unsupported"),
        ({CODEC: "json"}, 422, "external_payload_unsupported"),
        ({SIZE: None}, 422, "external_payload_unsupported"),
        ({SIZE: "+6"}, 422, "external_payload_unsupported"),
        ({SHA256: None}, 422, "external_payload_unsupported"),
        ({SHA256: Digest.of(b"wrong!").sha256.upper()}, 422, "external_payload_unsupported"),
        ({"content-type": "application/json"}, 415, "external_payload_unsupported"),
        ({"content-type": None}, 415, "external_payload_unsupported"),
        ({SIZE: "5"}, 422, "external_payload_integrity_mismatch"),
        ({SIZE: "7"}, 422, "external_payload_integrity_mismatch"),
        ({SHA256: Digest.of(b"other!").sha256}, 422, "external_payload_integrity_mismatch"),
        ({SIZE: str(LIMIT + 1)}, 413, "external_payload_oversized"),
    ],
)
def test_an_upload_that_is_not_what_it_says_is_not_stored(
    at: Storing, headers: dict[str, str | None], status: int, reason: str
) -> None:
    before = at.objects, at.states

    answer = at.upload(b"wrong!", headers)

    assert said(answer) == (status, reason)
    assert answer.json()["retryable"] is False
    assert (at.objects, at.states) == before


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({SIZE: None}, "external_payload_unsupported"),
        ({CODEC: "json"}, "external_payload_unsupported"),
        ({SIZE: "6"}, "external_payload_integrity_mismatch"),
        ({SHA256: "0" * 64}, "external_payload_integrity_mismatch"),
    ],
)
def test_a_fetch_has_to_expect_the_payload_that_it_gets(
    at: Storing, headers: dict[str, str | None], reason: str
) -> None:
    reference = uploaded(at, b"expected")

    assert said(at.fetch(reference, headers)) == (422, reason)


@pytest.mark.parametrize("identity", ["ep_" + "0" * 26, "ep_", "x", "ep%5F%FF", "..%2F..%2Fruns.db"])
def test_what_is_no_payload_is_not_found(at: Storing, identity: str) -> None:
    answer = at.api.ask("GET", f"{PATH}/{identity}", announcing(b""))

    assert said(answer) == (404, "external_payload_not_found")


def test_an_id_may_be_percent_encoded(at: Storing) -> None:
    reference = uploaded(at, b"encoded")

    assert at.fetch({**reference, "reference_id": reference["reference_id"].replace("_", "%5F")}).content == b"encoded"


def test_another_namespace_has_not_got_it(at: Storing) -> None:
    reference = uploaded(at, b"of the other one", x_namespace="other")

    assert said(at.fetch(reference)) == (404, "external_payload_not_found")
    assert at.fetch(reference, {"x-namespace": "Other"}).content == b"of the other one"


def dangling(at: Storing) -> dict[str, Any]:
    digest = Digest.of(b"never sent")
    return {**uploaded(at, b"some"), "reference_id": "ep_" + "0" * 26, "size_bytes": 10, "sha256": digest.sha256}


def of_another_namespace(at: Storing) -> dict[str, Any]:
    return uploaded(at, b"elsewhere", x_namespace="other")


def expired(at: Storing) -> dict[str, Any]:
    reference = uploaded(at, b"late")
    at.expire()
    return reference


def altered(at: Storing) -> dict[str, Any]:
    reference = uploaded(at, b"before")
    at.path_of(reference["reference_id"]).write_bytes(b"after!")
    return reference


def lost(at: Storing) -> dict[str, Any]:
    reference = uploaded(at, b"lost")
    at.path_of(reference["reference_id"]).unlink()
    return reference


def mistaken(at: Storing) -> dict[str, Any]:
    return {**uploaded(at, b"mistaken"), "size_bytes": 7}


def malformed(at: Storing) -> dict[str, Any]:
    return {**uploaded(at, b"malformed"), "more": 1}


WRONG = {
    dangling: (404, "external_payload_not_found"),
    of_another_namespace: (404, "external_payload_not_found"),
    lost: (404, "external_payload_not_found"),
    expired: (410, "external_payload_expired"),
    altered: (422, "external_payload_integrity_mismatch"),
    mistaken: (422, "external_payload_integrity_mismatch"),
    malformed: (422, "external_payload_unsupported"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_an_item_that_refers_to_what_nobody_could_read_is_refused_with_its_whole_batch(at: Storing, wrong: Any) -> None:
    reference = wrong(at)
    before = at.rows()

    answer = at.append(a_stream(), 1, external(reference))

    assert said(answer) == WRONG[wrong]
    assert answer.json()["item"] == 1
    assert at.rows() == before


@pytest.mark.parametrize("wrong", [dangling, of_another_namespace, lost, expired])
def test_so_is_one_that_says_only_its_id(at: Storing, wrong: Any) -> None:
    reference = wrong(at)
    before = at.rows()

    answer = at.append(a_stream(), None, payload_reference=reference["reference_id"])

    assert said(answer) == WRONG[wrong]
    assert at.rows() == before


@pytest.mark.parametrize("wrong", [lost, altered, expired])
def test_a_fetch_of_it_is_refused_in_the_same_words(at: Storing, wrong: Any) -> None:
    answer = at.fetch(wrong(at))

    assert said(answer) == WRONG[wrong]
    assert answer.json()["reference_id"].startswith("ep_")


def test_while_the_storage_is_away_it_is_said_and_nothing_is_stored(at: Storing) -> None:
    reference = uploaded(at, b"kept")
    before = at.rows(), at.states

    with at.storage_away():
        answers = [at.upload(b"new"), at.fetch(reference), at.append(a_stream(), external(reference))]
        # Streams of their own payloads go on.
        assert at.append(stream := a_stream(), 1).status_code == 200

    for answer in answers:
        assert said(answer) == (503, "external_payload_unavailable")
        assert (answer.json()["retryable"], answer.headers["retry-after"]) == (True, "1")
    assert at.api.ask("DELETE", stream.removesuffix("/streams/tokens")).status_code == 204
    assert at.rows() == before[0]
    assert at.upload(b"new").status_code == 201
    assert at.append(a_stream(), external(reference)).status_code == 200


def test_a_run_goes_only_with_its_payloads(at: Storing) -> None:
    run = a_run()
    reference = uploaded(at, b"of the run")
    assert at.append(f"{run}/streams/s", external(reference)).status_code == 200
    # What was uploaded just now stays for others to refer to it.
    at.expire()
    holds = Holds(at.database, 10.0)
    holds.place("default", "backup", lasting=3600)

    held = at.api.ask("DELETE", run)
    holds.lift("default", "backup")
    with at.storage_away():
        away = at.api.ask("DELETE", run)

    assert said(held) == (409, "external_payload_held")
    assert said(away) == (503, "external_payload_unavailable")
    assert at.api.get(f"{run}/streams/s/items").json()["items"][0]["payload"] == external(reference)
    assert at.api.ask("DELETE", run).status_code == 204
    assert said(at.fetch(reference)) == (404, "external_payload_not_found")


@pytest.mark.parametrize("bound", [{"max_objects": 1}, {"max_bytes": 9}])
def test_more_than_a_namespace_may_have_is_refused(tmp_path: Path, bound: dict[str, int]) -> None:
    with storing(tmp_path, **bound) as at:
        assert at.upload(b"first").status_code == 201

        answer = at.upload(b"other")

        assert said(answer) == (429, "external_payload_exhausted")
        assert answer.json()["retryable"] is True
        assert len(at.objects) == 1
        assert at.upload(b"first").status_code == 201
