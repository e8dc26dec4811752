"""Opening: what is refused, with what words, and what must work for whoever has which rights."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.sqlite.processes import go, lines, start
from tests.integration.sqlite.steps import OpenStore, beginning, look, other_program, payloads, put, try_put

from tailrace.backends.sqlite import SqliteStore, schema
from tailrace.backends.sqlite import open_store as open_url
from tailrace.backends.sqlite.errors import Mapped
from tailrace.backends.sqlite.location import locate
from tailrace.errors import InvalidArgumentError, StoreUnusableError
from tailrace.options import StoreOptions, parse_url
from tailrace.spi import Appended, AppendRefused, Entry, Page, PositionLost, ReadFailed, ReadRequest, Seal

RunAsNobody = Callable[[str], str]
NEWEST = schema.newest()


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that other users can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def run_without_rights(code: str) -> str:
    """Run code, with the imports of this file's subject, as a user to whom permission bits apply."""
    prelude = """
        import os, sys
        from pathlib import Path
        from tailrace.backends.sqlite import SqliteStore, schema
        from tailrace.backends.sqlite.location import Location
        from tailrace.errors import *
        from tailrace.options import StoreOptions
        from tailrace.spi import *
        schema.migrations()
        if os.geteuid() == 0:
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
    """
    program = textwrap.dedent(prelude) + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def open_text(url: str, **options: bool) -> SqliteStore:
    """Open by URL."""
    store = open_url(parse_url(url), StoreOptions(**options))
    assert isinstance(store, SqliteStore)
    return store


def test_three_slashes_are_relative_and_four_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate(parse_url("sqlite:///a%20b.db")).path == str(tmp_path / "a b.db")
    assert locate(parse_url("sqlite:////srv/x.db?synchronous=normal")).path == "/srv/x.db"
    store = open_text("sqlite:///odd%3F%23%25 name.db")
    put(store, "t", b"x")
    store.close()
    assert (tmp_path / "odd?#% name.db").exists()


def test_two_names_of_one_file_share_a_gate(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    assert locate(parse_url(f"sqlite:///{tmp_path}/link.db")) == locate(parse_url(f"sqlite:///{tmp_path}/real.db"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite://", "memory://"),
        ("sqlite:///", "memory://"),
        ("sqlite:///:memory:", "memory://"),
        ("sqlite://host/x.db", "sqlite:///host/x.db"),
        ("sqlite:///x.db?mode=ro", "no setting called mode"),
        ("sqlite:///x.db?synchronous=off", "full or normal"),
    ],
)
def test_urls_that_mean_nothing_are_refused_with_a_hint(url: str, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        locate(parse_url(url))


@pytest.mark.parametrize("name", ["a\udcff.db", "a%00.db", "loop"])
def test_a_path_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    with pytest.raises((InvalidArgumentError, StoreUnusableError)):
        open_text(f"sqlite:///{tmp_path}/{name}")


@pytest.mark.parametrize(("setting", "level"), [("", 2), ("?synchronous=full", 2), ("?synchronous=normal", 1)])
def test_synchronous_is_full_unless_said_otherwise(path: Path, setting: str, level: int) -> None:
    store = open_text(f"sqlite:///{path}{setting}")
    found = store._session().write(lambda writer: (writer.execute("PRAGMA synchronous").fetchone()[0], ()), 1.0)
    assert found == level
    assert ("power cut may" in store.capabilities.durability) == (level == 1)
    store.close()


def test_a_missing_file_is_not_created_when_that_is_not_allowed(path: Path) -> None:
    with pytest.raises(StoreUnusableError, match="does not exist"):
        open_text(f"sqlite:///{path}", create=False)
    assert not list(path.parent.iterdir())


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusableError, match="directory does not exist"):
        open_text(f"sqlite:///{tmp_path}/missing/x.db")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusableError, match="is a directory"):
        open_text(f"sqlite:///{tmp_path}")


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 1000)
    with pytest.raises(StoreUnusableError, match="not a SQLite database"):
        open_text(f"sqlite:///{path}")
    assert path.read_bytes() == b"Dear diary, " * 1000


def test_a_database_of_another_application_is_refused_and_left_alone(path: Path) -> None:
    with other_program(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(StoreUnusableError, match="another application"):
        open_text(f"sqlite:///{path}")
    assert path.read_bytes() == before


def test_a_file_of_a_newer_release_is_refused(open_store: OpenStore, path: Path) -> None:
    open_store().close()
    with other_program(path) as connection:
        connection.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreUnusableError, match=rf"newer release \(schema 999, this one knows {NEWEST}\): upgrade"):
        open_store()


def test_migrations_that_are_missing_are_applied_and_records_kept(
    open_store: OpenStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    place = store.bounds("t")
    put(store, "t", b"x")
    store.close()
    steps = (NEWEST + 1, "CREATE TABLE second (x);"), (NEWEST + 2, "INSERT INTO second VALUES (7);")
    more = (*schema.migrations(), *steps)
    monkeypatch.setattr(schema, "migrations", lambda: more)
    store = open_store()
    assert payloads(store, "t", place) == [b"x"]
    with other_program(path) as connection:
        assert connection.execute("SELECT x FROM second").fetchall() == [(7,)]
        assert connection.execute("PRAGMA user_version").fetchone() == (NEWEST + 2,)


@pytest.mark.parametrize("old", range(1, NEWEST))
def test_a_file_of_every_earlier_release_is_brought_up_with_what_is_in_it(
    open_store: OpenStore, path: Path, monkeypatch: pytest.MonkeyPatch, old: int
) -> None:
    with monkeypatch.context() as earlier:
        until = schema.migrations()[:old]
        earlier.setattr(schema, "migrations", lambda: until)
        store = open_store()
        place = store.bounds("t")
        put(store, "t", b"x")
        store.seal("ended", "why")
        store.close()
    with other_program(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (old,)
    store = open_store()
    assert payloads(store, "t", place) == [b"x"]
    assert store.bounds("ended").seal == Seal("why")
    with other_program(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (NEWEST,)


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    open_store: OpenStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store().close()
    more = (*schema.migrations(), (NEWEST + 1, "CREATE TABLE second (x); INSERT INTO nowhere VALUES (1);"))
    monkeypatch.setattr(schema, "migrations", lambda: more)
    with pytest.raises(StoreUnusableError):
        open_store()
    with other_program(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (NEWEST,)
        assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'second'").fetchone() == (0,)


def test_processes_that_open_a_new_file_at_once_all_succeed(path: Path) -> None:
    openers = [start("open_new", path) for _ in range(4)]
    go(*openers)
    assert [lines(opener) for opener in openers] == [["opened"]] * 4


def test_damage_is_told_at_open_or_at_read_and_never_as_the_drivers_error(open_store: OpenStore, path: Path) -> None:
    store = open_store()
    start_of = store.bounds("t")
    put(store, "t", *[os.urandom(1000) for _ in range(200)])
    store.close()
    whole = path.read_bytes()
    told = 0
    for page in range(0, len(whole) // 4096, 3):
        path.write_bytes(whole[: page * 4096] + b"\xa5" * 4096 + whole[(page + 1) * 4096 :])
        for side in ("-wal", "-shm"):
            Path(f"{path}{side}").unlink(missing_ok=True)
        damaged = None
        try:
            damaged = open_store()
            look(damaged, "t", start_of)
            (outcome,) = damaged.append([Entry("t", [b"x"])], 1.0)
            told += isinstance(outcome, AppendRefused) and isinstance(outcome.error, StoreUnusableError)
        except StoreUnusableError:
            told += 1
        finally:
            if damaged is not None:
                damaged.close()
    assert told > 10


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM records WHERE position = 5 AND topic_id = 1",
        "DELETE FROM records WHERE position > 5 AND topic_id = 1",
        "UPDATE records SET position = 50 WHERE position = 5 AND topic_id = 1",
        "UPDATE records SET payload = 'text' WHERE position = 5 AND topic_id = 1",
        "UPDATE records SET tag = -1 WHERE position = 5 AND topic_id = 1",
        "UPDATE records SET tag = 'x' WHERE position = 5 AND topic_id = 1",
        "UPDATE topics SET last_position = 40 WHERE id = 1",
        "UPDATE topics SET last_position = 'x' WHERE id = 1",
        "UPDATE topics SET incarnation = -1 WHERE id = 1",
        "UPDATE topics SET horizon_tag = 5000000000 WHERE id = 1",
    ],
)
@pytest.mark.parametrize("max_bytes", [2**30, 4])
def test_rows_that_do_not_fit_together_are_damage_and_no_hole_to_pass_over(
    store: SqliteStore, path: Path, damage: str, max_bytes: int
) -> None:
    for number in range(8):
        put(store, "t", b"%d" % number)
    put(store, "neighbour", b"here")
    start_of, neighbour = beginning(store, "t"), beginning(store, "neighbour")
    with other_program(path) as program:
        program.execute(damage)

    place, read = start_of, list[bytes]()
    while True:
        outcome, beside = store.read(
            [ReadRequest("t", place, 100, max_bytes), ReadRequest("neighbour", neighbour, 100, max_bytes)]
        )
        assert isinstance(beside, Page)
        if not isinstance(outcome, Page):
            break
        assert outcome.records, "a page of nothing with more to come is asked for for ever"
        place, read = outcome.end, [*read, *(payload for _, _, payload in outcome.records)]

    assert isinstance(outcome, ReadFailed | PositionLost)
    assert isinstance(outcome, PositionLost) or isinstance(outcome.error, StoreUnusableError)
    assert read == [b"%d" % number for number in range(len(read))]


def test_after_the_log_was_removed_nothing_is_acknowledged_that_others_do_not_see(
    open_store: OpenStore, path: Path
) -> None:
    store = open_store()
    put(store, "t", b"1")
    for side in ("-wal", "-shm"):
        Path(f"{path}{side}").unlink()

    assert isinstance(try_put(store, "t", b"2"), Appended | AppendRefused)
    put(store, "t", b"3")

    other = open_store()
    assert payloads(other, "t", beginning(other, "t"))[-1] == b"3"
    assert payloads(store, "t", beginning(store, "t")) == payloads(other, "t", beginning(other, "t"))


def test_damage_that_the_driver_can_not_even_name_is_told() -> None:
    with pytest.raises(StoreUnusableError, match="is damaged"), Mapped("events.db"):
        raise UnicodeDecodeError("utf-8", b"\xc4", 0, 1, "invalid continuation byte")


def test_a_directory_without_write_rights_is_told(shared_folder: Path) -> None:
    said = run_without_rights(f"""
        try:
            SqliteStore(Location({str(shared_folder / "x.db")!r}))
        except StoreUnusableError as exc:
            print(exc)
    """)
    assert "can not be written with the rights of this process" in said


@pytest.mark.parametrize("writer_is_there", [True, False])
def test_a_user_with_read_only_rights_reads_and_watches_and_is_refused_to_append(
    shared_folder: Path, writer_is_there: bool
) -> None:
    path = shared_folder / "events.db"
    store = open_text(f"sqlite:///{path}")
    put(store, "t", b"1", b"2")
    if not writer_is_there:
        store.close()
    before = sorted(shared_folder.iterdir())
    said = run_without_rights(f"""
        store = SqliteStore(Location({str(path)!r}))
        bounds = store.bounds("t")
        print(store.read([ReadRequest("t", bounds.beginning, 10, 100)])[0].records[1][2])
        watch = store.watch()
        watch.follow(["t"], [])
        print(watch.wait(0))
        (refused,) = store.append([Entry("t", [b"3"])], 1.0)
        print(type(refused).__name__, type(refused.error).__name__, refused.error)
        store.close()
    """).splitlines()
    assert said[0] == "b'2'"
    assert said[1] == "Changes(topics=frozenset(), anything=False)"
    assert said[2].startswith("AppendRefused StoreUnusableError")
    assert "rights" in said[2]
    assert sorted(shared_folder.iterdir()) == before
    store.close()


def test_a_copy_without_its_log_is_readable_where_nothing_can_be_written(shared_folder: Path, path: Path) -> None:
    store = open_text(f"sqlite:///{path}")
    put(store, "t", b"1")
    store.close()
    shutil.copy(path, shared_folder / "copy.db")
    (shared_folder / "copy.db").chmod(0o444)
    said = run_without_rights(f"""
        store = SqliteStore(Location({str(shared_folder / "copy.db")!r}))
        print(store.topics()[0].records)
    """)
    assert said == "1\n"


def test_a_reader_who_may_write_the_folder_only_leaves_nothing_that_shuts_the_owner_out(shared_folder: Path) -> None:
    path = shared_folder / "events.db"
    store = open_text(f"sqlite:///{path}")
    put(store, "t", b"1")
    store.close()
    for side in ("-wal", "-shm", "-gate"):
        Path(f"{path}{side}").unlink(missing_ok=True)
    shared_folder.chmod(0o777)
    said = run_without_rights(f"""
        store = SqliteStore(Location({str(path)!r}))
        print(store.read([ReadRequest("t", store.bounds("t").beginning, 10, 100)])[0].records[0][2])
        store.close()
    """)
    assert said == "b'1'\n"
    assert list(shared_folder.iterdir()) == [path]


def test_side_files_have_the_rights_of_the_database(open_store: OpenStore, path: Path) -> None:
    path.touch()
    path.chmod(0o660)
    put(open_store(), "t", b"x")
    for side in ("-gate", "-wal", "-shm"):
        assert stat.S_IMODE(Path(f"{path}{side}").stat().st_mode) == 0o660


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system can not be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_loses_nothing_and_appends_go_on_once_there_is_room(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 600_000)
    store = open_text(f"sqlite:///{small_disk}/events.db")
    place = store.bounds("t")
    stored, refused = [], None
    while refused is None:
        assert len(stored) < 1000, "it does not fill the disk"
        payload = b"%06d" % len(stored) + b"x" * 10_000
        outcome = try_put(store, "t", payload)
        if isinstance(outcome, Appended):
            stored.append(payload)
        else:
            refused = outcome
    assert isinstance(refused, AppendRefused)
    assert isinstance(refused.error, StoreUnusableError)
    assert "no space left" in str(refused.error)
    assert payloads(store, "t", place) == stored
    ballast.unlink()
    put(store, "t", b"after")
    assert payloads(store, "t", place) == [*stored, b"after"]
    store.close()
    again = open_text(f"sqlite:///{small_disk}/events.db")
    assert payloads(again, "t", place) == [*stored, b"after"]
    again.close()


def test_an_entry_that_does_not_fit_on_the_disk_does_not_take_its_neighbours_along(small_disk: Path) -> None:
    store = open_text(f"sqlite:///{small_disk}/events.db")
    outcomes = store.append([Entry("a", [b"x"]), Entry("b", [b"x" * 3_000_000]), Entry("c", [b"x"])], 10.0)
    assert [type(outcome) for outcome in outcomes] == [Appended, AppendRefused, Appended]
    assert payloads(store, "c", beginning(store, "c")) == [b"x"]
    assert [info.name for info in store.topics()] == ["a", "c"]
    store.close()


class Watched(sqlite3.Connection):
    """A connection that lets something happen after its first look at whose the file is."""

    then: Callable[[], None] | None = None

    def execute(self, sql: str, *arguments: Any) -> Any:
        rows = super().execute(sql, *arguments)
        if "application_id" not in sql or self.then is None:
            return rows
        seen, happen, self.then = rows.fetchall(), self.then, None
        happen()
        return seen


def test_a_new_file_that_another_process_fills_while_it_is_looked_at_is_no_strangers(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = WAL")
    looking = sqlite3.connect(path, isolation_level=None, factory=Watched)
    looking.then = lambda: schema.migrate(other, path)

    assert schema.check(looking, path) == 0
    assert schema.check(looking, path) == schema.newest()
    looking.close()
    other.close()
