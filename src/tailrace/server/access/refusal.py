"""The one answer to everybody who is not let in; the log, and only the log, has the reason."""

import logging
from typing import TYPE_CHECKING

from tailrace.server.problems import Problem

if TYPE_CHECKING:
    from tailrace.server.request import Request

logger = logging.getLogger("tailrace.server.access")


def refused(reason: str, request: "Request") -> Problem:
    """Return the problem to raise.

    Args:
        reason: For the operator; holds nothing of the credential but a public id.
        request: For the address of the client. Its path is left out: a ticket may be in it.
    """
    client = request.scope.get("client")
    logger.info("refused %s: %s", client[0] if client else "a client without an address", reason)
    return Problem("unauthenticated", "this needs a valid credential")
