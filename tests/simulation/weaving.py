"""The engine's own source with a point before every statement; and, for one test, with a fault in it.

Nothing is copied: each function keeps its identity and gets other code, compiled from the file that ships, and
gets its own back afterwards. What the engine's modules import late (``threading``, ``time``, ...) is replaced the
same way for as long as one history runs.
"""

import ast
import contextlib
import gc
import importlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.simulation import standins
from tests.simulation.world import World

_POINT = "__point__"

# The modules where threads meet. The others are pure: only one thread at a time is in them, under the engine's lock.
WOVEN = (
    "tailrace.engine.appender",
    "tailrace.engine.engine",
    "tailrace.engine.feed",
    "tailrace.engine.hints",
    "tailrace.engine.lane",
    "tailrace.engine.pump",
    "tailrace.engine.reader",
    "tailrace.engine.submission",
    "tailrace.engine.waiter",
    "tailrace.engine.workers",
    "tailrace.engine.writing",
    "tailrace.facade",
    "tailrace.subscription",
    "tailrace.topic",
)
PURE = (
    "tailrace.engine.backoff",
    "tailrace.engine.buffer",
    "tailrace.engine.chunk",
    "tailrace.engine.hub",
    "tailrace.engine.sidings",
    "tailrace.engine.ticket",
)
LEFT_ALONE = ("tailrace.engine.foreign",)
"""It has neither state nor time."""


@dataclass(frozen=True)
class Edit:
    """A deliberate fault: a piece of a module's source, and what stands there instead."""

    module: str
    before: str
    after: str


class _Points(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name == "__del__":
            # It runs wherever the collector happens to be called, perhaps in the next world.
            return node
        self.generic_visit(node)
        skip = 1 if ast.get_docstring(node) is not None else 0
        node.body[skip:] = _with_points(node.body[skip:])
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._blocks(node, "body", "orelse")

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._blocks(node, "body")

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._blocks(node, "body")

    def visit_With(self, node: ast.With) -> ast.AST:
        return self._blocks(node, "body")

    def visit_Try(self, node: ast.Try) -> ast.AST:
        return self._blocks(node, "body", "orelse")

    def _blocks(self, node: Any, *names: str) -> ast.AST:
        self.generic_visit(node)
        for name in names:
            setattr(node, name, _with_points(getattr(node, name)))
        return node  # type: ignore[no-any-return]


def _with_points(body: list[ast.stmt]) -> list[ast.stmt]:
    woven: list[ast.stmt] = []
    for statement in body:
        if not isinstance(statement, ast.Pass | ast.Global | ast.Nonlocal):
            call = ast.Expr(ast.Call(ast.Name(_POINT, ast.Load()), [], []))
            woven.append(ast.fix_missing_locations(ast.copy_location(call, statement)))
        woven.append(statement)
    return woven


def _codes(source: str, filename: str, *, points: bool) -> dict[str, CodeType]:
    tree = ast.parse(source, filename)
    if points:
        # Only what is inside a function: a class body runs once, at import.
        tree = _Points().visit(tree)
    found: dict[str, CodeType] = {}

    def collect(code: CodeType) -> None:
        for const in code.co_consts:
            if isinstance(const, CodeType):
                found.setdefault(f"{const.co_qualname}:{const.co_freevars}", const)
                collect(const)

    collect(compile(ast.fix_missing_locations(tree), filename, "exec"))
    return found


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    for value in list(vars(module).values()):
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            yield inspect.unwrap(value)
        elif isinstance(value, type) and value.__module__ == module.__name__:
            for member in vars(value).values():
                for function in _of(member):
                    if function.__code__.co_filename == module.__file__:
                        yield function


def _of(member: object) -> Iterator[FunctionType]:
    if isinstance(member, FunctionType):
        yield inspect.unwrap(member)
    elif isinstance(member, classmethod | staticmethod):
        yield member.__func__  # type: ignore[misc]
    elif isinstance(member, property) and isinstance(member.fget, FunctionType):
        yield member.fget


@contextlib.contextmanager
def woven(*edits: Edit) -> Iterator[None]:
    """Give the engine's functions their code with points, and with edits, inside this block."""
    before: list[tuple[FunctionType, CodeType]] = []
    # What a history that broke a rule has left behind ends now, and not in the middle of reading the sources.
    gc.collect()
    try:
        for name in (*WOVEN, *PURE):
            module = importlib.import_module(name)
            source = inspect.getsource(module)
            for edit in edits:
                if edit.module == name:
                    if source.count(edit.before) != 1:
                        raise AssertionError(f"{name}: not there exactly once: {edit.before!r}")
                    source = source.replace(edit.before, edit.after)
            codes = _codes(source, str(module.__file__), points=name in WOVEN)
            for function in _functions(module):
                code = function.__code__
                replacement = codes.get(f"{code.co_qualname}:{code.co_freevars}")
                if replacement is not None:
                    before.append((function, code))
                    function.__code__ = replacement
            vars(module)[_POINT] = _nowhere
        yield
    finally:
        for function, code in before:
            function.__code__ = code
        for name in (*WOVEN, *PURE):
            vars(importlib.import_module(name)).pop(_POINT, None)


@contextlib.contextmanager
def inhabited(world: World) -> Iterator[None]:
    """Let the woven engine live in a world inside this block."""
    names: Mapping[str, Any] = {
        "threading": standins.Threading(world),
        "time": standins.Time(world),
        "random": standins.Jitter(),
        "weakref": standins.Weakref(),
        _POINT: world.point,
    }
    replaced: list[tuple[dict[str, Any], str, Any]] = []
    for module_name in (*WOVEN, *PURE, "tailrace.backends.memory.backend", "tailrace.client"):
        variables = vars(importlib.import_module(module_name))
        for name, standin in names.items():
            # The store's own lock stays a real one: nobody is preempted in it.
            if name in variables and not (name == "threading" and "memory" in module_name):
                replaced.append((variables, name, variables[name]))
                variables[name] = standin
    try:
        yield
    finally:
        for variables, name, value in replaced:
            variables[name] = value


def _nowhere() -> None:
    """Outside of a world there is nobody to take the turn."""
