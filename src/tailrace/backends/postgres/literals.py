"""Values as they stand in a statement, for connections of applications: each driver marks places for them, and converts
what is put there, in its own way.
"""

import re
from collections.abc import Mapping, Sequence

from tailrace.backends.sql.batches import by_topic
from tailrace.spi import Entry
from tailrace.spi.identities import random_incarnation, random_tag

_VALUE = re.compile(rb"%\((\w+)\)b|%%")


def values_of(entry: Entry) -> Mapping[str, bytes]:
    """Return what the statements of an append want, by name, for one topic that is there or is not."""
    (batch,) = by_topic([entry])
    size, largest = batch.sizes
    count, name = len(batch.payloads), batch.topic.encode()
    one = {"name": name, "count": count, "size": size, "largest": largest, "tag": random_tag()}
    several = {
        "names": [name],
        "counts": [count],
        "sizes": [size],
        "largests": [largest],
        "starts": [0],
        "incarnations": [random_incarnation()],
        "payloads": batch.payloads,
        "owners": [1] * count,
    }
    return {key: _literal(value) for key, value in {**one, **several}.items()}


def _literal(value: object) -> bytes:
    match value:
        case bytes():
            # Understood in one way only, whatever standard_conforming_strings is set to.
            return b"decode('" + value.hex().encode() + b"', 'hex')"
        case int():
            return b"%d" % value
        case Sequence():
            return b"ARRAY[" + b",".join(map(_literal, value)) + b"]"
        case _:
            raise AssertionError(value)


def with_values(statement: bytes, values: Mapping[str, bytes]) -> str:
    """Return a statement with its values in it."""
    return _VALUE.sub(lambda found: values[found[1].decode()] if found[1] else b"%", statement).decode()
