"""Programs that a Python package brings along, found without importing it: importing some of them starts things."""

import importlib.metadata
import mmap
import os
from collections.abc import Iterator
from pathlib import Path


def programs_in(package: str, name: str) -> Iterator[Path]:
    """Yield every executable file called ``name`` of an installed package; nothing if it is not installed."""
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == name:
            path = Path(str(file.locate())).resolve()
            if path.is_file() and os.access(path, os.X_OK):
                yield path


def programs_on_path(name: str) -> Iterator[Path]:
    """Yield every executable file called ``name`` in the folders of ``PATH``, not only the first."""
    for folder in os.get_exec_path():
        path = Path(folder or ".", name)
        if path.is_file() and os.access(path, os.X_OK):
            yield path.absolute()


def contains(program: Path, word: bytes) -> bool:
    """Whether a program has, or links to, something of that name."""
    with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(word) >= 0
