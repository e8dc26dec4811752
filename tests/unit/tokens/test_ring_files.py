"""The file of a ring: private or refused, never half written, and no key lost between two who rotate."""

import os
import stat
import threading
from pathlib import Path

import pytest

from tailrace.errors import KeyRingError
from tailrace.tokens import KeyRing, ringfile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "keys.txt"
    ringfile.create(made, KeyRing.new().text)
    return made


def rotate(path: Path) -> None:
    ringfile.replace(path, lambda text: KeyRing.parse(text).rotated().text)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ringfile.create(tmp_path / "keys.txt", KeyRing.new().text)
    finally:
        os.umask(before)

    assert mode(tmp_path / "keys.txt") == 0o600
    assert [found.name for found in tmp_path.iterdir()] == ["keys.txt"]


def test_an_existing_file_is_never_made_anew(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(KeyRingError, match="exists already"):
        ringfile.create(path, KeyRing.new().text)

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("wrong", [0o604, 0o620, 0o602, 0o601, 0o644, 0o666])
def test_a_file_that_others_may_read_or_change_is_refused(path: Path, wrong: int) -> None:
    path.chmod(wrong)
    with pytest.raises(KeyRingError, match=f"mode {wrong:04o}"):
        KeyRing.from_file(path)
    with pytest.raises(KeyRingError, match="chmod 600"):
        rotate(path)


@pytest.mark.parametrize("good", [0o400, 0o600, 0o440, 0o640])
def test_a_private_file_is_read_and_keeps_its_mode_when_it_is_replaced(path: Path, good: int) -> None:
    path.chmod(good)
    rotate(path)

    assert len(KeyRing.from_file(path).keys) == 2
    assert mode(path) == good


def test_what_is_no_ring_is_told_and_not_waited_for(path: Path, tmp_path: Path) -> None:
    pipe, binary, large, bad = (tmp_path / name for name in ("pipe", "binary", "large", "bad"))
    os.mkfifo(pipe, 0o600)
    binary.write_bytes(b"\xff\xfe")
    large.write_bytes(b"#" * (ringfile.MAX_BYTES + 1))
    bad.write_bytes(b"nonsense\n")
    for other in (binary, large, bad):
        other.chmod(0o600)

    for wrong, told in (
        (pipe, "no regular file"),
        (tmp_path, "no regular file"),
        (binary, "not text"),
        (large, "more than any"),
        (bad, "bad: line 1: a key has four words"),
        (tmp_path / "missing", "No such file"),
    ):
        with pytest.raises(KeyRingError, match=told):
            KeyRing.from_file(wrong)


def test_a_change_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    before = path.read_bytes()

    def fail(_text: str) -> str:
        raise KeyRingError("no")

    with pytest.raises(KeyRingError, match=r"^no$"):
        ringfile.replace(path, fail)
    assert path.read_bytes() == before


def test_a_file_whose_owner_can_not_be_kept_is_not_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def refused(*_arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refused)
    with pytest.raises(KeyRingError, match="can not be replaced"):
        rotate(path)

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_link_is_followed(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    rotate(link)

    assert link.is_symlink()
    assert len(KeyRing.from_file(path).keys) == 2


def test_of_two_that_replace_at_once_the_second_sees_what_the_first_wrote(path: Path) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slowly(text: str) -> str:
        inside.set()
        assert go_on.wait(30)
        return KeyRing.parse(text).rotated().text

    first = threading.Thread(target=ringfile.replace, args=(path, slowly))
    second = threading.Thread(target=rotate, args=(path,))
    first.start()
    assert inside.wait(30)
    second.start()
    # Whether the second waits for the lock by now or comes later, it may not lose the first one's key.
    go_on.set()
    first.join(60)
    second.join(60)

    assert len(KeyRing.from_file(path).keys) == 3


def test_who_waited_for_the_lock_of_a_file_that_was_replaced_takes_the_lock_of_the_new_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, waits = ringfile.fcntl.flock, []

    def overtaken(descriptor: int, how: int) -> None:
        waits.append(how)
        if len(waits) == 1:
            rotate(path)
        flock(descriptor, how)

    monkeypatch.setattr(ringfile.fcntl, "flock", overtaken)
    rotate(path)

    assert len(KeyRing.from_file(path).keys) == 3
