"""The blocking client in a process that gevent has patched: the threads of the cases are greenlets there.

It is performed in a process of its own, because a patch can not be undone: ``python -m gevent.monkey --module pytest``.
"""

from tailrace import native, spi
from tailrace.options import EngineOptions
from tailrace.testing.drivers import Client, Driver, SyncDriver


class GeventDriver(Driver):
    """The blocking client, known to run among greenlets."""

    name = "gevent"
    callers_send = True

    def connect(self, backend: spi.Backend, options: EngineOptions) -> Client:
        assert native.patched(), "patch first: gevent.monkey.patch_all()"
        return SyncDriver().connect(backend, options)
