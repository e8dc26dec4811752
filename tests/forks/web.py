"""The application of the gunicorn tests: its client is connected, and used, before the workers are forked."""

import json
import os
import threading
from collections.abc import Callable, Iterable

import tailrace
from tailrace import CLOSED, DurableStreamRecord

streams = tailrace.connect(os.environ["TEST_STORE"])
topic = streams.topic("t")
topic.append(b"imported by %d" % os.getpid())
imported_by = os.getpid()

if os.environ["TEST_FOLLOW"] == "yes":
    # A live reader in the master, and with it a pump. After the fork only the master has them.
    def follow() -> None:
        """Read until the end."""
        with streams.topic("master").subscribe_from_tail() as subscription:
            while subscription.receive(1.0) is not CLOSED:
                pass

    threading.Thread(target=follow, daemon=True).start()


def app(environ: dict[str, str], start_response: Callable[[str, list[tuple[str, str]]], object]) -> Iterable[bytes]:
    """Append the query string, and wait until it comes back."""
    payload = environ["QUERY_STRING"].encode()
    with topic.subscribe_from_tail() as subscription:
        topic.append(payload)
        while True:
            record = subscription.receive(10.0)
            assert isinstance(record, DurableStreamRecord), record
            if record.payload == payload:
                break
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"worker": os.getpid(), "imported by": imported_by}).encode()]
