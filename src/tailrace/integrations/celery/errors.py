"""What only a task that is done more than once can run into."""

from celery.exceptions import Ignore

from tailrace.errors import DurableStreamError


class SupersededError(Ignore, DurableStreamError):  # type: ignore[misc]  # has no types
    """Another attempt at the same task has gone on with this stream, and this one can write nothing more to it.

    Let it leave the task. Celery then acknowledges the message and notes no result, as the other attempt will; and
    ``autoretry_for`` does not take it for a failure, after which two attempts would supersede each other for ever.
    """
