"""The application of the Celery tests: its client is connected, and used, before the pool is forked."""

import os

from celery import Celery
from tests.forks.children import use

import tailrace

streams = tailrace.connect(os.environ["TEST_STORE"])
streams.topic("imports").append(b"%d" % os.getpid())

folder = os.environ["TEST_FOLDER"]
app = Celery("tasks", broker="filesystem://", broker_connection_retry_on_startup=True, task_ignore_result=True)
app.conf.broker_transport_options = {
    "data_folder_in": f"{folder}/queue",
    "data_folder_out": f"{folder}/queue",
    "control_folder": f"{folder}/control",
}


@app.task
def work(number: int) -> None:
    """Use the inherited client, and report by it."""
    use(streams, f"task{number}", b"x")
    streams.topic("done").append(b"%d %d" % (number, os.getpid()))
