"""What an http:// URL says, what it may not say, and where the key comes from."""

import pytest

from tailrace.backends.http import Location, locate
from tailrace.errors import InvalidArgumentError, StoreUnusableError
from tailrace.options import parse_url


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAILRACE_KEY", raising=False)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://h", Location(host="h", port=80)),
        ("http://h/", Location(host="h", port=80)),
        ("http://h:8000/streams", Location(host="h", port=8000, prefix="/streams")),
        ("https://h/a/b%20c/", Location(host="h", port=443, tls=True, prefix="/a/b%20c")),
        ("https://h?ca=/etc/ca.pem", Location(host="h", port=443, tls=True, ca="/etc/ca.pem")),
        ("http://:k%2Fey@h", Location(host="h", port=80, key="k/ey")),
        ("http://[::1]:8000", Location(host="::1", port=8000)),
    ],
)
def test_a_url_names_a_server(url: str, found: Location) -> None:
    assert locate(parse_url(url)) == found


@pytest.mark.parametrize(
    ("location", "name"),
    [
        (Location(host="h", port=80, key="secret"), "the server at http://h"),
        (Location(host="h", port=8000, prefix="/p"), "the server at http://h:8000/p"),
        (Location(host="::1", port=443, tls=True), "the server at https://[::1]"),
    ],
)
def test_its_name_holds_no_key(location: Location, name: str) -> None:
    assert location.name == name
    assert "secret" not in repr(location)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://h?key=k", "easily logged"),
        ("http://h?timeout=5", "no setting called timeout"),
        ("http://me@h", "after a colon"),
        ("http://me:k@h", "after a colon"),
        ("http://", "needs a host"),
        ("http://h:99999", "needs a URL"),
        ("http://h?ca=x", "only with https"),
        ("http://:a%20b@h", "printable"),
        ("http://:a%0d%0ab@h", "printable"),
        ("http://h/a b", "percent-encode"),
        ("http://h/a\r\nx: y", "percent-encode"),
        ("http://h//a", "percent-encode"),
    ],
)
def test_what_can_not_be_meant_is_refused(url: str, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words) as caught:
        locate(parse_url(url))
    assert "k@h" not in str(caught.value)


def test_the_key_of_the_environment_is_for_urls_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_KEY", "of-the-environment")
    assert locate(parse_url("http://h")).key == "of-the-environment"
    assert locate(parse_url("http://:own@h")).key == "own"


def test_a_file_of_certificates_that_is_not_there_is_told() -> None:
    with pytest.raises(StoreUnusableError, match="can not be used"):
        Location(host="h", port=443, tls=True, ca="/nowhere/ca.pem").context()
