"""The parts that need no store: cutting input, counting it, units, and what is shown."""

import io
import json
from pathlib import Path

import pytest

from tailrace import units
from tailrace.backends.sqlite.mounts import filesystem_of
from tailrace.cli import batches, output
from tailrace.cli.progress import Progress
from tailrace.errors import DurableStreamUnavailableError, PayloadTooLargeError, TopicSealedError
from tailrace.records import DurableStreamRecord, TopicCursor


class Dribble:
    """A source that gives what it has in given portions, as a slow pipe does."""

    def __init__(self, *portions: bytes) -> None:
        self._portions = list(portions)

    def read1(self, size: int, /) -> bytes:
        return self._portions.pop(0) if self._portions else b""

    read = read1


def test_a_line_is_given_as_soon_as_it_is_there() -> None:
    assert list(batches.lines(Dribble(b"a\nb", b"c\n", b"d"), 100)) == [[b"a"], [b"bc"], [b"d"]]


def test_empty_lines_are_records_and_only_the_newline_is_taken_off() -> None:
    assert list(batches.lines(io.BytesIO(b"\n\r\n\0\xff\n"), 100)) == [[b"", b"\r", b"\0\xff"]]


def test_a_large_input_comes_in_batches_that_one_append_takes() -> None:
    sizes = [len(batch) for batch in batches.lines(io.BytesIO(b"\n" * 9000), 100)]
    assert sum(sizes) == 9000
    assert max(sizes) == 4096


def test_a_line_over_the_limit_is_refused_after_what_came_before_it() -> None:
    cut = batches.lines(Dribble(b"ok\n", b"x" * 11), 10)
    assert next(cut) == [b"ok"]
    with pytest.raises(PayloadTooLargeError, match="one line of the input"):
        next(cut)


def test_a_whole_input_over_the_limit_is_refused() -> None:
    assert batches.whole(io.BytesIO(b"x\ny\n"), 10) == b"x\ny\n"
    with pytest.raises(PayloadTooLargeError):
        batches.whole(io.BytesIO(b"x" * 11), 10)


def test_a_batch_is_uncertain_until_it_is_acknowledged() -> None:
    progress = Progress()
    progress.sending(3)
    progress.acknowledged()
    progress.sending(2)
    progress.stopped(KeyboardInterrupt())
    assert (progress.stored, progress.uncertain) == (3, 2)
    assert "3 records stored for certain; records 4 to 5 of the input may or may not" in progress.sentence()
    assert "from record 6 on, nothing was stored" in progress.sentence()


@pytest.mark.parametrize("refusal", [TopicSealedError("x"), DurableStreamUnavailableError("x")])
def test_a_refused_batch_is_certainly_not_stored(refusal: DurableStreamUnavailableError) -> None:
    progress = Progress()
    progress.sending(3)
    progress.stopped(refusal)
    assert (progress.stored, progress.uncertain) == (0, 0)
    assert "from record 1 of the input on, nothing was stored" in progress.sentence()


def test_an_unknown_outcome_stays_uncertain() -> None:
    progress = Progress()
    progress.sending(1)
    progress.stopped(DurableStreamUnavailableError("x", maybe_stored=True))
    assert progress.uncertain == 1
    assert "record 1 of the input may or may not" in progress.sentence()


@pytest.mark.parametrize(("text", "value"), [("90", 90.0), ("1.5h", 5400.0), ("7d", 604800.0), ("250ms", 0.25)])
def test_durations(text: str, value: float) -> None:
    assert units.seconds(text) == value


@pytest.mark.parametrize(("text", "value"), [("4096", 4096), ("10MB", 10**7), ("1GiB", 2**30), ("2k", 2000)])
def test_sizes(text: str, value: int) -> None:
    assert units.size(text) == value


@pytest.mark.parametrize("text", ["", "-1", "1 fortnight", "h", "1e3", "nan"])
def test_what_is_no_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        units.seconds(text)


def test_control_characters_never_reach_the_terminal() -> None:
    assert output.printable("a\x1b[2Jb\nc\udc80é") == "a\\x1b[2Jb\\nc\\udc80é"


def test_a_payload_that_is_not_text_is_base64_in_json() -> None:
    cursor = TopicCursor("c")
    assert json.loads(output.record_json(DurableStreamRecord("é\n".encode(), cursor))) == {
        "cursor": "c",
        "payload": "é\n",
    }
    assert json.loads(output.record_json(DurableStreamRecord(b"\xff\0", cursor))) == {
        "cursor": "c",
        "payload_base64": "/wA=",
    }


def test_the_file_system_of_a_path_is_the_one_mounted_deepest(tmp_path: Path) -> None:
    table = tmp_path / "mounts"
    spaced = str(tmp_path / "with space").replace(" ", "\\040")
    table.write_text(f"/dev/a / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\nnone {spaced} tmpfs rw 0 0\n")
    assert filesystem_of(tmp_path / "sub", table) == "nfs4"
    assert filesystem_of(tmp_path / "with space" / "x", table) == "tmpfs"
    assert filesystem_of(Path("/"), table) == "ext4"
    assert filesystem_of(tmp_path, tmp_path / "missing") is None
