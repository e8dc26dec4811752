"""``keys``: made, rotated and listed, without a secret on the terminal."""

import json
import stat
from pathlib import Path

from tests.cli.commands import Command

from tailrace.cli.exits import Code
from tailrace.tokens import KeyRing


def test_keys_are_made_rotated_and_listed_without_showing_a_secret(run: Command, home: Path) -> None:
    shown = [
        run("keys", "new", "keys.txt"),
        run("keys", "rotate", "keys.txt", "--stage"),
        run("keys", "rotate", "keys.txt", "--keep", "1", "--json"),
        run("keys", "list", "keys.txt", "--json"),
    ]
    ring = KeyRing.from_file(home / "keys.txt")

    assert shown[0].stdout.startswith(b"id\tcreated\tstate\tseals\n")
    assert shown[1].stdout.splitlines()[-1].split(b"\t")[2:] == [b"staged", b""]
    assert shown[2].stdout == shown[3].stdout
    listed = [json.loads(line) for line in shown[3].stdout.splitlines()]
    assert [(key["id"], key["state"], key["seals"]) for key in listed] == [
        (ring.keys[0].id.hex(), "retired", False),
        (ring.keys[1].id.hex(), "active", True),
    ]
    assert stat.S_IMODE((home / "keys.txt").stat().st_mode) == 0o600
    for key in ring.keys:
        secret = key.line.split()[1].encode()
        assert not [ended for ended in shown if secret in ended.stdout + ended.stderr]


def test_a_ring_that_is_there_is_not_made_anew_and_one_that_others_read_is_refused(run: Command, home: Path) -> None:
    run("keys", "new", "keys.txt")
    assert b"exists already" in run("keys", "new", "keys.txt", code=Code.KEYS_UNUSABLE).stderr
    (home / "keys.txt").chmod(0o644)
    for command in ("rotate", "list"):
        assert b"mode 0644" in run("keys", command, "keys.txt", code=Code.KEYS_UNUSABLE).stderr
    assert b"No such file" in run("keys", "list", "none.txt", code=Code.KEYS_UNUSABLE).stderr


def test_the_file_may_be_named_by_the_environment(run: Command, home: Path) -> None:
    run.set(TAILRACE_TOKEN_KEYS_FILE=str(home / "ours.txt"))
    run("keys", "new")
    assert len(run("keys", "list", "--json").stdout.splitlines()) == 1
