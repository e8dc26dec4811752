"""Keeping credentials and tokens out of logs of requests: their place is the query, which servers log."""

import logging
import re

_SECRETS = re.compile(r"([?&](?:ticket|cursor)=)[^&\s\"]*")


def redacted(text: str) -> str:
    """Return a path with its query, the values of tickets and tokens replaced."""
    return _SECRETS.sub(r"\1...", text)


class Redaction(logging.Filter):
    """Rewrites records of an access log; drops none."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace what is secret in the arguments of a record."""
        if isinstance(record.args, tuple):
            record.args = tuple(redacted(value) if isinstance(value, str) else value for value in record.args)
        return True


def redact_access_log(name: str = "uvicorn.access") -> None:
    """Redact what a logger is given from now on. Idempotent."""
    logger = logging.getLogger(name)
    if not any(isinstance(filter_, Redaction) for filter_ in logger.filters):
        logger.addFilter(Redaction())
