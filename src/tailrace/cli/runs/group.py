"""The commands of ``tailrace runs`` by their names."""

import typer

from tailrace.cli.runs.appending import append
from tailrace.cli.runs.ending import close, error
from tailrace.cli.runs.holds import holds
from tailrace.cli.runs.lifecycle import delete, end, start, sweep
from tailrace.cli.runs.looking import describe, list_streams
from tailrace.cli.runs.reading import follow, read

runs = typer.Typer(
    no_args_is_help=True,
    help="Workflow Streams: the output logs of workflow runs, in a database or over HTTP (the token: TAILRACE_KEY).",
)
runs.command("list")(list_streams)
for _command in (describe, read, follow, append, close, error, start, end, delete, sweep):
    runs.command()(_command)
runs.add_typer(holds, name="holds")
