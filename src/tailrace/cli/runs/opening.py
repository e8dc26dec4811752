"""Opening what a command of ``tailrace runs`` works on."""

from tailrace import workflow
from tailrace.cli.exits import Code, Stop
from tailrace.cli.store import default_url
from tailrace.workflow.opening import is_remote


def open_runs(url: str | None, namespace: str, *, writes: bool) -> workflow.Workflows:
    """Open the database or the server of ``--store``, or the user's own file.

    Args:
        writes: Whether the command is meant to put something there: a database that was named is made only then.

    Raises:
        InvalidArgumentError, DurableStreamUnavailableError: As ``workflow.connect``.
    """
    if url and is_remote(url):
        return workflow.connect(url, namespace=namespace)
    return workflow.connect(url or default_url(), namespace=namespace, create=writes or not url)


def whole_seconds(duration: float | None, option: str) -> int | None:
    """Return a duration in whole seconds, as the contract counts them.

    Raises:
        Stop: It has others.
    """
    if duration is None:
        return None
    if duration != int(duration):
        raise Stop(Code.USAGE, f"{option} takes whole seconds")
    return int(duration)
