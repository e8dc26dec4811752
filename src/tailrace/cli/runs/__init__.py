"""``tailrace runs``: runs of workflows and their streams."""

from tailrace.cli.runs.group import runs

__all__ = ["runs"]
