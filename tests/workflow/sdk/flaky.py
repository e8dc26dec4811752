"""A service whose reads fail when a test says so."""

import threading
from typing import Any

from tailrace.errors import DurableStreamUnavailableError
from tailrace.workflow import RunNotFoundError, StreamNotFoundError
from tailrace.workflow.model import ItemPage, StreamRef
from tailrace.workflow.service import Service


class Flaky:
    """Hands everything on to another service.

    Attributes:
        failed: Set once a read has failed because it should.
        missed: Set once a read was for something that is not there.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._failures = 0
        self.failed = threading.Event()
        self.missed = threading.Event()

    def fails(self, times: int) -> None:
        """Let the next reads fail."""
        with self._lock:
            self._failures = times

    def subscribe(self, stream: StreamRef, **options: Any) -> ItemPage:
        with self._lock:
            failing = self._failures > 0
            self._failures -= failing
        if failing:
            self.failed.set()
            raise DurableStreamUnavailableError("the store is away")
        try:
            return self._service.subscribe(stream, **options)
        except (RunNotFoundError, StreamNotFoundError):
            self.missed.set()
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)
