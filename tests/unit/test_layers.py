"""The shape of the package, read from its syntax trees: who may import whom, and what no module may do.

The table below is the only place that says which arrows are allowed. A new module needs a row (or a
folder that has one), and a new arrow needs a reason.
"""

import ast
import graphlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
ROOT = "tailrace"

_WORDS = "errors limits records boundaries"
_PURE = f"{_WORDS} options retention cursors protocols instrument"
_STORE = f"{_WORDS} options retention instrument forks native spi"
_SERVER = "backends.connections backends.descriptors backends.handle backends.news backends.pulse backends.vigil"
_FACADE = f"{_PURE} arguments forks native spi engine"

# A folder stands for everything in it. Its modules may import each other and what stands at the right.
ARROWS = {
    "errors": "",
    "limits": "",
    "units": "",
    "boundaries": "",
    "forks": "",
    "native": "",
    "records": "errors",
    "retention": "errors",
    "options": "errors limits retention",
    "arguments": "errors limits",
    "protocols": "errors records",
    "cursors": _WORDS,
    "instrument": _WORDS,
    "spi": f"{_WORDS} options retention instrument",
    # What a server and the store over HTTP say to each other: neither of them.
    "wire": f"{_WORDS} arguments retention spi",
    # Siblings: the engine knows no store, a store knows neither engine nor cursor, nor another store.
    "engine": f"{_PURE} forks native spi",
    "backends": "",
    "backends.memory": _STORE,
    # What several stores stand on, and no store itself.
    "backends.connections": "errors native",
    "backends.descriptors": "native",
    "backends.news": "spi",
    "backends.pulse": "errors",
    "backends.vigil": "errors native spi",
    "backends.handle": "errors options spi backends.vigil",
    "backends.sql": _STORE,
    "backends.sqlite": f"{_STORE} backends.sql backends.vigil",
    "backends.redis": f"{_STORE} {_SERVER}",
    "backends.postgres": f"{_STORE} {_SERVER} backends.sql",
    "backends.mysql": f"{_STORE} {_SERVER} backends.sql",
    "backends.nats": f"{_STORE} {_SERVER}",
    "backends.http": f"{_STORE} {_SERVER} wire",
    # Facades find stores through the registry of the SPI, never by importing one.
    "facade": _FACADE,
    "subscription": f"{_FACADE} facade",
    "topic": f"{_FACADE} subscription",
    "opening": "arguments errors options retention instrument spi",
    "sweeping": "errors spi",
    "operations": f"{_FACADE} sweeping",
    "client": f"{_FACADE} facade opening operations topic subscription",
    # Both colours stand on the engine, and neither on the other: no logic can settle in one of them.
    "aio": f"{_FACADE} facade opening",
    # Live delivery: beside the durable stream, and neither stands on the other's facade. Waiting they have in common.
    "broadcast": f"{_STORE} arguments engine aio",
    # From the one to the other.
    "rollout": f"{_WORDS} options arguments broadcast client subscription topic",
    "rollout.aio": f"{_WORDS} options arguments broadcast aio rollout",
    # Beside the facades: who serves streams to others seals their cursors; the library itself never does.
    "tokens": f"{_WORDS} options retention arguments cursors",
    "workflow": f"{_FACADE} facade opening sweeping subscription aio",
    "workflow.aio": f"{_FACADE} facade opening aio workflow",
    # Found by its scheme, as stores are: it needs a driver.
    "workflow.remote": f"{_PURE} forks native backends.connections backends.http workflow",
    # What is served to browsers, in any application; and a whole server, whose table turns errors into statuses.
    "asgi": "",
    "sse": f"{_PURE} arguments facade aio asgi tokens",
    "integrations": f"{_FACADE} topic subscription aio asgi sse tokens",
    "integrations.celery": "errors workflow",
    "server": f"{_FACADE} operations opening sweeping aio asgi sse tokens units wire workflow",
    # On top: the kit and the command line use the public names, and open any layer to look inside.
    "testing": f"{_FACADE} broadcast operations sweeping topic subscription client aio backends.memory backends.sqlite",
    "cli": f"{_FACADE} sweeping topic subscription client testing tokens units server workflow",
}

# Third-party and platform modules that belong to one folder each.
OWNERS = {
    # Of the standard library, so others may have it: the kit copies databases, `doctor` prints the version.
    "sqlite3": ("backends.sqlite", "testing", "cli"),
    "redis": ("backends.redis",),
    "hiredis": ("backends.redis",),
    "psycopg": ("backends.postgres", "testing"),
    "psycopg_pool": ("backends.postgres",),
    "pymysql": ("backends.mysql", "testing"),
    "sqlalchemy": ("backends.sql",),
    "nats": ("backends.nats",),
    "confluent_kafka": ("backends.kafka",),
    "gevent": ("native",),
    "cryptography": ("tokens",),
    "obstore": ("workflow",),
    "starlette": ("server", "integrations"),
    "celery": ("integrations.celery",),
    "django": ("integrations",),
    "uvicorn": ("server",),
    "h11": ("backends.http", "workflow.remote"),
    "jwt": ("server",),
    "msgspec": ("server",),
    "pytest": ("testing",),
    "_pytest": ("testing",),
    "typer": ("cli",),
    "click": ("cli",),
    "rich": ("cli",),
    "platformdirs": ("cli",),
}

CREATED_AT_IMPORT = {
    "Lock",
    "RLock",
    "Condition",
    "Event",
    "Semaphore",
    "Thread",
    "Timer",
    "local",
    "socket",
    "connect",
}

MAX_LINES = 400
LONG_LINES = 200


@dataclass(frozen=True)
class Module:
    """One source file, as far as its imports matter."""

    name: str
    path: Path
    tree: ast.Module
    imports: frozenset[str] = field(default=frozenset())
    at_run_time: frozenset[str] = field(default=frozenset())

    @property
    def unit(self) -> str:
        """The row of the table that covers this module: the longest one that is a prefix of its name."""
        parts = self.name.split(".")[1:]
        candidates = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
        return next((unit for unit in candidates if unit in ARROWS), "")


def _imported(node: ast.AST, package: str) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=0):
            yield from (f"{module}.{alias.name}" for alias in names)
        case ast.ImportFrom(level=level):
            raise AssertionError(f"{package}: a relative import ({'.' * level}); say where it comes from")


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _walk(tree: ast.AST, *, skip_types: bool = False, skip_functions: bool = False) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if skip_types and _for_types_only(child):
            continue
        if skip_functions and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield child
        yield from _walk(child, skip_types=skip_types, skip_functions=skip_functions)


@cache
def modules() -> dict[str, Module]:
    """Every module of the package, by dotted name."""
    found: dict[str, Module] = {}
    for path in sorted((SOURCE / ROOT).rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        everything = frozenset(target for node in _walk(tree) for target in _imported(node, name))
        at_import = _walk(tree, skip_types=True, skip_functions=True)
        found[name] = Module(
            name, path, tree, everything, frozenset(target for node in at_import for target in _imported(node, name))
        )
    return found


def _resolve(target: str) -> str | None:
    """The module of ours that an imported dotted name lives in."""
    while target.startswith(f"{ROOT}.") and target not in modules():
        target = target.rpartition(".")[0]
    return target if target in modules() else None


def test_every_module_is_covered_by_the_table() -> None:
    uncovered = [module.name for module in modules().values() if not module.unit and module.name != ROOT]

    assert uncovered == [], "give each of these a row in ARROWS"


def test_the_table_itself_has_no_cycle_and_names_only_rows() -> None:
    graph = {unit: set(allowed.split()) for unit, allowed in ARROWS.items()}

    # A facade's row may name a sibling that some release folds into another file; the arrow stays allowed.
    assert {name for allowed in graph.values() for name in allowed} <= {*ARROWS, "instrument"}
    graphlib.TopologicalSorter(graph).prepare()


def test_imports_point_only_where_the_table_allows() -> None:
    wrong = []
    for module in modules().values():
        if module.name == ROOT:
            continue
        allowed = {module.unit, *ARROWS[module.unit].split()}
        for target in module.imports:
            found = _resolve(target)
            if found is None:
                continue
            unit = modules()[found].unit
            if unit not in allowed and not (found == ROOT and module.unit in {"testing", "cli"}):
                wrong.append(f"{module.name} imports {target}")

    assert wrong == []


def test_there_is_no_cycle_between_modules() -> None:
    graph: dict[str, set[str]] = {}
    for module in modules().values():
        targets = {found for target in module.at_run_time if (found := _resolve(target))}
        graph[module.name] = targets - {module.name}
    # A package's __init__ lists its own modules, which may in turn not import the package.
    graphlib.TopologicalSorter(graph).prepare()


def test_drivers_are_imported_only_in_their_own_folder() -> None:
    wrong = []
    for module in modules().values():
        for target in module.imports:
            owners = OWNERS.get(target.partition(".")[0])
            if owners is not None and module.unit not in owners:
                wrong.append(f"{module.name} imports {target}")

    assert wrong == []


def test_threading_and_time_are_bound_late() -> None:
    # gevent patches these modules after ours were imported: a name taken out of them stays unpatched.
    wrong = [
        f"{module.name}: from {node.module} import {', '.join(alias.name for alias in node.names)}"
        for module in modules().values()
        for node in _walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.module in {"threading", "time", "socket", "select", "queue"}
    ]

    assert wrong == []


def test_importing_creates_no_lock_thread_or_client() -> None:
    wrong = []
    for module in modules().values():
        for node in _walk(module.tree, skip_functions=True):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func).rpartition(".")[2]
                if called in CREATED_AT_IMPORT:
                    wrong.append(f"{module.name}:{node.lineno} {ast.unparse(node.func)}()")

    assert wrong == []


def test_every_module_says_what_it_is_for() -> None:
    assert [module.name for module in modules().values() if not ast.get_docstring(module.tree)] == []


def test_no_file_is_long() -> None:
    lengths = {
        str(module.path.relative_to(SOURCE)): len(module.path.read_text(encoding="utf-8").splitlines())
        for module in modules().values()
    }
    for path, lines in sorted(lengths.items(), key=lambda item: -item[1]):
        if lines > LONG_LINES:
            print(f"{path}: {lines} lines")  # noqa: T201  shown with -rP: worth a look, not wrong

    assert {path: lines for path, lines in lengths.items() if lines > MAX_LINES} == {}
