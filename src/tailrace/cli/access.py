"""``tailrace access``: make, list and revoke the access keys of a server. A key is shown once, when it is made."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from tailrace import units
from tailrace.cli import output
from tailrace.cli.extras import need_server
from tailrace.cli.options import Json
from tailrace.tokens import ringfile

if TYPE_CHECKING:
    from tailrace.server.access import AccessKey

access = typer.Typer(no_args_is_help=True, help="The keys of services that use a server: a file with one hash a line.")

AccessFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", envvar="TAILRACE_ACCESS_KEYS_FILE", help="The file with the access keys.", show_default=False
    ),
]

Name = Annotated[str, typer.Option("--name", metavar="WORD", help="Whose key it is, for logs.", show_default=False)]
Scopes = Annotated[list[str], typer.Option("--scope", metavar="SCOPE", show_default=False,
    help="append, read, seal or admin, a colon, and a topic or a prefix*: read:run:*. Or role:operator, role:admin or "
    "role:worker, a colon, and a namespace of workflows or a prefix*. Repeat for more.")]  # fmt: skip
Tenant = Annotated[str, typer.Option("--tenant", metavar="WORD", show_default=False,
    help="Whose topics, where several have topics of the same names.")]  # fmt: skip
ExpiresIn = Annotated[float | None, typer.Option("--expires-in", parser=units.seconds, metavar="DURATION",
    show_default=False, help="The key is good this long: 90d. Without it: until it is revoked.")]  # fmt: skip
KeyId = Annotated[str, typer.Argument(metavar="ID", help="The id of the key.", show_default=False)]


@access.command()
def new(
    file: AccessFile,
    name: Name,
    scope: Scopes,
    tenant: Tenant = "",
    expires_in: ExpiresIn = None,
    as_json: Json = False,
) -> None:
    """Make a key, add its hash to the file, and show it: nobody can show it again."""
    need_server("access keys")
    from tailrace.server.access import AccessKey, AccessKeys

    until = None if expires_in is None else datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=expires_in)
    text, key = AccessKey.fresh(name, scope, tenant=tenant, expires_at=until)
    if file.exists():
        ringfile.replace(file, lambda before: AccessKeys.parse(before).with_key(key).text)
    else:
        ringfile.create(file, AccessKeys([key]).text)
    if as_json:
        output.json_line({"id": key.id, "key": text})
    else:
        output.line(text)


@access.command("list")
def list_access(file: AccessFile, as_json: Json = False) -> None:
    """Show the keys of a file: ids, whose they are and what they allow, no secrets."""
    need_server("access keys")
    from tailrace.server.access import AccessKeys

    text, _ = ringfile.read(file)
    rows = [_row(key) for key in AccessKeys.parse(text).keys]
    if as_json:
        for row in rows:
            output.json_line(row)
    else:
        headings = ("id", "name", "tenant", "expires", "scopes")
        output.table(headings, [tuple(_cell(row[heading]) for heading in headings) for row in rows])


@access.command()
def revoke(file: AccessFile, identity: KeyId) -> None:
    """Remove a key. Servers that read this file let it in for a second more at most."""
    need_server("access keys")
    from tailrace.server.access import AccessKeys

    ringfile.replace(file, lambda before: AccessKeys.parse(before).without(identity).text)


def _row(key: "AccessKey") -> dict[str, object]:
    from tailrace.server.access.scopes import scope_of

    expires = None if key.expires_at is None else key.expires_at.isoformat().replace("+00:00", "Z")
    scopes = [scope_of(right) for right in key.rights]
    return {"id": key.id, "name": key.name, "tenant": key.tenant, "expires": expires, "scopes": scopes}


def _cell(value: object) -> str:
    return " ".join(value) if isinstance(value, list) else "" if value is None else str(value)
