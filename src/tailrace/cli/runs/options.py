"""Arguments and options that the commands of ``tailrace runs`` share."""

from typing import Annotated, TypeAlias

import typer

from tailrace import units
from tailrace.cli.options import STORE_VARIABLE
from tailrace.workflow.model import DEFAULT_NAMESPACE

Workflow: TypeAlias = Annotated[str, typer.Argument(metavar="WORKFLOW", help="Id of the workflow.", show_default=False)]
Run: TypeAlias = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.", show_default=False)]
Stream: TypeAlias = Annotated[str, typer.Argument(metavar="STREAM", help="Name of the stream.", show_default=False)]

Store: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        envvar=STORE_VARIABLE,
        help="Where the runs are: sqlite:///events.db, postgresql://..., mysql://..., or the URL of a server. Without "
        "it: a file in your data directory.",
        show_default=False,
    ),
]

Namespace: TypeAlias = Annotated[
    str, typer.Option("--namespace", metavar="WORD", envvar="TAILRACE_NAMESPACE", help="Whose runs.")
]
HERE = DEFAULT_NAMESPACE

Retention: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--retention",
        parser=units.seconds,
        metavar="DURATION",
        show_default=False,
        help="Keep it this long after its end: 90, 12h, 7d. Without it: an hour.",
    ),
]
