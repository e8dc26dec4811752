"""``tailrace runs holds``: placed, listed and lifted, in a database."""

import json
from pathlib import Path

import pytest
from tests.cli.commands import Command

from tailrace.cli.exits import Code
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.opening import checked_options, open_embedded


@pytest.fixture
def store(home: Path) -> str:
    url = f"sqlite:///{home}/runs.db"
    _open(url).close()
    return url


def _open(url: str) -> EmbeddedService:
    return open_embedded(url, checked_options(url, {}), "default")


def test_a_hold_stands_until_it_is_lifted(run: Command, store: str) -> None:
    placed = json.loads(run("runs", "holds", "place", "nightly", "--lasting", "6h", "--store", store, "--json").stdout)

    service = _open(store)
    (hold,) = service.holds.on("default")
    service.close()
    assert (hold.name, hold.ends_at - hold.placed_at) == ("nightly", 6 * 3600 * 1_000_000)
    listed = run("runs", "holds", "list", "--store", store, "--json").stdout
    assert [json.loads(line) for line in listed.splitlines()] == [placed]
    assert run("runs", "holds", "list", "--store", store).stdout == f"nightly until {placed['ends_at']}\n".encode()
    assert b"no hold" in run("runs", "holds", "list", "--store", store, "--namespace", "other").stderr
    assert run("runs", "holds", "lift", "nightly", "--store", store).stdout == b"lifted\n"
    assert run("runs", "holds", "list", "--store", store).stdout == b""


def test_what_can_not_be_held_is_said(run: Command, store: str, home: Path) -> None:
    place = ("runs", "holds", "place", "n")
    assert b"--lasting" in run(*place, "--store", store, code=Code.USAGE).stderr
    run("runs", "holds", "place", "", "--lasting", "1h", "--store", store, code=Code.USAGE)
    assert b"HTTP" in run(*place, "--lasting", "1h", "--store", "http://127.0.0.1:1", code=Code.USAGE).stderr
    run(*place, "--lasting", "1h", "--store", f"sqlite:///{home}/none.db", code=Code.STORE_UNUSABLE)
