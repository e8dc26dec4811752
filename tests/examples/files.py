"""The files of an example, outside of any process of it: one module alone, or a copy like that in a checkout."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType


def module_of(example: Path, path: str) -> ModuleType:
    """Return a module that needs none of its neighbours, under a name that no other example has."""
    name = "_".join((example.name, *Path(path).with_suffix("").parts)).replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, example / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copied(example: Path, where: Path) -> Path:
    """Copy an example and what it installs to where they would be in a checkout; return the folder of the copy."""
    top = example.parents[1]
    kept = shutil.ignore_patterns("__pycache__", ".venv", "data")
    folder = shutil.copytree(example, where / "examples" / example.name, ignore=kept)
    shutil.copytree(top / "src", where / "src", ignore=kept)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(top / name, where)
    return folder
