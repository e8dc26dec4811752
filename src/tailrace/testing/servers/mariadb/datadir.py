"""New data directories: made once by ``mariadb-install-db`` for each server program, and copied for every server."""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tailrace.testing.servers import debian
from tailrace.testing.servers.accounts import Account, within_reach
from tailrace.testing.servers.commands import performed
from tailrace.testing.servers.errors import ServerFailedError
from tailrace.testing.servers.mariadb.flavours import Flavour
from tailrace.testing.servers.tree import shared

SUPERUSER = "root"

LOG_SIZE = "--innodb-log-file-size=32M"
"""A third of what it is by default: it is copied for each server."""

_PATIENCE = 120.0


@dataclass(frozen=True)
class Installed:
    """A server program where the user whom it becomes can run it.

    Attributes:
        base: The folder that has ``bin``, ``sbin`` and ``share`` of it.
        environment: Variables with which it finds its libraries.
    """

    program: Path
    base: Path
    environment: Mapping[str, str]

    @classmethod
    def of(cls, flavour: Flavour, account: Account | None) -> "Installed":
        """Return where it is, after copying it if need be."""
        program = within_reach(flavour.binary, flavour.top, account)
        inner = len(flavour.binary.relative_to(flavour.base).parts)
        base = program.parents[inner - 1]
        variables: Mapping[str, str] = {}
        if flavour.binary.is_relative_to(debian.home()):
            variables = debian.library_path(base.parent)
        return cls(program, base, variables)


def create(data: Path, flavour: Flavour, account: Account | None) -> None:
    """Make a data directory, with one superuser without a password.

    Raises:
        ServerFailedError: ``mariadb-install-db`` can not; with what it says.
    """
    template = shared(flavour.name, lambda place: _initialise(place, flavour, account))
    shutil.copytree(template, data, symlinks=True)
    data.chmod(0o700)
    if account is not None:
        account.give(data)


def _initialise(place: Path, flavour: Flavour, account: Account | None) -> None:
    installed = Installed.of(flavour, account)
    place.mkdir(mode=0o700)
    if account is not None:
        account.give(place)
    command = [
        *("/bin/sh", str(installed.base / "bin" / "mariadb-install-db"), "--no-defaults", f"--datadir={place}"),
        *(f"--basedir={installed.base}", "--auth-root-authentication-method=normal", "--skip-test-db", LOG_SIZE),
    ]
    # Its own: a server that starts meanwhile removes every temporary table that it finds in the common one.
    with tempfile.TemporaryDirectory(prefix="tailrace-mariadb-") as temporary:
        if account is not None:
            account.give(Path(temporary))
        variables = {**installed.environment, "TMPDIR": temporary}
        done = performed(command, place=place, environment=variables, account=account, patience=_PATIENCE)
    if done.returncode:
        raise ServerFailedError(f"mariadb-install-db of {flavour} failed: {(done.stdout + done.stderr)[-2000:]}")
