"""The demo's sentences before and after the play."""

import shlex
import shutil
import sys
from pathlib import Path

from tailrace.cli import output
from tailrace.cli.demo.referee import Play
from tailrace.cli.demo.stage import TOPIC, Stage
from tailrace.cli.demo.text import events
from tailrace.cli.demo.verdict import Verdict
from tailrace.units import human_bytes


def introduction(name: str, content: bytes, play: Play, stage: Stage) -> None:
    """Say what is going to happen."""
    who = "the consumer and the worker" if play.kill_worker else "the consumer"
    output.line(f"Streaming {output.printable(name)} ({human_bytes(len(content))}, {len(events(content)):,} events)")
    output.line("  worker process    appends every word as an event to a topic in a SQLite file")
    output.line("  consumer process  writes the text down again; keeps only its cursor and that text")
    output.line(f"  referee           kills {who} {output.count(play.kills, 'time')} with SIGKILL (--seed {play.seed})")
    output.line("")


def outcome(verdict: Verdict, play: Play, took: float) -> None:
    """Say what came out, each figure counted from what was delivered and from both files."""
    same = "equal, byte for byte" if verdict.difference is None else f"DIFFERENT from byte {verdict.difference:,} on"
    output.line("")
    _fact("kills", f"{play.kills}" + (f" (and {play.kills} of the worker)" if play.kill_worker else ""))
    _fact("records", f"{verdict.records:,} streamed, {verdict.delivered:,} delivered")
    _fact("redelivered", f"{verdict.redelivered:,} (not yet saved at a kill: undone, then done again)")
    _fact("duplicates", f"{verdict.duplicates:,}")
    _fact("losses", f"{verdict.losses:,}")
    if not verdict.in_order:
        _fact("order", "WRONG")
    _fact("input", f"sha256 {verdict.expected}")
    _fact("output", f"sha256 {verdict.found}")
    _fact("texts", f"{same} ({verdict.size:,} bytes)")
    _fact("time", f"{took:.1f} s")


def next_steps(stage: Stage, *, kept: bool) -> None:
    """Say what to try next: commands that work as they stand, in the shell that started this one."""
    tailrace = invoked_as(sys.argv[0])
    output.line("")
    output.line("Try next:")
    if kept:
        store = f"--store {shlex.quote(stage.store)}"
        mine = shlex.quote(str(stage.directory / "mine"))
        output.line(f"  {tailrace} describe {TOPIC} {store}")
        output.line(f"  {tailrace} tail {TOPIC} --max 3 --json {store}")
        output.line(f"  {tailrace} tail {TOPIC} --max 3 --cursor-file {mine} {store}   # again: the next 3")
        output.line(f"  rm -r {shlex.quote(str(stage.directory))}")
        return
    output.line(f"  {tailrace} tail hello                 # in one terminal")
    output.line(f"  {tailrace} append hello 'it works'    # in another")
    output.line(f"  {tailrace} demo --keep                # leaves the store behind, to look at")


def invoked_as(program: str) -> str:
    """Return what to type for ``tailrace``: its name where the shell finds it, else its path as it was typed."""
    path = Path(program)
    if path.name != "tailrace":
        return f"{shlex.quote(sys.executable)} -m tailrace.cli"
    found = shutil.which("tailrace")
    if found is not None and path.exists() and Path(found).samefile(path):
        return "tailrace"
    return shlex.quote(program)


def _fact(name: str, value: str) -> None:
    output.line(f"{name:<12} {value}")
