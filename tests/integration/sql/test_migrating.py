"""Tables in a database server: made from nothing, brought on with what is in them, written out for an administrator."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pymysql
import pytest
from pymysql.constants import CLIENT
from tests.integration.sql.places import Place, contents

import tailrace
from tailrace import StoreUnusableError, TopicSealedError, spi
from tailrace.backends.mysql import schema as mysql_schema
from tailrace.backends.postgres import schema as postgres_schema
from tailrace.options import StoreOptions, parse_url
from tailrace.spi import Migration
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.testing.servers.waiting import line_of

RIGHTS = "SELECT, INSERT, UPDATE, DELETE"
NEWEST = postgres_schema.newest()


class Bare(Place):
    """A database without tables, and what to call ours."""

    def make(self) -> None:
        """Nothing."""

    @property
    def table(self) -> str:
        """How names begin that are given by hand."""
        return "tailrace." if self.postgres else "tailrace_"

    def tables(self) -> spi.Schema:
        """Open what ``tailrace migrate`` works on."""
        opened = spi.open_schema(parse_url(self.url), StoreOptions())
        self.closing.append(opened.close)
        return opened

    def user(self) -> str:
        """Make somebody who may log in, and nothing more; return the URL."""
        name = f"u_{self.name}"
        if isinstance(self.server, PostgresServer):
            self.server.create_role(name)
            # Roles outlive databases.
            self.closing.insert(0, lambda: self.execute(f"DROP OWNED BY {name}; DROP ROLE {name}"))
            return self.server.url(self.name, name)
        self.server.create_user(name)
        # With no right at all the server lets nobody into a database.
        self.execute(f"GRANT TRIGGER ON {self.name}.* TO '{name}'@'127.0.0.1'")
        return self.server.url(self.name, name)

    def execute(self, script: str) -> None:
        """Run a script as an administrator pastes it."""
        if isinstance(self.server, PostgresServer):
            with self.server.connect(self.name) as connection:
                connection.execute(script.encode())
            return
        many = CLIENT.MULTI_STATEMENTS
        socket = str(self.server.unix_socket)
        connection: Any = pymysql.connect(unix_socket=socket, user="root", database=self.name, client_flag=many)
        with closing(connection), connection.cursor() as cursor:
            cursor.execute(script)
            while cursor.nextset():
                pass
            connection.commit()

    def one_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let this release need a column that is filled from what is there."""
        module: Any = postgres_schema if self.postgres else mysql_schema
        kind = "bigint NOT NULL DEFAULT 0" if self.postgres else "BIGINT NOT NULL DEFAULT 0"
        script = (
            f"-- A second step.\nALTER TABLE {{topics}} ADD COLUMN again {kind};\n"
            "UPDATE {topics} SET again = last_position;\n"
        )
        more = (*module.migrations(), Migration(NEWEST + 1, script))
        monkeypatch.setattr(module, "migrations", lambda: more)


@pytest.fixture
def bare(server: PostgresServer | MariadbServer) -> Iterator[Bare]:
    place = Bare(server)
    yield place
    place.close()


def command(place: Place, *arguments: str, url: str = "", code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tailrace.cli", "migrate", *arguments, "--store", url or place.url],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done
    return done.stdout + done.stderr


def test_tables_are_told_and_written_out_and_made_from_nothing(bare: Bare) -> None:
    assert f"schema 0, and this release needs {NEWEST}" in command(bare, "--check", code=1)
    script = command(bare, "--sql")
    assert script.startswith("-- to schema 1")
    assert "{" not in script
    with pytest.raises(StoreUnusableError, match="tailrace migrate"):
        bare.client()
    assert command(bare) == f"schema 0 is now {NEWEST}\n"
    assert command(bare, "--check") == f"schema {NEWEST}: up to date\n"
    assert command(bare, "--sql") == ""
    bare.client().topic("t").append(b"x")


def test_what_is_written_out_is_all_that_a_user_with_least_rights_needs(bare: Bare) -> None:
    url = bare.user()
    script = command(bare, "--sql", url=url)
    refused = command(bare, url=url, code=5)
    assert "Traceback" not in refused
    assert bare.tables().version() == 0
    bare.execute(script)
    name = f"u_{bare.name}"
    if bare.postgres:
        bare.execute(
            f"GRANT USAGE ON SCHEMA tailrace TO {name}; GRANT {RIGHTS} ON ALL TABLES IN SCHEMA tailrace TO {name}"
        )
    else:
        bare.execute(f"GRANT {RIGHTS} ON {bare.name}.* TO '{name}'@'127.0.0.1'")
    assert "up to date" in command(bare, "--check", url=url)
    with tailrace.connect(url) as client:
        client.topic("t").append(b"x")
        assert contents(client, "t") == [b"x"]
        client.maintenance.sweep()
        assert client.maintenance.delete("t")


def test_an_older_schema_is_brought_up_with_what_is_in_it(bare: Bare, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.tables().apply()
    bare.client().topic("t").append_many([b"a", b"b"])
    bare.one_more(monkeypatch)
    with pytest.raises(StoreUnusableError, match=rf"older release \(schema {NEWEST}.*tailrace migrate"):
        bare.client()
    tables = bare.tables()
    assert (tables.version(), tables.newest) == (NEWEST, NEWEST + 1)
    (step,) = tables.pending()
    assert step.version == NEWEST + 1
    assert "CREATE TABLE" not in step.script
    tables.apply()
    assert (tables.version(), list(tables.pending())) == (NEWEST + 1, [])
    assert bare.server.execute(f"SELECT again FROM {bare.table}topics", database=bare.name)[0][0] == 2
    client = bare.client()
    client.topic("t").append(b"c")
    assert contents(client, "t") == [b"a", b"b", b"c"]


@pytest.mark.parametrize("old", range(1, NEWEST))
def test_tables_of_every_earlier_release_are_brought_up_with_what_is_in_them(
    bare: Bare, monkeypatch: pytest.MonkeyPatch, old: int
) -> None:
    module: Any = postgres_schema if bare.postgres else mysql_schema
    with monkeypatch.context() as earlier:
        until = module.migrations()[:old]
        earlier.setattr(module, "migrations", lambda: until)
        bare.tables().apply()
        with bare.client() as client:
            client.topic("t").append_many([b"a", b"b"])
            client.topic("ended").seal(error="why")
            client.topic("gone").append(b"x")
            client.maintenance.delete("gone")
    assert bare.tables().version() == old
    bare.tables().apply()
    assert bare.tables().version() == NEWEST
    client = bare.client()
    client.topic("t").append(b"c")
    assert contents(client, "t") == [b"a", b"b", b"c"]
    with pytest.raises(TopicSealedError):
        client.topic("ended").append(b"y")
    assert [info.name for info in client.maintenance.topics()] == ["ended", "t"]


def test_an_older_schema_is_brought_up_by_what_is_written_out(bare: Bare, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.tables().apply()
    bare.client().topic("t").append(b"a")
    bare.one_more(monkeypatch)
    for step in bare.tables().pending():
        bare.execute(step.script)
    assert bare.tables().version() == NEWEST + 1
    assert contents(bare.client(), "t") == [b"a"]


def test_tables_of_a_newer_release_are_refused_and_left_alone(bare: Bare, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        bare.one_more(later)
        bare.tables().apply()
    tables = bare.tables()
    for call in (tables.version, tables.pending, tables.apply, bare.client):
        with pytest.raises(StoreUnusableError, match="upgrade tailrace"):
            call()


def test_ten_processes_at_once_make_them_once(bare: Bare) -> None:
    program = (
        "import sys\nfrom tailrace import spi\nfrom tailrace.options import StoreOptions, parse_url\n"
        "schema = spi.open_schema(parse_url(sys.argv[1]), StoreOptions())\n"
        "print('ready', flush=True)\nsys.stdin.readline()\nschema.apply()\nprint(schema.version())\nschema.close()\n"
    )
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([sys.executable, "-c", program, bare.url], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for _ in range(10)
    ]
    for process in started:
        assert line_of(process) == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, f"{NEWEST}\n"), err
    bare.client().topic("t").append(b"x")


def test_a_schema_and_a_prefix_of_ones_own_are_filled_in(bare: Bare) -> None:
    more = {"schema": 'my "own', "prefix": "p_"} if bare.postgres else {"prefix": "p_"}
    url = bare.server.url(bare.name, **more)
    with closing(spi.open_schema(parse_url(url), StoreOptions())) as tables:
        for step in tables.pending():
            bare.execute(step.script)
    with tailrace.connect(url) as client:
        client.topic("t").append(b"x")
        connection = bare.connection()
        client.topic("t").append_in(connection, [b"y"])
        connection.commit()
        assert contents(client, "t") == [b"x", b"y"]
