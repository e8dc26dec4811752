"""``tailrace demo``: sets the stage, has the referee play, and says what came out and what to try next."""

import dataclasses
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.demo.referee import Play, PlayFailed, Referee
from tailrace.cli.demo.show import LiveShow, PlainShow, Show
from tailrace.cli.demo.source import read_text
from tailrace.cli.demo.stage import Stage
from tailrace.cli.demo.verdict import Verdict
from tailrace.cli.demo.words import introduction, next_steps, outcome
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Json

File = Annotated[Path | None, typer.Argument(metavar="[FILE]", show_default=False,
    help="The text to stream; without it, the project's README.")]  # fmt: skip
Kills = Annotated[int, typer.Option("--kills", metavar="N", min=0, max=20, help="How often the consumer is killed.")]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", show_default=False,
    help="Kill at the same points as the run that showed this seed.")]  # fmt: skip
Keep = Annotated[bool, typer.Option("--keep", help="Leave the directory with the store behind.")]
KillWorker = Annotated[bool, typer.Option("--kill-worker", help="Kill the worker too, each time.")]
Seconds = Annotated[float, typer.Option("--seconds", metavar="S", min=0.5, max=30, help="How long the worker streams.")]


def demo(
    file: File = None,
    kills: Kills = 5,
    seed: Seed = None,
    keep: Keep = False,
    kill_worker: KillWorker = False,
    seconds: Seconds = 8.0,
    as_json: Json = False,
) -> None:
    """Stream a text from one process to another that is killed again and again; prove nothing is lost or doubled."""
    name, content = read_text(file)
    play = Play(
        seed=secrets.randbelow(10**6) if seed is None else seed, kills=kills, kill_worker=kill_worker, seconds=seconds
    )
    stage = Stage(_new_directory())
    kept = False
    try:
        stage.input.write_bytes(content)
        if not as_json:
            introduction(name, content, play, stage)
        began = time.monotonic()
        verdict = _perform(stage, play, _show(as_json))
        took = time.monotonic() - began
        # What differs is left behind for whoever wants to know why.
        kept = keep or not verdict.good
        if as_json:
            facts = dataclasses.asdict(verdict) | dataclasses.asdict(play)
            directory = str(stage.directory) if kept else None
            output.json_line({"good": verdict.good, "took": round(took, 3), "directory": directory, **facts})
        else:
            outcome(verdict, play, took)
            next_steps(stage, kept=kept)
    finally:
        if not kept:
            shutil.rmtree(stage.directory, ignore_errors=True)
    if not verdict.good:
        raise Stop(Code.CHECK_FAILED, f"the consumer's text is not the input; everything is left in {stage.directory}")


def _new_directory() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="tailrace-demo-"))
    except OSError as exc:
        raise Stop(Code.USAGE, f"there is no place for temporary files ({exc.strerror}): set TMPDIR") from exc


def _show(silent: bool) -> Show:
    if silent:
        return Show()
    return LiveShow() if sys.stdout.isatty() else PlainShow()


def _perform(stage: Stage, play: Play, show: Show) -> Verdict:
    try:
        return Referee(stage, play, show).perform()
    except PlayFailed as exc:
        raise Stop(Code.CHECK_FAILED, str(exc)) from exc
    finally:
        show.ends()
