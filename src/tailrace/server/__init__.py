"""Topics over HTTP: an ASGI application, and what ``tailrace serve`` runs. Needs the extra ``server``."""

from tailrace.server.application import Application
from tailrace.server.environment import from_environment
from tailrace.server.principals import Action, Anybody, Gate, Grant, Principal
from tailrace.server.problems import Problem
from tailrace.server.settings import ServerSettings

__all__ = [
    "Action",
    "Anybody",
    "Application",
    "Gate",
    "Grant",
    "Principal",
    "Problem",
    "ServerSettings",
    "from_environment",
]
