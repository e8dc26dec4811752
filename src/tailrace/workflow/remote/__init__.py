"""Runs and their streams that a server serves, over HTTP. Needs the extra ``client``."""

from tailrace.workflow.remote.awaited import AsyncRemoteService
from tailrace.workflow.remote.failures import RefusedError
from tailrace.workflow.remote.places import open_async_service, open_service
from tailrace.workflow.remote.service import RemoteService

__all__ = ["AsyncRemoteService", "RefusedError", "RemoteService", "open_async_service", "open_service"]
