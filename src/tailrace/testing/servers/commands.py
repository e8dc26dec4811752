"""Programs that are run to their end: to ask one for its version, to make a data directory."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tailrace.testing.servers import debian
from tailrace.testing.servers.accounts import Account


def version_line(program: Path, *options: str) -> str:
    """Return what a program says when it is asked for its version; nothing if it can not be run. Blocks."""
    try:
        done = subprocess.run(
            [program, *options, "--version"],
            env={**os.environ, **debian.environment(program)},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def performed(
    command: Sequence[str], *, place: Path, environment: Mapping[str, str], account: Account | None, patience: float
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, as a user and in a folder that is within his reach. Blocks.

    Args:
        environment: Variables to be set besides ours.
        account: Whom it becomes; ``None`` for nobody else.
        patience: Seconds.
    """
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        cwd=place,
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
        user=None if account is None else account.uid,
        group=None if account is None else account.gid,
        extra_groups=None if account is None else [],
    )
