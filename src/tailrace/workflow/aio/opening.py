"""From a URL to what serves its runs, for coroutines. What blocks is done by a thread."""

import asyncio
import functools
from concurrent.futures import Future
from typing import cast

from tailrace.engine import Workers
from tailrace.workflow import opening
from tailrace.workflow.aio.embedded import AsyncEmbedded
from tailrace.workflow.aio.service import AsyncService
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.opening import WorkflowOptions


async def open_service(url: str, options: WorkflowOptions, namespace: str) -> AsyncService:
    """Open what a URL names. Waits for it.

    Raises:
        InvalidArgumentError: The URL or an option is wrong, or that store can not hold runs.
        StoreUnusableError: It can not be used as it is; the message says what to do.
        DurableStreamUnavailableError: It is away.
    """
    checked = opening.checked_options(url, options)
    if opening.is_remote(url):
        made = opening.remote().open_async_service(url, token=checked["token"], timeout=checked["timeout"])
        return cast("AsyncService", made)
    workers = Workers(1)
    begun = workers.run(functools.partial(opening.open_embedded, url, checked, namespace))
    workers.close()
    try:
        service = await asyncio.wrap_future(begun)
    except asyncio.CancelledError:
        begun.add_done_callback(_close_unwanted)
        raise
    return AsyncEmbedded(service)


def _close_unwanted(begun: "Future[EmbeddedService]") -> None:
    if not begun.cancelled() and begun.exception() is None:
        begun.result().close()
