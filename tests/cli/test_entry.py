"""The command itself: its version, its help, and what it says without its extra."""

import subprocess
import sys
from importlib import metadata

import pytest
from tests.cli.commands import Command

from tailrace.cli.exits import MEANINGS, Code


def test_the_version_is_the_installed_one(run: Command) -> None:
    assert run.process("--version").stdout.decode() == f"tailrace {metadata.version('tailrace')}\n"


def test_the_console_script_is_this_command() -> None:
    (script,) = metadata.entry_points(group="console_scripts", name="tailrace")
    assert script.value == "tailrace.cli:main"


def test_help_has_every_exit_code(run: Command) -> None:
    words = " ".join(run("--help").stdout.decode().split())
    for code, meaning in MEANINGS.items():
        assert f"{code} {meaning}" in words


@pytest.mark.parametrize(
    "arguments", [("frobnicate",), ("append",), ("tail", "t", "--max", "0"), ("tail", "t", "--odd")]
)
def test_a_wrong_command_is_a_usage_error(run: Command, arguments: tuple[str, ...]) -> None:
    assert b"Usage: tailrace" in run(*arguments, code=Code.USAGE).stderr


@pytest.mark.parametrize("missing", ["typer", "rich", "platformdirs"])
def test_without_the_extra_one_sentence_says_what_to_install(missing: str) -> None:
    programme = f"import sys; sys.modules['{missing}'] = None; from tailrace.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", programme, "demo"], capture_output=True, check=False, timeout=60)
    assert ended.returncode == Code.MISSING_EXTRA
    assert ended.stderr.decode() == f"The command line needs the package {missing}: pip install 'tailrace[cli]'\n"
    assert ended.stdout == b""


def test_the_core_does_not_import_the_command_line() -> None:
    programme = (
        "import sys, tailrace; sys.exit(any(name.partition('.')[0] in ('typer', 'rich') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", programme], check=False, timeout=60).returncode == 0
