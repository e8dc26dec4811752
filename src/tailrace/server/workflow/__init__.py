"""Workflow Streams over HTTP: the routes below ``/api``, as the public service contract has them."""

from tailrace.server.workflow.plane import ControlPlane
from tailrace.server.workflow.settings import namespace_of

__all__ = ["ControlPlane", "namespace_of"]
