"""A command in a home of its own, a store in it, and stores that can fail."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.commands import Command

import tailrace
from tailrace.cli import append, store, tail
from tailrace.spi import Backend


@pytest.fixture
def home(tmp_path: Path) -> Path:
    directory = tmp_path / "home"
    directory.mkdir()
    return directory


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    command = Command(home, monkeypatch)
    yield command
    command.end()


@pytest.fixture
def db(home: Path) -> str:
    return store.sqlite_url(home / "events.db")


@pytest.fixture
def streams(db: str) -> Iterator[tailrace.StreamClient]:
    with tailrace.connect(db) as client:
        yield client


@pytest.fixture
def on_store(monkeypatch: pytest.MonkeyPatch) -> Callable[[Backend], None]:
    """Let ``append`` and ``tail`` work on a given backend instead of a URL."""

    def use(backend: Backend) -> None:
        def opened(*_arguments: object, **_options: object) -> tailrace.StreamClient:
            return tailrace.StreamClient(backend, options=tailrace.EngineOptions(outage_budget=0))

        monkeypatch.setattr(append, "open_client", opened)
        monkeypatch.setattr(tail, "open_client", opened)

    return use
