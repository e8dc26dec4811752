"""The stream and the bucket of a store, for ``tailrace migrate``."""

import json
from collections.abc import Sequence

from typing_extensions import override

from tailrace.backends.handle import patience
from tailrace.backends.nats.core import Core
from tailrace.backends.nats.ground import FORMAT, bucket_settings, stream_settings
from tailrace.backends.nats.location import Location, locate
from tailrace.options import StoreOptions, StoreURL
from tailrace.spi import Migration, Schema


class NatsSchema(Schema):
    """The stream and the bucket of one name, which need not exist. Blocking."""

    def __init__(self, location: Location, options: StoreOptions) -> None:
        self._location = location
        self._core = Core(location, options, patience(options))

    @property
    @override
    def newest(self) -> int:
        return FORMAT

    @override
    def version(self) -> int:
        return FORMAT if self._core.run(self._core.ground.look) else 0

    @override
    def pending(self) -> Sequence[Migration]:
        if self.version():
            return []
        names = self._location.names
        wanted = [bucket_settings(names, self._location.replicas)]
        if names.shared:
            wanted.append(stream_settings(names, self._location.replicas))
        return [Migration(FORMAT, "\n".join(f"nats stream add {each['name']} # {json.dumps(each)}" for each in wanted))]

    @override
    def apply(self) -> None:
        self._core.run(self._core.ground.make, max(30.0, self._core.patience))

    @override
    def close(self) -> None:
        self._core.close()


def open_schema(url: StoreURL, options: StoreOptions) -> Schema:
    """Open what ``nats://host:4222/?stream=...`` names."""
    return NatsSchema(locate(url), options)
