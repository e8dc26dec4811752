"""Packages are fetched once, whole or not at all; where that can not be done, one sentence says so.

With an archive of our own: what counts is not which packages there are.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.testing.servers import debian, fetching

_APT = """#!/bin/sh
echo "$@" >> {log}
for last; do :; done
case "$*" in
*"{broken}"*) echo "E: Unable to locate package" >&2; exit 100;;
*--simulate*)
    echo "Inst $last (1)"; echo "Inst libneeded (1)"; echo "Inst libc6 (1)"; echo "Inst libllvm14 (1)"
    echo "Inst perl (1)";;
*download*) shift $(($# - 2)); for name; do touch "$name.deb"; done;;
esac
"""
_DPKG = """#!/bin/sh
mkdir -p "$3/usr/bin" && touch "$3/usr/bin/$(basename "$2" .deb)" && chmod +x "$3/usr/bin/"*
"""


class Archive:
    """Tools that pretend to fetch, in a folder that is the only one on ``PATH`` before the system's."""

    def __init__(self, folder: Path) -> None:
        self.tools = folder / "tools"
        self.tools.mkdir()
        self.log = folder / "log"
        self.log.touch()
        self.serve()

    def serve(self, broken: str = "nothing-is-broken") -> None:
        """Answer, except for calls that contain this."""
        for name, text in (("apt-get", _APT.format(log=self.log, broken=broken)), ("dpkg-deb", _DPKG)):
            (self.tools / name).write_text(text)
            (self.tools / name).chmod(0o755)

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    archive = Archive(tmp_path)
    monkeypatch.setenv("PATH", f"{archive.tools}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return archive


def test_a_package_and_the_libraries_that_are_missing_are_fetched_and_found(archive: Archive) -> None:
    fetching.main(["pgbouncer"])

    (program,) = debian.programs("pgbouncer")
    assert program == debian.root("pgbouncer") / "usr/bin/pgbouncer"
    # Nothing but libraries, and not those that have to fit the machine or are of no use.
    assert sorted(path.name for path in program.parent.iterdir()) == ["libneeded", "pgbouncer"]
    assert [path.name for path in debian.home().iterdir() if path.name != ".lock"] == ["pgbouncer"]


def test_a_second_time_nothing_is_fetched(archive: Archive) -> None:
    fetching.main(["pgbouncer"])
    before = archive.calls
    fetching.main(["pgbouncer"])
    assert archive.calls == before


def test_another_list_of_packages_is_fetched_anew(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    fetching.main(["pgbouncer"])
    monkeypatch.setitem(debian.PACKAGES, "pgbouncer", ("newer",))  # type: ignore[arg-type]
    fetching.main(["pgbouncer"])
    assert list(debian.programs("newer"))
    assert not list(debian.programs("pgbouncer"))


def test_lists_that_are_missing_or_old_are_fetched_into_a_place_of_their_own(archive: Archive) -> None:
    # What is asked of the machine's own lists fails; with others it works.
    archive.serve(broken="pkgcache= --simulate")
    fetching.main(["pgbouncer"])
    assert list(debian.programs("pgbouncer"))
    assert any("Dir::State::Lists=" in call and call.endswith("update") for call in archive.calls)


def test_what_can_not_be_fetched_is_said_and_leaves_nothing(
    archive: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    archive.serve(broken="download")
    fetching.main(["pgbouncer"])
    assert capsys.readouterr().err == "no pgbouncer from Debian packages: Unable to locate package\n"
    assert [path.name for path in debian.home().iterdir()] == [".lock"]


def test_without_the_tools_one_sentence_is_said(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    fetching.main([])
    assert capsys.readouterr().err == "no servers from Debian packages: there is no apt-get and no dpkg-deb\n"
    assert not debian.home().exists()


def test_nothing_is_written_outside_a_virtual_environment(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    fetching.main([])
    assert "virtual environment" in capsys.readouterr().err
    assert not debian.home().exists()


def test_two_at_once_fetch_once(archive: Archive) -> None:
    program = (
        "import sys; from tailrace.testing.servers import fetching\n"
        f"sys.prefix = {sys.prefix!r}\n"
        "fetching.main(['pgbouncer'])"
    )
    both = [subprocess.Popen([sys.executable, "-c", program], env=os.environ.copy()) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert sum(" download" in call for call in archive.calls) == 1
    assert list(debian.programs("pgbouncer"))
