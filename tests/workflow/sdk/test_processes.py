"""What holds among threads holds among greenlets, and in a child process, over HTTP as in a database."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.http.doors.serving import Served

from tailrace.workflow import Workflows

TOP = Path(__file__).parents[3]

GREENLETS = """
from gevent import monkey
monkey.patch_all()
import sys
import gevent
from tailrace import workflow
from tailrace.workflow import Cancellation

with workflow.connect(sys.argv[1]) as workflows:
    run = workflows.run("order/7", "r1")
    run.append("s", [0])
    cancellation = Cancellation()
    waiting = gevent.spawn(run.subscribe, "s", from_offset=1, wait_seconds=60, cancellation=cancellation)
    items = run.iterate("s", from_offset=1, wait_seconds=60)
    following = gevent.spawn(list, items)
    closed = run.iterate("s", from_offset=1, wait_seconds=60)
    closing = gevent.spawn(list, closed)
    # Others run while these wait.
    for _ in range(10):
        run.describe("s")
        gevent.sleep(0)
    cancellation.cancel()
    assert not waiting.get(timeout=30).items
    closed.close()
    assert closing.get(timeout=30) == []
    run.append("s", [1])
    run.close("s")
    assert [item.payload for item in following.get(timeout=30)] == [1]
"""

FORKED = """
import os, sys
from tailrace import workflow

with workflow.connect(sys.argv[1]) as workflows:
    run = workflows.run("order/7", "r1")
    run.append("s", ["before"])
    child = os.fork()
    run.append("s", ["child" if child == 0 else "parent"])
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    run.append("s", ["after"])
"""


@pytest.fixture(params=["database", "server"])
def url(request: pytest.FixtureRequest, db: str) -> str:
    if request.param == "database":
        return db
    server = request.getfixturevalue("server")
    assert isinstance(server, Served)
    return server.url


def perform(program: str, url: str) -> None:
    done = subprocess.run([sys.executable, "-c", program, url], cwd=TOP, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_greenlets_wait_and_are_ended_by_others(url: str) -> None:
    perform(GREENLETS, url)


def test_a_child_goes_on_with_connections_of_its_own(url: str, embedded: Workflows) -> None:
    perform(FORKED, url)
    payloads = [item.payload for item in embedded.run("order/7", "r1").subscribe("s").items]
    assert payloads[0] == "before"
    assert sorted(payloads[1:3]) == ["child", "parent"]
    assert payloads[3:] == ["after"]
