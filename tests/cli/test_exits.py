"""The exit codes: one table, complete, documented, and what each typed error comes to."""

from pathlib import Path

import pytest

from tailrace import errors
from tailrace.cli.exits import MEANINGS, Code, code_of
from tailrace.workflow.errors import RunNotFoundError, StreamFullError, WorkflowStreamError
from tailrace.workflow.payloads import PayloadUnavailableError

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def test_every_code_has_a_meaning() -> None:
    assert list(MEANINGS) == list(Code)


def test_the_reference_page_has_the_table() -> None:
    page = REFERENCE.read_text()
    for code, meaning in MEANINGS.items():
        assert f"| {code} | {meaning} |" in page


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.CursorUnavailableError("x"), Code.CURSOR_UNAVAILABLE),
        (errors.TopicSealedError("x"), Code.TOPIC_SEALED),
        (errors.StoreUnusableError("x"), Code.STORE_UNUSABLE),
        (errors.DurableStreamUnavailableError("x"), Code.STORE_UNAVAILABLE),
        (errors.DurableStreamUnavailableError("x", maybe_stored=True), Code.UNCERTAIN),
        (errors.InvalidTopicNameError("x"), Code.USAGE),
        (errors.KeyRingError("x"), Code.KEYS_UNUSABLE),
        (errors.PayloadTooLargeError(2, 1, named="x"), Code.USAGE),
        (RunNotFoundError("x"), Code.NO_SUCH_TOPIC),
        (StreamFullError(2, 1), Code.STREAM_FULL),
        (PayloadUnavailableError("x"), Code.STORE_UNAVAILABLE),
        (WorkflowStreamError("x"), Code.USAGE),
    ],
)
def test_typed_errors_become_codes(error: errors.DurableStreamError, code: Code) -> None:
    assert code_of(error) == code
