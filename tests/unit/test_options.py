"""Options say at once what is wrong with them, in one sentence that names the option."""

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.errors import InvalidArgumentError, InvalidTypeError
from tailrace.options import EngineOptions, StoreOptions
from tailrace.retention import Retention

COUNTS = [f.name for f in dataclasses.fields(EngineOptions) if f.name.startswith(("buffer", "page", "batch", "max"))]
SECONDS = [
    (EngineOptions, "append_timeout"),
    (EngineOptions, "outage_budget"),
    (EngineOptions, "poll_unsure"),
    (EngineOptions, "poll_healthy"),
    (StoreOptions, "append_timeout"),
    (StoreOptions, "tombstone_for"),
    (StoreOptions, "forget_after"),
]
BOUNDS = ["max_age", "max_records", "max_bytes"]


def make(kind: Any, name: str, value: object) -> Any:
    """Build options with one value, whatever its type."""
    return kind(**{name: value})


@pytest.mark.parametrize("kind", [EngineOptions, StoreOptions, Retention])
def test_the_defaults_are_valid_and_frozen(kind: Any) -> None:
    options = kind()
    field = dataclasses.fields(options)[0].name

    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(options, field, 1)


@pytest.mark.parametrize(("kind", "name"), SECONDS)
@pytest.mark.parametrize("value", [-1, -0.001, math.nan, math.inf, -math.inf, 1e300])
def test_seconds_out_of_range_are_refused_by_name(kind: Any, name: str, value: float) -> None:
    with pytest.raises(InvalidArgumentError, match=name):
        make(kind, name, value)


@pytest.mark.parametrize(("kind", "name"), SECONDS)
@pytest.mark.parametrize("value", ["10", b"1", True, [], 1j])
def test_seconds_of_a_wrong_type_are_refused_by_name(kind: Any, name: str, value: object) -> None:
    with pytest.raises(InvalidTypeError, match=name):
        make(kind, name, value)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [0, -1, 2**40])
def test_counts_out_of_range_are_refused_by_name(name: str, value: int) -> None:
    with pytest.raises(InvalidArgumentError, match=name):
        make(EngineOptions, name, value)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [1.0, "1", None, True])
def test_counts_of_a_wrong_type_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidTypeError, match=name):
        make(EngineOptions, name, value)


def test_an_outage_budget_of_zero_is_allowed() -> None:
    assert EngineOptions(outage_budget=0).outage_budget == 0


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("value", [-1, math.nan, math.inf])
def test_retention_out_of_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(InvalidArgumentError, match=name):
        make(Retention, name, value)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("value", ["7", True, b""])
def test_retention_of_a_wrong_type_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidTypeError, match=name):
        make(Retention, name, value)


@given(
    max_age=st.none() | st.floats(0, 1e9),
    max_records=st.none() | st.integers(0, 2**40),
    max_bytes=st.none() | st.integers(0, 2**40),
)
def test_retention_is_unbounded_only_without_any_bound(
    max_age: float | None, max_records: int | None, max_bytes: int | None
) -> None:
    retention = Retention(max_age=max_age, max_records=max_records, max_bytes=max_bytes)

    assert retention.unbounded == (max_age is None and max_records is None and max_bytes is None)
