"""The driver, asked for before anything else is imported: a missing one is named by the registry."""

import nats

__all__ = ["nats"]
