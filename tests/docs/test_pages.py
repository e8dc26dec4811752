"""What the pages show is what happens: every Python block is run, every command is one that exists."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
import redis
from tests.docs.blocks import Block, blocks, commands

from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.nats import NatsServer
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.testing.servers.redis import RedisServer

TOP = Path(__file__).parents[2]
SERVERS = {
    "redis://localhost:6379": "redis_server",
    "postgresql://postgres@localhost/events": "postgres_database",
    "mysql://root@localhost/events": "mariadb_database",
    "nats://localhost:4222": "nats_server",
}
"""Where pages say that a server is; their programs run with one that was started for them."""

GROUPS = {"access", "keys", "runs"}
"""Commands that have commands of their own."""
SUBGROUPS = [["runs", "holds"]]
"""Those of them that have, too."""

FOLLOWED = [TOP / "docs/tutorials/llm-app.md"]
"""Pages that have their reader make files: each has a test that does what the page says."""

PAGES = [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def running_redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_server(running_redis: RedisServer) -> str:
    """An empty one: some pages count what they find."""
    with closing(redis.Redis.from_url(running_redis.url)) as raw:
        raw.flushall()
    return running_redis.url.removesuffix("/0")


@pytest.fixture(scope="module")
def postgres_database() -> Iterator[str]:
    with PostgresServer() as server:
        yield server.url(server.create_database("events"))


@pytest.fixture(scope="module")
def mariadb_database() -> Iterator[str]:
    with MariadbServer() as server:
        yield server.url(server.create_database("events"))


@pytest.fixture(scope="module")
def nats_server() -> Iterator[str]:
    with NatsServer() as server:
        yield f"nats://127.0.0.1:{server.port}"


def _pages_with(*languages: str) -> list[object]:
    """The pages that have such blocks, named for the report."""
    return [
        pytest.param(page, id=str(page.relative_to(TOP)))
        for page in PAGES
        if any(
            block.language in languages and block.title is None for block in blocks(page.read_text(encoding="utf-8"))
        )
    ]


@pytest.mark.parametrize("page", _pages_with("python"))
def test_the_python_of_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """All blocks of one page are one program, in an empty directory, as a reader would paste them."""
    program = _program(blocks(page.read_text(encoding="utf-8")))
    for shown, fixture in SERVERS.items():
        if shown in program:
            program = program.replace(shown, request.getfixturevalue(fixture))

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, f"{page.name}, counting lines as the page does:\n{done.stderr}"


def _program(found: list[Block]) -> str:
    """Put the blocks one after the other, each on the line where the page has it."""
    lines: list[str] = []
    for block in found:
        if block.language == "python" and block.not_run is None and block.title is None:
            lines += [""] * (block.line - 1 - len(lines))
            lines += block.body.splitlines()
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("page", _pages_with("console"))
def test_the_commands_of_a_page_exist_with_their_options(page: Path) -> None:
    wrong = []
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language != "console" or block.not_run is not None:
            continue
        for command in commands(block):
            words = shlex.split(command, comments=True)
            if words and words[0] == "make":
                wrong += [f"{page.name}: {command}" for word in words[1:2] if word not in _targets()]
            elif words and words[0] == "tailrace":
                wrong += [f"{page.name}: {command}: {what}" for what in _unknown(words[1:])]

    assert wrong == []


def _targets() -> set[str]:
    makefile = (TOP / "Makefile").read_text(encoding="utf-8")
    return {line.partition(":")[0] for line in makefile.splitlines() if ":" in line and not line.startswith("\t")}


def _unknown(words: list[str]) -> list[str]:
    """Ask the program itself: a subcommand's help must name every option that the page uses."""
    names = [word for word in words if not word.startswith("-")]
    if not names:
        return []
    depth = 3 if names[:2] in SUBGROUPS else 2 if names[0] in GROUPS else 1
    done = _help(*names[:depth])
    if done.returncode != 0:
        return [f"no such command: {done.stderr.strip().splitlines()[-1:]}"]
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    return [f"no option {option}" for option in options if option not in done.stdout]


@cache
def _help(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tailrace.cli", *command, "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"},
    )


def test_programs_are_files_only_on_pages_that_are_followed() -> None:
    """Elsewhere they are run with the rest of their page, and one with a title would not be."""
    with_files = [
        page
        for page in PAGES
        if any(block.title for block in blocks(page.read_text(encoding="utf-8")) if block.language == "python")
    ]

    assert with_files == FOLLOWED


def test_a_block_is_left_out_only_with_a_reason() -> None:
    """Guards the guard: a page that marks every block would pass with nothing run."""
    everything = [block for page in PAGES for block in blocks(page.read_text(encoding="utf-8"))]
    python = [block for block in everything if block.language == "python"]
    left_out = [block for block in python if block.not_run is not None]

    assert len(python) >= 10
    assert len(left_out) <= len(python) // 5
    assert all(len(block.not_run or "") > 5 for block in left_out)
