"""What ``doctor`` says about every store, whatever it is."""

import dataclasses
from typing import Any

from tailrace import limits
from tailrace.spi import Capabilities


def capabilities(declared: Capabilities) -> dict[str, Any]:
    """Return every declared capability, ready for JSON; its store's name as ``kind``."""
    values = dataclasses.asdict(declared)
    values["enforces"] = sorted(declared.enforces)
    # Shown among the limits.
    del values["max_payload"], values["limited_by"]
    return {"kind": values.pop("store"), **values}


def limits_of(declared: Capabilities) -> dict[str, int]:
    """Return the limits that hold on this store, in bytes and records."""
    return {
        "max_payload": min(declared.max_payload, limits.MAX_PAYLOAD_BYTES),
        "max_topic_name": limits.MAX_TOPIC_NAME_BYTES,
        "max_seal_error": limits.MAX_SEAL_ERROR_BYTES,
        "max_append_many": limits.MAX_APPEND_MANY,
    }


def warnings(declared: Capabilities) -> list[str]:
    """Return what a careful operator would want to be told of what a store declares."""
    return [] if declared.durable else ["records live only as long as this process"]
