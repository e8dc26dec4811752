"""The names of tables and indexes, as they stand in statements."""

import re
from collections.abc import Mapping

from tailrace.backends.sql.words import EXTRA_TABLES

TABLES = ("topics", "records", "graves", "remains", "version", *EXTRA_TABLES)
INDEXES = (
    "topics_by_name",
    "topics_by_age",
    "topics_by_idleness",
    "graves_by_age",
    "workflow_runs_by_id",
    "workflow_runs_going_on",
    "workflow_runs_by_end",
    "workflow_streams_by_topic",
    "workflow_streams_by_name",
    "workflow_streams_by_deadline",
    "workflow_streams_by_lease",
    "workflow_items_by_key",
    "workflow_payloads_by_name",
    "workflow_payloads_by_discard",
    "workflow_payloads_by_attempt",
    "workflow_claims_by_payload",
)

_NAME = re.compile(r"\{(\w+)\}")


class Tables:
    """The tables of one store.

    Args:
        schema: Where they are.
        prefix: How the names of all of them begin.
    """

    def __init__(self, schema: str, prefix: str) -> None:
        self.schema = schema
        self.prefix = prefix
        # An index is made in the schema of its table, and must not be said to be in one.
        self._names: Mapping[str, str] = {
            "schema": quoted(schema),
            **{name: f"{quoted(schema)}.{quoted(prefix + name)}" for name in TABLES},
            **{name: quoted(prefix + name) for name in INDEXES},
        }

    def __getitem__(self, name: str) -> str:
        return self._names[name]

    def fill(self, statement: str) -> str:
        """Return a statement with the names for ``{topics}`` and the like."""
        return _NAME.sub(lambda found: self._names[found[1]], statement)

    def query(self, statement: bytes, words: Mapping[str, str]) -> bytes:
        """Return a statement whose values are given as ``%(name)b``, as the driver takes it.

        Args:
            words: What else is put into it.
        """
        # A percent sign in a name is one to the driver too.
        names = {name: text.replace("%", "%%") for name, text in self._names.items()}
        return _NAME.sub(lambda found: {**names, **words}[found[1]], statement.decode()).encode()


def quoted(name: str) -> str:
    """Return a name as it stands in a statement."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def literal(text: str) -> str:
    """Return a text as it stands in a statement."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
