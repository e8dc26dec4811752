"""Tests among greenlets: ``python -m tests.gevent.patched before|after FILE [PYTEST OPTION ...]``.

``before``: Tailrace is imported before the process is patched; ``after``: the other way round. Fails if a test fails,
or if something in a test blocked the hub for longer than ``MOST`` seconds.
"""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

from pytest import Item, hookimpl, main  # noqa: PT013 - in either order, pytest comes before the patch

MOST = 0.5


class Naming:
    """Tells the ticker which test is running."""

    def __init__(self, ticker) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - importable once patched
        self._ticker = ticker

    @hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Item) -> Iterator[object]:
        self._ticker.tick(item.name)
        result = yield
        self._ticker.tick("")
        return result

    @hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, nextitem: Item | None) -> None:
        if nextitem is None:
            # With the last one the server goes, and its folder is removed.
            self._ticker.tick("")


def run(when: str, file: str, *options: str) -> int:
    """Run the tests of one file of this folder."""
    if when == "before":
        stores = ("memory", "sqlite", "redis", "postgres", "mysql", "http")
        for name in ("", ".aio", ".broadcast.aio", *(f".backends.{store}" for store in stores)):
            importlib.import_module(f"tailrace{name}")
    from gevent import monkey

    monkey.patch_all()
    from tests.gevent.ticker import ticking

    quiet = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
    with ticking() as ticker:
        status = int(main([str(Path(__file__).with_name(file)), *quiet, *options], plugins=[Naming(ticker)]))
    # Between tests pytest itself imports, compiles and collects.
    gaps = sorted((gap for gap in ticker.gaps() if gap.during), key=lambda gap: gap.idle, reverse=True)
    for gap in gaps[:3]:
        print(f"blocked for {gap.idle * 1e3:.0f} of {gap.whole * 1e3:.0f} ms in {gap.during}")  # noqa: T201
    return status or int(gaps[0].idle > MOST)


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
