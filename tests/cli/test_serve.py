"""``tailrace serve`` and ``tailrace access``: what they refuse, and a server from its first line to its end."""

import json
import re
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from tests.cli.commands import PATIENCE, Command
from tests.http.doors.serving import drained, listener
from tests.workflow.http.storing import announcing

from tailrace.cli.exits import Code
from tailrace.testing.servers.waiting import line_of, until
from tailrace.workflow.payloads.transport import PATH

_VERSION = "x-durable-workflow-control-plane-version"
VERSION = {_VERSION: "2"}


@pytest.fixture
def token_keys(run: Command, home: Path) -> str:
    run("keys", "new", "ring")
    return str(home / "ring")


@pytest.fixture
def access(run: Command, home: Path) -> tuple[str, str]:
    """A file with an access key, and the key."""
    key = run("access", "new", "access", "--name", "svc", "--scope", "append:run:*", "--scope", "read:run:*").stdout
    return str(home / "access"), key.decode().strip()


def free_port() -> int:
    with listener() as bound:
        return int(bound.getsockname()[1])


@pytest.fixture
def start(run: Command) -> "Started":
    return Started(run)


class Started:
    """Servers as processes of their own."""

    def __init__(self, run: Command) -> None:
        self._run = run

    def __call__(self, *options: str) -> tuple["subprocess.Popen[bytes]", str]:
        """Start one; return it and the URL that it says."""
        if "--uds" not in options:
            options = ("--port", str(free_port()), *options)
        store = () if "--store" in options else ("--store", "memory://")
        process = self._run.start("serve", *store, *options)
        said = line_of(process).decode()
        assert said.startswith("listening on "), (said, process.stderr and process.stderr.read())
        return process, said.split()[-1]


def ended(process: "subprocess.Popen[bytes]", code: int) -> str:
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    assert b"Traceback" not in err
    return err.decode()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_it_is_not_open_to_others_without_authentication(run: Command, host: str) -> None:
    said = run("serve", "--store", "memory://", "--host", host, code=Code.USAGE).stderr.decode()

    assert said.count("\n") == 1
    assert "--access" in said


def test_open_to_others_it_needs_keys_that_outlive_it(run: Command, access: tuple[str, str]) -> None:
    said = run("serve", "--store", "memory://", "--host", "0.0.0.0", "--access", access[0], code=Code.USAGE).stderr

    assert b"--keys" in said


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (("--access", "nowhere"), Code.KEYS_UNUSABLE, "nowhere"),
        (("--keys", "nowhere"), Code.KEYS_UNUSABLE, "nowhere"),
        (("--jwt-key", "nowhere", "--jwt-audience", "a"), Code.KEYS_UNUSABLE, "nowhere"),
        (("--jwt-key", "nowhere"), Code.USAGE, "audience"),
        (("--jwt-audience", "a"), Code.USAGE, "key"),
        (("--origin", "example.org"), Code.USAGE, "origin"),
        (("--host", "no host"), Code.USAGE, "no host"),
        (("--store", "nothing://"), Code.USAGE, "nothing"),
        (("--workflow-streams", "on"), Code.USAGE, "database"),
        (("--namespace", " "), Code.USAGE, "namespace"),
        (("--payload-store", "file:///nowhere"), Code.USAGE, "payloads"),
        (("--store", "sqlite:///runs.db", "--payload-store", "ftp://x"), Code.USAGE, "file:///dir"),
        (
            ("--store", "sqlite:///runs.db", "--payload-store", "file:///dev/null/x"),
            Code.STORE_UNAVAILABLE,
            "directory",
        ),
        (("--payload-max", "1"), Code.USAGE, "max_payload_bytes"),
        (("--payload-threshold", "many"), Code.USAGE, "many"),
    ],
)
def test_what_is_wrong_is_one_sentence(run: Command, options: tuple[str, ...], code: Code, word: str) -> None:
    store = () if "--store" in options else ("--store", "memory://")
    said = run("serve", "--port", str(free_port()), *store, *options, code=code).stderr.decode()

    assert word in said.splitlines()[-1]


def test_an_address_that_is_taken_is_said(run: Command) -> None:
    with listener() as taken:
        port = str(taken.getsockname()[1])
        said = run("serve", "--store", "memory://", "--port", port, code=Code.NOT_LISTENING).stderr

    assert b"in use" in said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, Code.TERMINATED), (signal.SIGINT, Code.INTERRUPTED)])
def test_a_signal_ends_streams_to_be_resumed_and_then_the_process(
    start: Started, number: signal.Signals, code: Code
) -> None:
    process, url = start()
    with httpx.Client(base_url=url, timeout=PATIENCE) as client:
        client.post("/v1/topics/t/records", content=b"hello")
        with client.stream("GET", "/v1/topics/t/events", params={"start": "beginning"}) as stream:
            lines = stream.iter_lines()
            # There are lines for as long as the stream is open.
            overdue = time.monotonic() + PATIENCE
            while "hello" not in next(lines):
                assert time.monotonic() < overdue, "the record does not come"
            process.send_signal(number)
            rest = list(lines)

    # A time to wait, and no event that says it is over.
    assert any(line.startswith("retry:") for line in rest)
    assert not any(line.startswith("event: end") for line in rest)
    assert "good until this process ends" in ended(process, code)


def test_a_signal_ends_reads_that_wait_to_be_tried_again(start: Started) -> None:
    process, url = start()
    with httpx.Client(base_url=url, timeout=PATIENCE) as client:
        token = client.post("/v1/topics/t/checkpoint").json()["token"]
        waiting = b"GET /v1/topics/t/records?wait=60&cursor=" + token.encode() + b" HTTP/1.1\r\nhost: localhost\r\n\r\n"
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            connection.sendall(waiting)
            until(lambda: "tailrace_server_streams 1\n" in client.get("/metrics").text, "the read waits")
            process.terminate()
            answer = drained(connection)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b'"retryable": true' in answer
    ended(process, Code.TERMINATED)


def test_workflow_streams_are_served_as_they_are_asked_for(start: Started, home: Path) -> None:
    store = ("--store", f"sqlite:///{home}/runs.db")
    process, url = start(*store, "--namespace", "Orders", "--namespace", "billing", "--runs", "registered")
    with httpx.Client(base_url=url, timeout=PATIENCE, headers={"x-namespace": "orders", **VERSION}) as client:
        items = "/api/workflows/w/runs/r/streams/s/items"
        assert client.post(items, json={"items": [{}]}).json()["reason"] == "instance_not_found"
        assert client.post("/api/workflows", json={"workflow_id": "w", "run_id": "r"}).status_code == 201
        assert client.post(items, json={"items": [{}]}).json()["accepted_offsets"] == [0]
        assert client.get(items, headers={"x-namespace": "billing"}).json()["reason"] == "instance_not_found"
        assert client.get(items, headers={"x-namespace": "default"}).json()["reason"] == "namespace_not_found"
    process.terminate()
    ended(process, Code.TERMINATED)
    process, url = start(*store, "--workflow-streams", "off")
    assert httpx.get(f"{url}/api/cluster/info", headers=VERSION).status_code == 404
    process.terminate()
    ended(process, Code.TERMINATED)


def test_payloads_are_stored_where_and_as_large_as_it_is_said(start: Started, home: Path) -> None:
    payloads = ("--payload-store", (home / "payloads").as_uri(), "--payload-threshold", "1KiB", "--payload-max", "2kB")
    process, url = start("--store", f"sqlite:///{home}/runs.db", *payloads)
    with httpx.Client(base_url=url, timeout=PATIENCE, headers=VERSION) as client:
        told = client.get("/api/cluster/info").json()["namespace"]["external_payload_storage"]
        assert (told["threshold_bytes"], told["transport"]["limits"]["max_payload_bytes"]) == (1024, 2000)
        for size, status in ((2000, 201), (2001, 413)):
            content = b"x" * size
            assert client.post(PATH, content=content, headers=announcing(content)).status_code == status
    process.terminate()
    ended(process, Code.TERMINATED)
    assert [path.stat().st_size for path in (home / "payloads" / "default").iterdir()] == [2000]


def test_a_signal_ends_reads_of_workflow_streams_with_an_answer(start: Started, home: Path) -> None:
    process, url = start("--store", f"sqlite:///{home}/runs.db")
    with httpx.Client(base_url=url, timeout=PATIENCE, headers=VERSION) as client:
        items = "/api/workflows/w/runs/r/streams/s/items"
        client.post(items, json={"items": [{}]})
        waiting = f"GET {items}?from=1&wait_seconds=60 HTTP/1.1\r\nhost: localhost\r\n{_VERSION}: 2\r\n\r\n"
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            connection.sendall(waiting.encode())
            until(lambda: "tailrace_server_streams 1\n" in client.get("/metrics").text, "the read waits")
            process.terminate()
            answer = drained(connection)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"items":[],"next_offset":1,"terminal":false' in answer
    ended(process, Code.TERMINATED)


def test_with_access_keys_only_their_holders_are_let_in_until_they_are_revoked(
    run: Command, start: Started, access: tuple[str, str], token_keys: str
) -> None:
    file, key = access
    process, url = start("--access", file, "--keys", token_keys, "--access-log")
    with httpx.Client(base_url=url, timeout=PATIENCE) as client:
        bearer = {"authorization": f"Bearer {key}"}
        assert client.get("/v1/topics/run:1").status_code == 401
        assert client.post("/v1/topics/run:1/records", content=b"x", headers=bearer).status_code == 204
        assert client.post("/v1/topics/other/records", content=b"x", headers=bearer).status_code == 403
        made = client.post("/v1/tickets", json={"topic": "run:1"}, headers=bearer)
        assert made.status_code == 201
        ticket = made.json()["ticket"]
        read = {"start": "beginning", "ticket": ticket}
        page = client.get("/v1/topics/run:1/records", params=read)
        assert [record["data"] for record in page.json()["records"]] == ["x"]
        again = client.get("/v1/topics/run:1/records", params={"cursor": page.json()["next"], "ticket": ticket})
        assert again.json()["records"] == []
        assert client.post("/v1/tickets", json={"prefix": "r"}, headers=bearer).status_code == 403
        run("access", "revoke", file, key.split("_")[1])
        until(lambda: client.get("/v1/topics/run:1", headers=bearer).status_code == 401, "the key is refused")
        assert client.get("/v1/topics/run:1", params={"ticket": ticket}).status_code == 401
    process.terminate()
    log = ended(process, Code.TERMINATED)

    assert "ticket=..." in log
    assert "cursor=..." in log
    for secret in (key, key.split("_", 2)[2], ticket, page.json()["next"]):
        assert secret not in log


def test_it_listens_on_a_socket_of_its_owner_and_takes_it_away(start: Started, home: Path) -> None:
    path = home / "socket"
    # Left by one that was killed.
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    process, said = start("--uds", str(path))
    assert said == f"unix:{path}"
    assert not path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://localhost") as client:
        assert client.get("/healthz").status_code == 200
    second = start._run("serve", "--store", "memory://", "--uds", str(path), code=Code.NOT_LISTENING)
    assert b"another server" in second.stderr
    process.terminate()
    ended(process, Code.TERMINATED)
    assert not path.exists()


def test_a_file_of_another_kind_is_not_taken_for_a_socket(run: Command, home: Path) -> None:
    (home / "file").write_text("mine")

    run("serve", "--store", "memory://", "--uds", str(home / "file"), code=Code.NOT_LISTENING)

    assert (home / "file").read_text() == "mine"


def test_access_keys_are_shown_once_and_listed_without_secrets(run: Command, home: Path) -> None:
    first = run("access", "new", "file", "--name", "a", "--scope", "admin:*").stdout.decode().strip()
    more = ("--scope", "read:x%20y", "--tenant", "t", "--expires-in", "1d", "--json")
    second = json.loads(run("access", "new", "file", "--name", "b", *more).stdout)

    assert re.fullmatch(r"trk_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", first)
    listed = run("access", "list", "file", "--json").stdout.decode()
    rows = [json.loads(line) for line in listed.splitlines()]
    assert [(row["name"], row["tenant"], row["scopes"]) for row in rows] == [
        ("a", "", ["admin:*"]),
        ("b", "t", ["read:x%20y"]),
    ]
    assert rows[0]["expires"] is None
    assert rows[1]["expires"].endswith("Z")
    everything = listed + run("access", "list", "file").stdout.decode() + (home / "file").read_text()
    assert first[17:] not in everything
    assert second["key"][17:] not in everything
    assert stat.S_IMODE((home / "file").stat().st_mode) == 0o600


def test_what_access_can_not_do_is_said(run: Command, home: Path) -> None:
    run("access", "new", "file", "--name", "a b", "--scope", "read:*", code=Code.USAGE)
    run("access", "new", "file", "--name", "a", "--scope", "read", code=Code.USAGE)
    run("access", "list", "file", code=Code.KEYS_UNUSABLE)
    run("access", "new", "file", "--name", "a", "--scope", "read:*")
    run("access", "revoke", "file", "000000000000", code=Code.KEYS_UNUSABLE)
