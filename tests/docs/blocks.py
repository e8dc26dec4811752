"""Fenced blocks of a Markdown page, with what the page says about them.

A comment on the line before a fence marks the block. It is the only way out of being run:

    <!-- not run: needs a broker -->

A block with a title is a file that the reader makes, and ``<!-- terminal: NAME -->`` before a block of commands says
that the last one goes on in a terminal of its own. Such pages have tests that follow them.
"""

import re
from dataclasses import dataclass

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]*)(?: title=\"(?P<title>[^\"\n]+)\")?[^\n]*\n"
    r"(?P<body>.*?)^(?P=indent)```\s*$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"<!-- not run: (?P<reason>[^\n]+?) -->\s*\Z")
_TERMINAL = re.compile(r"<!-- terminal: (?P<name>[^\n]+?) -->\s*\Z")
_CONTINUED = re.compile(r"\\\n\s*")


@dataclass(frozen=True)
class Block:
    """One fenced block. ``not_run`` is the reason that the page gives for not running it."""

    language: str
    body: str
    line: int
    not_run: str | None = None
    title: str | None = None
    terminal: str | None = None


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    found = []
    for match in _FENCE.finditer(page):
        indent = len(match["indent"])
        body = "".join(line[indent:] if line.strip() else line for line in match["body"].splitlines(keepends=True))
        before = page[: match.start()]
        mark, terminal = _MARK.search(before), _TERMINAL.search(before)
        found.append(
            Block(
                match["language"],
                body,
                page.count("\n", 0, match.start("body")) + 1,
                mark["reason"] if mark else None,
                match["title"],
                terminal["name"] if terminal else None,
            )
        )
    return found


def commands(block: Block) -> list[str]:
    """Return the commands of a console block: what follows each ``$``, pipes taken apart."""
    return [part.strip() for line in lines(block) for part in re.split(r"\||&&|;", line)]


def lines(block: Block) -> list[str]:
    """Return what is typed in a console block: what follows each ``$``, one line each."""
    shown = _CONTINUED.sub(" ", block.body).splitlines()
    return [line.removeprefix("$ ") for line in shown if line.startswith("$ ")]
