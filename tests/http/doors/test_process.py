"""A server process ends when it is told to, whatever hangs in it."""

import resource
import signal
import subprocess
import sys

import httpx
import pytest
from tests.http.doors.serving import PATIENCE, listener

from tailrace.server import process as serving
from tailrace.testing.servers.waiting import line_of

HANGS = """
import sys, threading
from tailrace.opening import open_backend
from tailrace.server import Application, listening, process
from tailrace.tokens import KeyRing

backend, options = open_backend("memory://", {})
backend.close = threading.Event().wait
application = Application(backend, KeyRing.new(), options=options)
with listening.listen("127.0.0.1", int(sys.argv[1])) as bound:
    print("listening", flush=True)
    process.serve(application, application, bound, grace=1)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_store_that_hangs_does_not_hold_the_process_beyond_its_grace(number: signal.Signals) -> None:
    with listener() as bound:
        port = bound.getsockname()[1]
    command = [sys.executable, "-c", HANGS, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert line_of(process) == b"listening\n"
        # Answered, so the handlers of signals are in place.
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE).status_code == 200
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)

    assert process.returncode == 128 + number
    assert b"something hung" in err


def test_readers_beyond_the_usual_limit_of_open_files_are_served() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        serving._raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
