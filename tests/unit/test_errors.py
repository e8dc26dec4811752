"""The tree of errors: what a caller may catch, and what each one carries."""

import pickle

import pytest

from tailrace import errors
from tailrace.errors import (
    CursorUnavailableError,
    DurableStreamError,
    DurableStreamUnavailableError,
    InvalidArgumentError,
    InvalidTokenError,
    InvalidTopicNameError,
    InvalidTypeError,
    KeyRingError,
    PayloadTooLargeError,
    StoreUnusableError,
    TopicSealedError,
)

TREE = {
    CursorUnavailableError: {DurableStreamError},
    DurableStreamUnavailableError: {DurableStreamError},
    TopicSealedError: {DurableStreamUnavailableError, DurableStreamError},
    StoreUnusableError: {DurableStreamUnavailableError, DurableStreamError},
    InvalidTokenError: {DurableStreamError},
    KeyRingError: {DurableStreamError},
    InvalidArgumentError: {DurableStreamError, ValueError},
    InvalidTypeError: {InvalidArgumentError, DurableStreamError, ValueError, TypeError},
    InvalidTopicNameError: {InvalidArgumentError, DurableStreamError, ValueError},
    PayloadTooLargeError: {InvalidArgumentError, DurableStreamError, ValueError},
}

ONE_OF_EACH = [
    CursorUnavailableError("gone"),
    DurableStreamUnavailableError("away", maybe_stored=True),
    DurableStreamUnavailableError("away"),
    TopicSealedError("sealed"),
    StoreUnusableError("not a database"),
    InvalidTokenError("no"),
    KeyRingError("no"),
    InvalidArgumentError("no"),
    InvalidTypeError("no"),
    InvalidTopicNameError("no"),
    PayloadTooLargeError(17, 16, named="max_payload"),
]


@pytest.mark.parametrize(("error", "bases"), TREE.items())
def test_an_error_can_be_caught_as_each_of_its_bases(error: type[Exception], bases: set[type]) -> None:
    assert set(error.__mro__) - {error, Exception, BaseException, object} == bases


def test_the_tree_is_complete() -> None:
    defined = {value for value in vars(errors).values() if isinstance(value, type)}

    assert defined == {*TREE, DurableStreamError}


@pytest.mark.parametrize("error", ONE_OF_EACH, ids=lambda error: type(error).__name__)
def test_an_error_survives_the_way_to_another_process(error: DurableStreamError) -> None:
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert str(copy) == str(error)
    for name in ("maybe_stored", "size", "limit"):
        assert getattr(copy, name, None) == getattr(error, name, None)


def test_an_unavailable_error_is_safe_to_retry_unless_it_says_otherwise() -> None:
    assert DurableStreamUnavailableError("away").maybe_stored is False
    assert TopicSealedError("sealed").maybe_stored is False


def test_a_payload_that_is_too_large_is_told_with_both_numbers_and_the_limits_name() -> None:
    error = PayloadTooLargeError(17, 16, named="max_payload")

    assert (error.size, error.limit) == (17, 16)
    assert all(word in str(error) for word in ("17", "16", "max_payload"))
