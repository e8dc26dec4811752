"""Fenced blocks of a Markdown page, with what the page says about them.

A comment on the line before a fence marks the block. It is the only way out of being run:

    <!-- not run: needs a broker -->
"""

import re
from dataclasses import dataclass

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^(?P=indent)```\s*$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"<!-- not run: (?P<reason>[^\n]+?) -->\s*\Z")
_CONTINUED = re.compile(r"\\\n\s*")


@dataclass(frozen=True)
class Block:
    """One fenced block. ``not_run`` is the reason that the page gives for not running it."""

    language: str
    body: str
    line: int
    not_run: str | None


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    found = []
    for match in _FENCE.finditer(page):
        indent = len(match["indent"])
        body = "".join(line[indent:] if line.strip() else line for line in match["body"].splitlines(keepends=True))
        mark = _MARK.search(page[: match.start()])
        line = page.count("\n", 0, match.start("body")) + 1
        found.append(Block(match["language"], body, line, mark["reason"] if mark else None))
    return found


def commands(block: Block) -> list[str]:
    """Return the commands of a console block: what follows each ``$``, pipes taken apart."""
    lines = _CONTINUED.sub(" ", block.body).splitlines()
    typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [part.strip() for line in typed for part in re.split(r"\||&&|;", line)]
