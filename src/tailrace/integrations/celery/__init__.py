"""A stream of a run that lives and ends with the Celery task that writes it. Needs the extra ``celery``."""

from tailrace.integrations.celery.errors import SupersededError
from tailrace.integrations.celery.stream import TaskStream, task_stream
from tailrace.integrations.celery.writing import ATTEMPT, Attempts

__all__ = ["ATTEMPT", "Attempts", "SupersededError", "TaskStream", "task_stream"]
