"""A process that serves: uvicorn with uvloop, ended by SIGTERM or Ctrl-C in a given time. Blocks until it ends."""

import asyncio
import logging
import os
import resource
import socket
import sys
import threading
import time
from types import FrameType

import uvicorn

from tailrace.server.application import Application
from tailrace.server.connection import Connection
from tailrace.server.doors import ASGIApplication
from tailrace.server.redaction import redact_access_log

logger = logging.getLogger("tailrace.server")

SWITCH_INTERVAL = 0.0005
"""Seconds that a busy thread keeps the interpreter from the others: a tenth of Python's own."""
KEEP_ALIVE = 75.0
"""Seconds that an idle connection is kept: longer than common proxies keep theirs, so it is they who close them."""


def serve(
    application: Application,
    outermost: ASGIApplication,
    listener: socket.socket,
    *,
    grace: float,
    access_log: bool = False,
) -> None:
    """Serve until a signal ends it.

    Args:
        application: What is served; told to end its streams when the signal comes.
        outermost: The application with everything that stands before it.
        listener: Bound already; closed at the end.
        grace: Seconds from the signal to the end of the process, whatever hangs.
        access_log: Whether to log a line for each request, without tickets and tokens.

    Raises:
        KeyboardInterrupt: The signal was SIGINT, or the caller's handler of SIGTERM made one of it.
    """
    _raise_file_limit()
    sys.setswitchinterval(SWITCH_INTERVAL)
    redact_access_log()
    _Server(configured(outermost, grace=grace, access_log=access_log), application, grace).run([listener])


def configured(outermost: ASGIApplication, *, grace: float = 20.0, access_log: bool = False) -> uvicorn.Config:
    """Return how uvicorn is told to serve an application."""
    return uvicorn.Config(
        outermost,
        loop="uvloop",
        http=Connection,
        ws="none",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        access_log=access_log,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=int(KEEP_ALIVE),
        # Then what has not ended is cancelled, and the rest of the time is left for the store to be closed.
        timeout_graceful_shutdown=max(1, int(grace * 0.7)),
    )


class _Server(uvicorn.Server):
    """Tells the application of a signal at once: it has to end its streams, or they would hold the process."""

    def __init__(self, config: uvicorn.Config, application: Application, grace: float) -> None:
        super().__init__(config)
        self._application = application
        self._grace = grace
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Runs as a handler of signals, between any two instructions of the main thread: it only leaves notes."""
        if not self.should_exit:
            threading.Thread(target=_end_process, args=(self._grace, 128 + sig), daemon=True).start()
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._drain)
        super().handle_exit(sig, frame)

    def _drain(self) -> None:
        self._application.drain()


def _end_process(after: float, code: int) -> None:
    # Daemonic: it is gone with a process that ends in time. A thread that hangs in a driver would hold the process.
    time.sleep(after)
    logger.error("something hung for %g seconds: the process is ended", after)
    logging.shutdown()
    os._exit(code)


def _raise_file_limit() -> None:
    """Each reader is a connection: use what the system allows this process, not the default for small programs."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (OSError, ValueError):
        logger.info("the limit of open files stays as it is")
