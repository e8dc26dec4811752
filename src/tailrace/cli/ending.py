"""How a command ends: every typed error, signal and lost reader becomes one sentence and one exit code.

No traceback reaches a user for any of them. Errors that nobody foresaw keep theirs.
"""

import contextlib
import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import typer

from tailrace.cli import output
from tailrace.cli.exits import Code, Stop, Terminated, code_of
from tailrace.errors import DurableStreamError

_OUT_OF_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Run a command inside; raise ``typer.Exit`` with the documented code however it ended."""
    try:
        with _termination_as_interrupt():
            yield
            sys.stdout.flush()
    except Stop as stop:
        if str(stop):
            output.note(str(stop))
        raise typer.Exit(stop.code) from stop
    except DurableStreamError as error:
        output.note(f"{error}")
        raise typer.Exit(code_of(error)) from error
    except Terminated as signalled:
        raise typer.Exit(Code.TERMINATED) from signalled
    except KeyboardInterrupt as signalled:
        raise typer.Exit(Code.INTERRUPTED) from signalled
    except typer.Abort as signalled:
        raise typer.Exit(Code.INTERRUPTED) from signalled
    except BrokenPipeError as error:
        _discard_output()
        raise typer.Exit(Code.READER_GONE) from error
    except OSError as error:
        if error.errno not in _OUT_OF_SPACE:
            raise
        _discard_output()
        output.note(f"the output can not be written: {error.strerror}")
        raise typer.Exit(Code.NOT_WRITTEN) from error


def _discard_output() -> None:
    # The interpreter flushes standard output once more when it exits, and would complain about the same pipe.
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
