"""The public names: complete, in groups, documented, and nothing else."""

import ast
import inspect
from pathlib import Path

import pytest

import tailrace
import tailrace.errors
import tailrace.options
import tailrace.records
from tailrace import spi

TREE = ast.parse(Path(tailrace.__file__).read_text(encoding="utf-8"))
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
STORE_REFERENCE = REFERENCE.with_name("stores.md")

CONTRACT = {
    "CLOSED",
    "Closed",
    "CursorUnavailableError",
    "DurableStreamError",
    "DurableStreamProducer",
    "DurableStreamRecord",
    "DurableStreamSubscription",
    "DurableStreamTopic",
    "DurableStreamUnavailableError",
    "TopicCursor",
}


def test_every_name_of_the_contract_is_public() -> None:
    assert set(tailrace.__all__) >= CONTRACT


def test_every_error_is_public() -> None:
    errors = {name for name, value in vars(tailrace.errors).items() if inspect.isclass(value)}

    assert set(tailrace.__all__) >= errors


def test_every_public_name_exists_once() -> None:
    assert len(set(tailrace.__all__)) == len(tailrace.__all__)
    assert [name for name in tailrace.__all__ if not hasattr(tailrace, name)] == []


def test_what_is_imported_is_exported_and_the_other_way_round() -> None:
    imported = {
        alias.asname or alias.name
        for node in TREE.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if not (alias.asname or alias.name).startswith("_")
    }

    assert imported == set(tailrace.__all__) - {"__version__"}


def test_each_group_of_names_is_sorted() -> None:
    """A group is what stands between two comments (or blank lines) of ``__all__``."""
    lines = Path(tailrace.__file__).read_text(encoding="utf-8").partition("__all__ = [")[2].partition("]")[0]
    groups: list[list[str]] = [[]]
    for line in lines.splitlines():
        text = line.strip().rstrip(",")
        if text.startswith('"'):
            groups[-1].append(ast.literal_eval(text))
        elif text:
            groups.append([])

    for group in groups:
        assert group == sorted(group, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


@pytest.mark.parametrize("name", sorted(set(tailrace.__all__) - {"CLOSED", "TopicCursor", "__version__"}))
def test_every_public_name_and_each_of_its_methods_has_a_docstring(name: str) -> None:
    value = getattr(tailrace, name)

    assert (value.__doc__ or "").strip()
    if inspect.isclass(value):
        public = {key: item for key, item in vars(value).items() if not key.startswith("_")}
        bare = [key for key, item in public.items() if callable(item) and not inspect.getdoc(getattr(value, key))]
        assert bare == []


def test_the_reference_page_names_everything_public() -> None:
    page = REFERENCE.read_text(encoding="utf-8")

    assert [name for name in tailrace.__all__ if f"::: tailrace.{name}\n" not in page] == []


def test_the_reference_for_stores_names_everything_that_a_store_uses() -> None:
    page = STORE_REFERENCE.read_text(encoding="utf-8")
    values = {name: getattr(spi, name) for name in spi.__all__}
    # The registry is the other side's; unions and numbers are in the signatures.
    wanted = {name for name, value in values.items() if inspect.isclass(value) or inspect.isfunction(value)}
    wanted -= {"open_broadcast", "open_engine", "open_store", "schemes"}

    assert [name for name in sorted(wanted) if f"::: tailrace.spi.{name}\n" not in page] == []
