"""From a URL to what serves its runs, for coroutines. What blocks is done by a thread."""

import functools
from typing import cast

from tailrace.aio.waiting import opened
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
    open_embedded = functools.partial(opening.open_embedded, url, checked, namespace)
    return AsyncEmbedded(await opened(open_embedded, EmbeddedService.close))
