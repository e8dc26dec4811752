"""Without the driver one sentence says what to install, however the store is asked for."""

import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules[{missing!r}] = None; "
SENTENCE = "needs the package {missing}: pip install 'tailrace[redis]'"


def last_line(missing: str, program: str) -> str:
    """Run a program where a package is not installed; return the last line of what it complains."""
    command = [sys.executable, "-c", WITHOUT.format(missing=missing) + program]
    return (
        subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        .stderr.strip()
        .rpartition("\n")[2]
    )


@pytest.mark.parametrize("missing", ["redis", "hiredis"])
def test_importing_the_store_tells_what_to_install(missing: str) -> None:
    told = last_line(missing, "from tailrace.backends.redis import RedisStore")
    assert told == "ModuleNotFoundError: the Redis store " + SENTENCE.format(missing=missing)


@pytest.mark.parametrize("missing", ["redis", "hiredis"])
def test_a_url_tells_what_to_install(missing: str) -> None:
    told = last_line(missing, "import tailrace; tailrace.connect('redis://localhost')")
    assert told == "tailrace.errors.StoreUnusableError: redis:// " + SENTENCE.format(missing=missing)
