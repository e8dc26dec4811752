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


@pytest.mark.parametrize("command", ["topics", "append", "tail", "keys", "access", "demo"])
def test_a_command_imports_nothing_of_workflows_and_servers_that_it_does_not_use(command: str) -> None:
    programme = (
        "import sys; from tailrace.cli.app import app; app([sys.argv[1], '--help'], standalone_mode=False);"
        "sys.exit(' '.join(name for name in sys.modules if name.startswith(('tailrace.workflow', 'tailrace.server'))))"
    )
    ended = subprocess.run([sys.executable, "-c", programme, command], capture_output=True, check=False, timeout=60)
    assert b"Usage:" in ended.stdout
    assert ended.stderr.strip() == b""


def test_a_command_that_is_nearly_one_is_suggested(run: Command) -> None:
    assert b"'topics'" in run("topcis", code=Code.USAGE).stderr


def test_the_core_does_not_import_the_command_line() -> None:
    programme = (
        "import sys, tailrace; sys.exit(any(name.partition('.')[0] in ('typer', 'rich') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", programme], check=False, timeout=60).returncode == 0
