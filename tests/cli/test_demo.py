"""The demo from end to end: real processes, real kills, and a check that can fail."""

import errno
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.cli.commands import Command

import tailrace
from tailrace.cli.demo import referee
from tailrace.cli.demo.stage import TOPIC, Stage
from tailrace.cli.demo.verdict import Verdict, judge
from tailrace.cli.demo.words import invoked_as
from tailrace.cli.exits import Code

TEXT = b"  The quick brown fox\n\tjumps over \xff the lazy dog,\r\n\n" * 12
QUICK = ("--seconds", "1.5", "--kills", "3", "--seed", "4")


@pytest.fixture
def text(home: Path) -> Path:
    path = home / "text"
    path.write_bytes(TEXT)
    return path


def leftovers(home: Path) -> list[Path]:
    return list((home / "tmp").iterdir())


def test_a_killed_consumer_ends_up_with_the_exact_text(run: Command, home: Path, text: Path) -> None:
    result = json.loads(run.process("demo", str(text), *QUICK, "--keep", "--json").stdout)
    assert (result["good"], result["kills"], result["duplicates"], result["losses"]) == (True, 3, 0, 0)
    assert result["expected"] == result["found"]
    stage = Stage(Path(result["directory"]))
    assert stage.output.read_bytes() == TEXT
    lives = [line for line in stage.deliveries.read_text().splitlines() if line.startswith("life")]
    assert len(lives) == 4
    assert result["delivered"] - result["redelivered"] == result["records"]
    with tailrace.connect(stage.store) as streams:
        assert streams.maintenance.topics(prefix=TOPIC)[0].records == result["records"]


def test_what_it_says_can_be_followed(run: Command, home: Path, text: Path) -> None:
    words = run.process("demo", str(text), *QUICK, "--kill-worker", "--keep").stdout.decode()
    assert "kill 3: SIGKILL to the consumer" in words
    assert "kill 3: SIGKILL to the worker" in words
    assert "duplicates   0\nlosses       0\n" in words
    assert "equal, byte for byte" in words
    _, _, advice = words.partition("Try next:\n")
    lines = advice.splitlines()
    assert [line.split("tailrace.cli ")[-1].split()[0] for line in lines] == ["describe", "tail", "tail", "rm"]
    for line in lines:
        subprocess.run(line, shell=True, check=True, stdout=subprocess.DEVNULL, timeout=60)
    assert leftovers(home) == []


def test_the_commands_it_names_are_found_by_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "b in" / "tailrace"
    script.parent.mkdir()
    script.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert invoked_as(str(script)) == f"'{script}'"
    assert invoked_as("/x/cli/__main__.py").endswith(" -m tailrace.cli")
    monkeypatch.setenv("PATH", str(script.parent))
    assert invoked_as(str(script)) == "tailrace"


def test_it_leaves_nothing_behind(run: Command, home: Path, text: Path) -> None:
    words = run("demo", str(text), "--seconds", "0.5", "--kills", "0").stdout.decode()
    assert "kills        0\n" in words
    assert leftovers(home) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, Code.INTERRUPTED), (signal.SIGTERM, Code.TERMINATED)])
def test_broken_off_it_takes_everything_with_it(
    run: Command, home: Path, text: Path, number: signal.Signals, code: Code
) -> None:
    process = run.start("demo", str(text), "--seconds", "20", "--kills", "1", "--seed", "1")
    assert process.stdout is not None
    pids: list[int] = []
    for line in process.stdout:
        if b"kill 1" in line:
            pids = children(process.pid)
            break
    assert pids
    process.send_signal(number)
    _out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (code, b"")
    assert leftovers(home) == []
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def children(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def test_roles_whose_referee_was_killed_end_by_themselves(run: Command, text: Path) -> None:
    process = run.start("demo", str(text), "--seconds", "20", "--kills", "1", "--seed", "1")
    assert process.stdout is not None
    next(line for line in process.stdout if b"kill 1" in line)
    pids = children(process.pid)
    process.kill()
    # Until nobody has its pipes any more.
    process.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "the roles go on"
        time.sleep(0.05)


@pytest.mark.parametrize("damage", [TEXT[:-1], TEXT + b" ", TEXT.replace(b"fox", b"box", 1), b""])
def test_a_text_that_was_tampered_with_is_noticed(
    run: Command, home: Path, text: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:

    def tampered(stage: Stage, records: int) -> Verdict:
        stage.output.write_bytes(damage)
        return judge(stage, records)

    monkeypatch.setattr(referee, "judge", tampered)
    result = run("demo", str(text), "--seconds", "0.5", "--kills", "0", code=Code.CHECK_FAILED)
    assert b"DIFFERENT from byte" in result.stdout
    (kept,) = leftovers(home)
    assert str(kept) in result.stderr.decode()


def test_a_consumer_that_fails_is_said_with_its_last_words(
    run: Command, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = referee.Referee._open_store

    def spoilt(self: referee.Referee) -> None:
        begun(self)
        self._stage.place.write_text('{"cursor": null, "length": 5, "records": 1}')

    monkeypatch.setattr(referee.Referee, "_open_store", spoilt)
    result = run("demo", str(text), "--seconds", "0.5", code=Code.CHECK_FAILED)
    assert b"the consumer failed: " in result.stderr
    assert b"somebody changed it" in result.stderr


@pytest.mark.parametrize("content", [b"", b"x", b"two words"])
def test_a_tiny_text_is_killed_as_often(run: Command, home: Path, content: bytes) -> None:
    (home / "tiny").write_bytes(content)
    result = json.loads(run("demo", "tiny", "--seconds", "0.5", "--kills", "2", "--json").stdout)
    assert (result["good"], result["kills"], result["size"]) == (True, 2, len(content))


def test_the_readme_of_an_installed_wheel_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from email.message import Message

    from tailrace.cli.demo import source

    described = Message()
    described.set_payload("# Tailrace\n\n  é\n")
    monkeypatch.setattr(source, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "source.py"))
    monkeypatch.setattr("tailrace.cli.demo.source.metadata.metadata", lambda name: described)
    assert source.read_text(None) == ("Tailrace's README", "# Tailrace\n\n  é\n".encode())


def test_without_a_place_for_files_it_says_so(run: Command, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(prefix: str) -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.mkdtemp", none)
    assert b"set TMPDIR" in run("demo", str(text), code=Code.USAGE).stderr


@pytest.mark.parametrize("file", ["missing", "."])
def test_a_file_that_can_not_be_read_is_a_usage_error(run: Command, home: Path, file: str) -> None:
    assert b"can not be read" in run("demo", file, code=Code.USAGE).stderr
    assert leftovers(home) == []
