"""New data directories: made once by ``initdb`` for each server program, and copied for every server."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from tailrace.testing.servers import debian
from tailrace.testing.servers.accounts import Account, within_reach
from tailrace.testing.servers.commands import performed
from tailrace.testing.servers.errors import ServerFailedError
from tailrace.testing.servers.postgres.flavours import Flavour
from tailrace.testing.servers.tree import shared

SUPERUSER = "postgres"

_PATIENCE = 120.0


def program(flavour: Flavour, name: str, account: Account | None) -> Path:
    """Return where a program of this server can be run by that user."""
    return within_reach(flavour.folder / name, flavour.top, account, flavour.parts)


def environment(flavour: Flavour, program: Path) -> Mapping[str, str]:
    """Return the variables with which it finds its libraries, wherever it was copied to."""
    if not flavour.folder.is_relative_to(debian.home()):
        return {}
    inner = flavour.folder.relative_to(flavour.top)
    return debian.library_path(Path(str(program.parent).removesuffix(str(inner))))


def create(data: Path, flavour: Flavour, account: Account | None) -> None:
    """Make a data directory, with one superuser and without anybody's settings.

    Raises:
        ServerFailedError: ``initdb`` can not; with what it says.
    """
    template = shared(flavour.name, lambda place: _initialise(place, flavour, account))
    shutil.copytree(template, data, symlinks=True)
    data.chmod(0o700)
    if account is not None:
        account.give(data)


def _initialise(place: Path, flavour: Flavour, account: Account | None) -> None:
    place.mkdir(mode=0o700)
    if account is not None:
        account.give(place)
    initdb = program(flavour, "initdb", account)
    command = [str(initdb), "-D", str(place), "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C"]
    command += ["--no-sync", "--no-instructions"]
    # It looks for itself from where it stands, which may be out of its reach.
    variables = environment(flavour, initdb)
    done = performed(command, place=place, environment=variables, account=account, patience=_PATIENCE)
    if done.returncode:
        raise ServerFailedError(f"initdb of {flavour} failed: {done.stderr[-2000:]}")
