"""The browser of the examples' tests, for pages that have their reader open one."""

from tests.examples.conftest import chrome

__all__ = ["chrome"]
