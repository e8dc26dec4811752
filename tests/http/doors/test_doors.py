"""What a request must get past before anybody asks who sent it."""

from typing import Any

import pytest

from tailrace.errors import InvalidArgumentError
from tailrace.server.doors import LOOPBACK_NAMES, Rules, check
from tailrace.server.problems import Problem

HERE = Rules(hosts=LOOPBACK_NAMES, only_here=True)
OPEN = Rules(origins=frozenset({"https://app.example.org"}))


def passed(
    rules: Rules,
    *headers: tuple[bytes, bytes],
    method: str = "GET",
    path: bytes = b"/",
    query: bytes = b"",
    client: Any = ("127.0.0.1", 1),
    host: bytes | None = b"localhost:8080",
) -> str:
    """Return the name of the problem; an empty one if there is none."""
    hosts = () if host is None else ((b"host", host),)
    scope = {
        "type": "http",
        "method": method,
        "path": path.decode(),
        "raw_path": path,
        "query_string": query,
        "headers": [*hosts, *headers],
        "client": client,
    }
    try:
        check(scope, rules)
    except Problem as problem:
        return problem.name
    return ""


@pytest.mark.parametrize(
    "host", [b"localhost", b"LOCALHOST:1", b"127.0.0.1:80", b"[::1]:8080", b"localhost.", b"[::1]"]
)
def test_names_of_this_machine_are_let_past(host: bytes) -> None:
    assert passed(HERE, host=host) == ""


@pytest.mark.parametrize(
    "host",
    [
        None,
        b"",
        b".",
        b":80",
        b"evil.example",
        b"localhost.evil.example",
        b"127.0.0.1.evil.example",
        b"localhost..",
        b"localhost:evil.example",
        b"localhost:80@evil.example",
        b"localhost, evil.example",
        b"[::1",
        b"::1",
        b"[::1]evil.example",
        b"[::1]:80:80",
        b"@localhost",
        b"\xff",
    ],
)
def test_without_authentication_no_other_name_is(host: bytes | None) -> None:
    assert passed(HERE, host=host) == "bad-host"


def test_two_hosts_are_refused_even_where_any_is_allowed() -> None:
    assert passed(OPEN, (b"host", b"localhost")) == "bad-host"


@pytest.mark.parametrize(
    "name",
    [
        b"forwarded",
        b"via",
        b"x-forwarded",
        b"x-forwarded-for",
        b"x-forwarded-proto",
        b"x-forwarded-host",
        b"x-original-forwarded-for",
        b"x-real-ip",
        b"x-client-ip",
        b"cf-connecting-ip",
        b"true-client-ip",
    ],
)
def test_what_a_proxy_passed_on_is_refused_while_there_is_no_authentication(name: bytes) -> None:
    assert passed(HERE, (name, b"")) == "proxied-without-auth"
    assert passed(OPEN, (name, b"x")) == ""


@pytest.mark.parametrize("client", [("10.1.2.3", 1), ("::ffff:10.1.2.3", 1), ("2001:db8::1", 1), ("testclient", 1)])
def test_and_so_is_what_came_from_another_machine(client: tuple[str, int]) -> None:
    assert passed(HERE, client=client) == "proxied-without-auth"
    assert passed(OPEN, client=client) == ""


@pytest.mark.parametrize(
    "client", [("127.0.0.1", 1), ("127.8.8.8", 1), ("::1", 1), ("::ffff:127.0.0.1", 1), None, ("", 0)]
)
def test_this_machine_and_sockets_of_its_files_are_near(client: Any) -> None:
    assert passed(HERE, client=client) == ""


def test_a_page_of_elsewhere_may_not_send() -> None:
    for origin in (
        b"https://evil.example",
        b"null",
        b"http://localhost:9",
        b"",
        b"https://app.example.org.evil.example",
    ):
        assert passed(HERE, (b"origin", origin), method="POST") == "bad-origin"
        assert passed(OPEN, (b"origin", origin), method="DELETE") == "bad-origin"


def test_a_page_of_ours_or_of_a_configured_origin_may() -> None:
    assert passed(HERE, (b"origin", b"http://localhost:8080"), method="POST") == ""
    assert passed(OPEN, (b"origin", b"https://app.example.org"), method="POST") == ""
    assert passed(Rules(origins=frozenset({"*"})), (b"origin", b"null"), method="POST") == ""
    assert passed(OPEN, method="POST") == ""


def test_of_two_origins_none_counts() -> None:
    good = (b"origin", b"https://app.example.org")

    assert passed(OPEN, good, good, method="POST") == "bad-origin"


def test_reading_needs_no_origin_because_browsers_keep_the_answer_from_the_page() -> None:
    assert passed(OPEN, (b"origin", b"https://evil.example")) == ""


def test_urls_and_headers_are_bounded() -> None:
    rules = Rules(max_url=100, max_headers=4, max_header_bytes=100)

    assert passed(rules, path=b"/" + b"a" * 59, query=b"b" * 40) == ""
    assert passed(rules, path=b"/" + b"a" * 60, query=b"b" * 40) == "uri-too-long"
    assert passed(rules, *[(b"a", b"b")] * 3) == ""
    assert passed(rules, *[(b"a", b"b")] * 4) == "headers-too-large"
    assert passed(rules, (b"a", b"b" * 81)) == ""
    assert passed(rules, (b"a", b"b" * 82)) == "headers-too-large"


@pytest.mark.parametrize("origin", ["app.example.org", "https://app.example.org/", "null", "", "HTTPS://A.EXAMPLE"])
def test_an_origin_that_no_browser_sends_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(InvalidArgumentError, match="origin"):
        Rules(origins=frozenset({origin}))
