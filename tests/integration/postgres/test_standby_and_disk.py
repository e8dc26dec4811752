"""A real standby and a disk that is really full: told in our words, by our classes, with nothing half-written."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.full_disk import refuses_stores_no_half_and_goes_on

import tailrace
from tailrace import DurableStreamUnavailableError, StoreUnusableError
from tailrace.testing.reading import numbered, payloads, take
from tailrace.testing.servers.postgres import Flavour, PostgresServer


@pytest.fixture
def primary(kind: Flavour) -> Iterator[PostgresServer]:
    with PostgresServer(kind) as primary:
        tailrace.connect(primary.url(), create=True).close()
        yield primary


@pytest.fixture
def standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    """A copy that goes on with what its primary writes."""
    follows = f"host=127.0.0.1 port={primary.port} user=postgres"
    standby = PostgresServer(primary.flavour, settings={"primary_conninfo": follows})
    primary.stop()
    # With owners: servers that root starts are another user's.
    subprocess.run(["cp", "-a", str(primary.data), str(standby.data)], check=True, timeout=60)
    (standby.data / "standby.signal").touch()
    primary.start()
    with standby:
        yield standby


def test_a_standby_is_read_and_followed_and_refuses_every_change(
    primary: PostgresServer, standby: PostgresServer
) -> None:
    with tailrace.connect(primary.url()) as writing, tailrace.connect(standby.url()) as streams:
        topic = streams.topic("t")
        with topic.subscribe_from_tail() as live:
            writing.topic("t").append_many(numbered(10))
            assert payloads(take(live, 10)) == numbered(10)
        assert streams.stats()["hints_arrive"] is False
        for change in (
            lambda: topic.append(b"x"),
            lambda: streams.topic("new").append(b"x"),
            lambda: topic.seal(),
            lambda: streams.maintenance.delete("t"),
        ):
            with pytest.raises(DurableStreamUnavailableError, match="primary") as caught:
                change()
            assert not isinstance(caught.value, StoreUnusableError)
            assert caught.value.maybe_stored is False
        (info,) = writing.maintenance.topics()
        assert (info.name, info.records) == ("t", 10)


@pytest.fixture
def small() -> Iterator[Path]:
    """A file system of a few megabytes."""
    place = Path(tempfile.mkdtemp(prefix="tailrace-small-"))
    place.chmod(0o755)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        place.rmdir()
        pytest.skip("a small file system needs the right to mount one")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)
    shutil.rmtree(place, ignore_errors=True)


def test_a_disk_that_is_full_refuses_stores_no_half_and_goes_on_when_there_is_room(
    small: Path, primary: PostgresServer
) -> None:
    owner = primary.data.stat()
    inside = small / "records"
    inside.mkdir(mode=0o700)
    os.chown(inside, owner.st_uid, owner.st_gid)
    primary.execute(f"CREATE TABLESPACE small LOCATION '{inside}'")
    primary.execute("ALTER TABLE tailrace.records SET TABLESPACE small")
    refuses_stores_no_half_and_goes_on(
        primary.url(),
        room=7_000_000,
        make_room=lambda: primary.execute("ALTER TABLE tailrace.records SET TABLESPACE pg_default"),
    )
