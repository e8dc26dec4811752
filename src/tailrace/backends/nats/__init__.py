"""NATS JetStream: shared by many hosts, and replicated by the servers. See ``docs/design/nats.md``."""

import tailrace.backends.nats.driver  # noqa: F401 - first of all: it tells what is missing
from tailrace.backends.nats.backend import NatsStore, open_store
from tailrace.backends.nats.migrating import open_schema

__all__ = ["NatsStore", "open_schema", "open_store"]
