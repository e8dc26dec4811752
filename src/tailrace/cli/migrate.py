"""``tailrace migrate``: bring the tables of a store up to this release, or say what is missing."""

from contextlib import closing
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Json, Store
from tailrace.cli.store import default_url
from tailrace.options import StoreOptions, parse_url
from tailrace.spi import Schema, open_schema

Sql = Annotated[bool, typer.Option("--sql", help="Only write what is missing, as SQL for somebody else to run.")]
Check = Annotated[bool, typer.Option("--check", help="Change nothing; end with status 1 if something is missing.")]


def migrate(sql: Sql = False, check: Check = False, store: Store = None, as_json: Json = False) -> None:
    """Bring the tables of a store up to this release. Forward only, and safe from many processes at once."""
    with closing(open_schema(parse_url(store or default_url()), StoreOptions())) as schema:
        if sql:
            for migration in schema.pending():
                output.line(f"-- to schema {migration.version}\n{migration.script.strip()}\n")
            return
        before = schema.version()
        if not check:
            schema.apply()
        _tell(schema, before, as_json)
        if check and schema.pending():
            raise Stop(Code.CHECK_FAILED)


def _tell(schema: Schema, before: int, as_json: bool) -> None:
    now = schema.version()
    if as_json:
        output.json_line({"before": before, "now": now, "newest": schema.newest})
    elif now != before:
        output.line(f"schema {before} is now {now}")
    elif now == schema.newest:
        output.line(f"schema {now}: up to date")
    else:
        output.line(f"schema {now}, and this release needs {schema.newest}: run tailrace migrate")
