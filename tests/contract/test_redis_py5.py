"""The contract with the oldest redis-py that is supported, on each kind of place, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OLDEST = "5.0.0"


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but that release: put in front, it hides the one that is installed."""
    folder = tmp_path_factory.mktemp("redis-py")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), f"redis=={OLDEST}"]
    subprocess.run(command, timeout=300, check=True)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("place", ["", "_newest", "_cluster", "_sentinel"])
def test_the_kit_passes_with_the_oldest_driver(place: str, oldest: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(oldest)}
    probe = [sys.executable, "-c", "import redis; print(redis.__version__)"]
    assert subprocess.run(probe, env=environment, capture_output=True, text=True, check=True).stdout.strip() == OLDEST
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "sync", str(Path(__file__).with_name(f"test_redis{place}.py"))],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
