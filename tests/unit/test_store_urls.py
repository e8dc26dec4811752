"""Store URLs: taken apart without touching a store, and never printed with their password."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.errors import DurableStreamError, InvalidArgumentError, InvalidTypeError
from tailrace.options import StoreURL, parse_url


@pytest.mark.parametrize(
    ("url", "scheme", "location", "query"),
    [
        ("memory://", "memory", "", {}),
        ("memory://shared", "memory", "shared", {}),
        ("sqlite:///events.db", "sqlite", "/events.db", {}),
        ("sqlite:////var/lib/events.db", "sqlite", "//var/lib/events.db", {}),
        ("SQLite:///events.db", "sqlite", "/events.db", {}),
        ("sqlite:///a%20b%3F.db", "sqlite", "/a b?.db", {}),
        ("sqlite:///events.db?synchronous=normal&x=", "sqlite", "/events.db", {"synchronous": "normal", "x": ""}),
        ("redis://127.0.0.1:6379/0", "redis", "127.0.0.1:6379/0", {}),
        ("redis+cluster://a:1,b:2", "redis+cluster", "a:1,b:2", {}),
    ],
)
def test_a_store_url_is_taken_apart(url: str, scheme: str, location: str, query: dict[str, str]) -> None:
    parsed = parse_url(url)

    assert (parsed.scheme, parsed.location, dict(parsed.query), parsed.raw) == (scheme, location, query, url)


@pytest.mark.parametrize(
    "url",
    ["", "events.db", "/var/lib/events.db", "sqlite:events.db", "://x", "memory://\0", "x://[::1", "a://b?c=1&c=2"],
)
def test_what_is_not_a_store_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_url(url)


@pytest.mark.parametrize("url", [None, b"memory://", 7, ["memory://"]])
def test_a_store_url_must_be_text(url: object) -> None:
    with pytest.raises(InvalidTypeError, match="text"):
        parse_url(url)


@given(password=st.text("abcXYZ0189-._~%", min_size=1, max_size=20))
def test_a_password_is_never_printed(password: str) -> None:
    parsed = parse_url(f"redis://user:{password}@host.example/0")

    assert f":{password}@" not in parsed.text
    assert f":{password}@" not in repr(parsed)


@pytest.mark.parametrize("setting", ["password", "sentinel_password", "ssl_keyfile_password", "Password"])
def test_a_password_among_the_settings_is_never_printed(setting: str) -> None:
    parsed = parse_url(f"redis://h/0?prefix=a&{setting}=hush%26&protocol=3#x")

    assert parsed.text == f"redis://h/0?prefix=a&{setting}=***&protocol=3#x"
    assert "hush" not in repr(parsed)
    assert parsed.query[setting] == "hush&"


@given(url=st.text(max_size=60) | st.from_regex(r"[a-z+]{1,8}://[^\0]{0,40}", fullmatch=True))
def test_no_text_raises_anything_but_a_typed_error(url: str) -> None:
    try:
        parsed = parse_url(url)
    except DurableStreamError:
        return
    assert isinstance(parsed, StoreURL)
    assert parsed.scheme == parsed.scheme.lower()


@pytest.mark.parametrize("hosts", ["[::1]", "[::1]:1,b", "a:1,[::1]:2", "me:p[w@a,[::1]", "a,b,[fe80::1%25eth0]:3"])
def test_addresses_in_brackets_may_stand_anywhere_among_hosts(hosts: str) -> None:
    url = parse_url(f"x://{hosts}/0?a=b#c")

    assert (url.scheme, dict(url.query), url.raw) == ("x", {"a": "b"}, f"x://{hosts}/0?a=b#c")
    assert "p[w" not in url.text
