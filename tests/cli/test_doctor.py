"""``doctor``: what it finds on a healthy store, on a careless one, and on one that is not there."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.cli.commands import Command

import tailrace
from tailrace.backends.memory import MemoryStore
from tailrace.backends.sqlite.examination import examine
from tailrace.backends.sqlite.location import Location
from tailrace.cli import doctor as command
from tailrace.cli.exits import Code
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import AppendOutcome, AppendRefused, Entry, Findings


def test_a_healthy_store_is_examined_and_left_as_it_was(run: Command, db: str, home: Path) -> None:
    run("append", "t", "x", "--store", db)
    report = json.loads(run("doctor", "--store", db, "--json").stdout)
    assert report["healthy"] is True
    assert report["problems"] == []
    assert report["capabilities"]["durable"] is True
    assert set(report["versions"]) == {"tailrace", "python", "sqlite", "system"}
    assert report["limits"]["max_payload"] > 0
    assert report["sizes"][str(home / "events.db")] > 0
    assert set(report["round_trip"]) == {"append", "wake_up", "delete"}
    assert [json.loads(line)["topic"] for line in run("topics", "--store", db, "--json").stdout.splitlines()] == ["t"]
    words = run.process("doctor", "--store", db).stdout.decode()
    assert words.startswith(f"store            {db}\n")
    assert words.endswith("all is well\n")


def test_a_store_that_is_not_there_is_a_problem(run: Command, db: str, home: Path) -> None:
    result = run("doctor", "--store", db, "--json", code=Code.CHECK_FAILED)
    report = json.loads(result.stdout)
    assert report["healthy"] is False
    assert len(report["problems"]) == 1
    assert b"something is wrong" in run("doctor", "--store", db, code=Code.CHECK_FAILED).stdout
    assert list(home.glob("events.db*")) == []


def test_a_bad_url_is_a_usage_error(run: Command) -> None:
    run("doctor", "--store", "foo://x", code=Code.USAGE)


def test_less_than_full_syncing_is_warned_of(run: Command, db: str) -> None:
    run("append", "t", "x", "--store", db)
    report = json.loads(run("doctor", "--store", f"{db}?synchronous=normal", "--json").stdout)
    assert any("synchronous is normal" in warning for warning in report["warnings"])


@pytest.mark.parametrize(("kind", "word"), [("nfs4", "network"), ("tmpfs", "restart"), ("ext4", None)])
def test_where_the_file_lies_is_warned_of(monkeypatch: pytest.MonkeyPatch, kind: str, word: str | None) -> None:
    monkeypatch.setattr("tailrace.backends.sqlite.examination.filesystem_of", lambda path: kind)
    found = examine(Location("/somewhere/events.db")).warnings
    assert len(found) == (word is not None)
    assert word is None or word in found[0]


class Secretive(MemoryStore):
    """Tells something, and not everything."""

    def examine(self) -> Findings:
        return Findings(
            facts={"colour": "green"},
            sizes={"attic": 2048},
            warnings=("it is dusty: clean it",),
            unread=("the cellar",),
        )


def test_a_store_may_tell_how_it_is_set_up(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Secretive()
    monkeypatch.setattr(command, "open_client", lambda *_, **__: tailrace.StreamClient(backend))
    lines = run("doctor", "--store", "memory://").stdout.decode().splitlines()
    assert "setting          colour = green" in lines
    assert "size             2.0 KiB  attic" in lines
    assert "warning: it is dusty: clean it" in lines
    assert "not examined: the cellar" in lines
    assert lines[-1] == "all is well"


def test_a_store_that_tells_nothing_is_no_worse(run: Command) -> None:
    report = json.loads(run("doctor", "--store", "memory://", "--json").stdout)
    assert (report["facts"], report["sizes"], report["unread"]) == ({}, {}, [])
    assert report["warnings"] == ["records live only as long as this process"]


class Refusing(MemoryStore):
    """Takes nothing."""

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        return [AppendRefused(DurableStreamUnavailableError("disk on fire")) for _ in entries]


class Garbling(MemoryStore):
    """Stores something else."""

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        return super().append([Entry(entry.topic, [b"?"] * len(entry.payloads)) for entry in entries], timeout)


@pytest.mark.parametrize(("make", "problem"), [(Refusing, "disk on fire"), (Garbling, "the record came back changed")])
def test_a_round_trip_that_fails_is_a_problem(
    run: Command, monkeypatch: pytest.MonkeyPatch, make: Callable[[], MemoryStore], problem: str
) -> None:
    backend = make()
    monkeypatch.setattr(command, "open_client", lambda *_, **__: tailrace.StreamClient(backend))
    result = run("doctor", "--store", "memory://", "--json", code=Code.CHECK_FAILED)
    assert json.loads(result.stdout)["problems"] == [problem]
    assert list(MemoryStore(beside=backend).topics()) == []
