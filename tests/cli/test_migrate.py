"""``migrate``: what is missing is done, told, or written out."""

import json
from pathlib import Path

import pytest
from tests.cli.commands import Command

from tailrace.backends.sqlite import schema
from tailrace.cli.exits import Code
from tailrace.spi import Migration

NEWEST = schema.newest()


@pytest.fixture
def fresh(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'fresh.db'}"


def test_missing_tables_are_told_written_out_and_made(run: Command, fresh: str, tmp_path: Path) -> None:
    told = run("migrate", "--check", "--store", fresh, code=Code.CHECK_FAILED)
    assert f"schema 0, and this release needs {NEWEST}".encode() in told.stdout
    assert b"CREATE TABLE topics" in run("migrate", "--sql", "--store", fresh).stdout
    assert not (tmp_path / "fresh.db").exists()
    assert run("migrate", "--store", fresh).stdout == f"schema 0 is now {NEWEST}\n".encode()
    assert run("migrate", "--check", "--store", fresh).stdout == f"schema {NEWEST}: up to date\n".encode()
    assert run("migrate", "--sql", "--store", fresh).stdout == b""
    assert json.loads(run("migrate", "--store", fresh, "--json").stdout) == {
        "before": NEWEST,
        "now": NEWEST,
        "newest": NEWEST,
    }


def test_an_older_schema_is_brought_up_with_what_is_in_it(
    run: Command, fresh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("append", "t", "--store", fresh, stdin=b"kept\n")
    more = (*schema.migrations(), Migration(NEWEST + 1, "CREATE TABLE second (x);"))
    monkeypatch.setattr(schema, "migrations", lambda: more)
    assert run("migrate", "--sql", "--store", fresh).stdout == (
        f"-- to schema {NEWEST + 1}\nCREATE TABLE second (x);\n\n".encode()
    )
    assert run("migrate", "--store", fresh).stdout == f"schema {NEWEST} is now {NEWEST + 1}\n".encode()
    assert run("tail", "t", "--max", "1", "--store", fresh).stdout == b"kept\n"


def test_a_store_without_tables_says_so(run: Command) -> None:
    assert b"nothing to migrate" in run("migrate", "--store", "memory://", code=Code.USAGE).stderr


def test_a_file_of_somebody_else_is_left_alone(run: Command, fresh: str, tmp_path: Path) -> None:
    (tmp_path / "fresh.db").write_bytes(b"not a database, but long enough to be looked at" * 30)
    run("migrate", "--store", fresh, code=Code.STORE_UNUSABLE)
    assert (tmp_path / "fresh.db").read_bytes().startswith(b"not a database")
