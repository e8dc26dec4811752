"""What URLs of NATS say."""

from pathlib import Path

import pytest

from tailrace.backends.nats.location import Location, locate
from tailrace.backends.nats.names import Names, digest
from tailrace.errors import InvalidArgumentError
from tailrace.options import parse_url


def located(text: str) -> Location:
    return locate(parse_url(text))


def test_a_plain_url_is_a_server_and_the_usual_names() -> None:
    location = located("nats://host")
    assert location == Location(servers=("nats://host:4222",))
    assert location.names == Names("tailrace", "shared")


def test_several_servers_share_a_login() -> None:
    location = located("nats://us%40er:p%2Fw@a:1,b,[::1]:3/?stream=mine")
    assert location.servers == ("nats://a:1", "nats://b:4222", "nats://[::1]:3")
    assert location.login == {"user": "us@er", "password": "p/w"}
    assert location.names.store == "mine"


def test_a_name_without_a_password_is_a_token() -> None:
    assert located("nats://s3cr%3At@a").login == {"token": "s3cr:t"}


def test_nothing_that_is_printed_holds_a_secret() -> None:
    location = located("nats://user:hunter2@a")
    assert "hunter2" not in repr(location) + location.name


def test_tls_is_asked_for_by_the_scheme_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "ca").touch()
    assert located("nats://a").tls is None
    assert located("tls://a").tls is not None
    by_file = located(f"nats://a?tls_ca={tmp_path / 'ca'}").tls
    assert by_file is not None
    assert by_file.ca == str(tmp_path / "ca")


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("nats://a?strem=x", "strem.*stream"),
        ("nats://a/mine", r"\?stream=mine"),
        ("nats://a:0", "host:port"),
        ("nats://a:nine", "can not be used"),
        ("nats://a?stream=a.b", "stream must have"),
        ("nats://a?stream=", "stream must have"),
        ("nats://a?layout=other", "shared or dedicated"),
        ("nats://a?replicas=0", "replicas"),
        ("nats://a?replicas=three", "replicas"),
        ("nats://a?creds=/no/such", "/no/such"),
        ("nats://a?tls_cert=/no/such", "/no/such"),
        ("nats://a?tls_first=perhaps", "tls_first"),
    ],
)
def test_what_can_not_be_used_is_named(url: str, named: str) -> None:
    with pytest.raises(InvalidArgumentError, match=named):
        located(url)


def test_who_one_is_can_be_said_in_one_way_only(tmp_path: Path) -> None:
    (tmp_path / "seed").touch()
    with pytest.raises(InvalidArgumentError, match="one way"):
        located(f"nats://user:p@a?nkey={tmp_path / 'seed'}")


@pytest.mark.parametrize("topic", ["a", "A", "a.b", "a b", "*", ">", "$JS.API", "\N{SNOWMAN}", "x" * 512])
def test_any_name_is_a_legal_word_of_a_subject(topic: str) -> None:
    word = Names().subject(topic).rpartition(".")[2]
    assert word == digest(topic)
    assert word.isalnum()
    assert word.isascii()


def test_names_that_differ_in_a_letter_have_other_subjects() -> None:
    topics = ["a", "A", "a ", "", "aa"]
    assert len({Names().subject(topic) for topic in topics}) == len(topics)
    assert Names("s", "dedicated").stream("a") != Names("s", "dedicated").stream("A")
    assert Names("s").stream("a") == Names("s").stream("A") == "s"
