"""``conformance.run``: the whole kit against a URL, touching nothing that was there before."""

from pathlib import Path

import pytest

from tailrace import InvalidArgumentError, Retention, StoreOptions, StoreUnusableError, connect
from tailrace.testing import conformance
from tailrace.testing.builtin import UrlUnderTest


@pytest.mark.long
def test_the_memory_store_conforms() -> None:
    report = conformance.run("memory://")
    assert report.ok, report.output
    assert {"Append", "Cursors", "Lineage", "Seal"} <= {row.section for row in report.rows}
    left_out = [case for case in report.cases if case.outcome != "passed"]
    # In memory nobody can lock a topic, and a worker that sends for its callers is interrupted by nobody.
    assert all(case.reason and (case.section == "Deferred" or case.name.endswith("[asyncio]")) for case in left_out)
    assert all(case.reason == "" for case in report.cases if case not in left_out)
    assert sum(row.passed for row in report.rows) > 300


def test_a_store_that_can_not_be_opened_is_an_error() -> None:
    with pytest.raises(StoreUnusableError):
        conformance.run("sqlite:////nowhere/at/all/events.db")


@pytest.mark.parametrize("limit", ["CASE_SECONDS", "RUN_SECONDS"])
def test_a_run_that_hangs_is_an_error(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(conformance, limit, 0.05)
    with pytest.raises(StoreUnusableError, match="did not run to its end"):
        conformance.run("memory://")


@pytest.mark.long
def test_a_store_with_data_conforms_and_keeps_its_data(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/events.db"
    with connect(url) as streams:
        streams.topic("kit-like").append(b"precious")
        before = streams.maintenance.topics()
        report = conformance.run(url)
        assert streams.maintenance.topics() == before
    assert report.ok, report.output
    assert {case.reason for case in report.cases if case.outcome == "not run"}


def test_a_url_under_test_removes_its_topics_and_no_others(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/events.db"
    with connect(url) as streams:
        streams.topic("precious").append(b"x")
        store = UrlUnderTest(url)
        streams.topic(store.fresh_name()).append(b"y")
        store.close()
        assert [info.name for info in streams.maintenance.topics()] == ["precious"]


def test_a_url_under_test_sets_no_retention_that_others_would_feel(tmp_path: Path) -> None:
    store = UrlUnderTest(f"sqlite:///{tmp_path}/events.db")
    with pytest.raises(pytest.skip.Exception, match="not run: a retention setting"):
        store.open(StoreOptions(retention=Retention(max_records=1)))


@pytest.mark.parametrize("url", ["nonsense", 7, "sqlite"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgumentError):
        conformance.run(url)
