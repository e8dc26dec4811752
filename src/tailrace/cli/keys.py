"""``tailrace keys``: make, rotate and list the keys of resume tokens. Shows no secret."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tailrace.cli import output
from tailrace.cli.options import Json
from tailrace.tokens import KeyRing, ringfile

keys = typer.Typer(no_args_is_help=True, help="The keys of resume tokens: a file with one key a line.")

RingFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", envvar="TAILRACE_TOKEN_KEYS_FILE", help="The file with the keys.", show_default=False
    ),
]

Stage = Annotated[bool, typer.Option("--stage", help="Add a key that opens only; the next rotation lets it seal.")]
Keep = Annotated[
    int | None,
    typer.Option("--keep", min=1, metavar="N", help="Retire all active keys but the newest N.", show_default=False),
]


@keys.command()
def new(file: RingFile, as_json: Json = False) -> None:
    """Make a file with one new key, readable by you alone. An existing file is left as it is."""
    ring = KeyRing.new()
    ringfile.create(file, ring.text)
    _tell(ring, as_json)


@keys.command()
def rotate(file: RingFile, stage: Stage = False, keep: Keep = None, as_json: Json = False) -> None:
    """Let a new key seal: the staged one if there is one. Older keys go on opening what they sealed."""
    rotated: list[KeyRing] = []

    def change(text: str) -> str:
        rotated.append(KeyRing.parse(text).rotated(stage=stage, keep=keep))
        return rotated[-1].text

    ringfile.replace(file, change)
    _tell(rotated[-1], as_json)


@keys.command("list")
def list_keys(file: RingFile, as_json: Json = False) -> None:
    """Show the keys of a file, oldest first, and which one seals."""
    _tell(KeyRing.from_file(file), as_json)


def _tell(ring: KeyRing, as_json: bool) -> None:
    rows = [
        (key.id.hex(), key.created.isoformat().replace("+00:00", "Z"), key.state.value, key is ring.sealing)
        for key in ring.keys
    ]
    if as_json:
        for identity, created, state, seals in rows:
            output.json_line({"id": identity, "created": created, "state": state, "seals": seals})
    else:
        shown = [(identity, created, state, "yes" if seals else "") for identity, created, state, seals in rows]
        output.table(("id", "created", "state", "seals"), shown)
