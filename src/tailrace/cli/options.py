"""Arguments and options that several commands share, so that they read and behave the same everywhere."""

from typing import Annotated, TypeAlias

import typer

STORE_VARIABLE = "TAILRACE_STORE"

TopicName: TypeAlias = Annotated[str, typer.Argument(metavar="TOPIC", help="Name of the topic.", show_default=False)]

Store: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        envvar=STORE_VARIABLE,
        help="Where the topics are, for example sqlite:///events.db. Without it: a file in your data directory.",
        show_default=False,
    ),
]

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON, one object a line.")]
