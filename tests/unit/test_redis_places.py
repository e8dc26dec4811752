"""What URLs of several servers say."""

import pytest

from tailrace.backends.redis.opening import nodes_of, places_of
from tailrace.backends.redis.several import locate_cluster, locate_sentinel
from tailrace.errors import InvalidArgumentError
from tailrace.options import parse_url


def test_a_cluster_is_named_by_any_of_its_nodes() -> None:
    places, prefix = locate_cluster(parse_url("redis+cluster://me:p%40w@a:1,b,[::1]:3/?prefix=app&client_name=x"))
    assert places.seeds == [("a", 1), ("b", 6379), ("::1", 3)]
    assert prefix == "app"
    settings = places.template.settings
    assert (settings["username"], settings["password"], settings["client_name"]) == ("me", "p@w", "x")
    there = places.template.at(("c", 4))
    assert (there.settings["host"], there.settings["port"], there.name) == ("c", 4, "Redis at c:4")
    assert "p@w" not in repr(places) + nodes_of(places).name


def test_sentinels_are_named_with_the_service_that_they_watch() -> None:
    url = "redis+sentinel://:pw@a:1,b/my%2Fmaster/3?prefix=app&sentinel_username=s&sentinel_password=t"
    places, prefix = locate_sentinel(parse_url(url))
    assert (places.service, prefix) == ("my/master", "app")
    assert (places.template.settings["password"], places.template.settings["db"]) == ("pw", 3)
    first, second = places.sentinels
    assert (first.settings["host"], first.settings["port"]) == ("a", 1)
    assert (second.settings["host"], second.settings["port"]) == ("b", 26379)
    assert (first.settings["username"], first.settings["password"], first.settings.get("db")) == ("s", "t", None)


def test_the_password_of_the_servers_is_not_given_to_sentinels() -> None:
    places, _ = locate_sentinel(parse_url("redis+sentinel://:pw@a/m"))
    assert places.sentinels[0].settings.get("password") is None


@pytest.mark.parametrize("scheme", ["rediss+cluster", "rediss+sentinel"])
def test_both_can_be_encrypted(scheme: str) -> None:
    url = parse_url(f"{scheme}://a/{'m' if 'sentinel' in scheme else ''}?ssl_ca_certs=/x.pem")
    places, _ = locate_cluster(url) if "cluster" in scheme else locate_sentinel(url)
    assert places.template.connection_class.__name__ == "SSLConnection"
    assert places.template.at(("b", 2)).settings["ssl_ca_certs"] == "/x.pem"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://a/?nonsense=1", r"^redis:// has no setting called nonsense; it knows: .*password"),
        ("redis+cluster://a/?nonsense=1", r"^redis\+cluster:// has no setting called nonsense; it knows: .*password"),
        ("rediss+cluster://a/?nonsense=1", r"^rediss\+cluster:// has no setting called nonsense"),
        (
            "redis+sentinel://a/m?nonsense=1",
            r"^redis\+sentinel:// has no setting .*sentinel_password, sentinel_username",
        ),
        (
            "redis+sentinel://a/m/one",
            r"^redis\+sentinel:// .* like redis\+sentinel://localhost:26379/mymaster/0, not /one",
        ),
        ("rediss://a/one", r"^rediss:// .* like rediss://localhost:6379/0, not /one"),
        ("redis+sentinel://a/m?socket_connect_timeout=x", r"^redis\+sentinel:// can not be used like this"),
    ],
)
def test_a_message_is_about_the_url_that_was_written(url: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        places_of(parse_url(url))


@pytest.mark.parametrize(
    "url",
    [
        "redis+cluster://a/1",
        "redis+cluster://a?db=2",
        "redis+cluster://a:x",
        "redis+cluster://a:0",
        "redis+cluster://a:1,b:99999",
        "redis+cluster://a/?nonsense=1",
        "redis+cluster://a/?sentinel_password=x",
        "redis+cluster://a/?decode_responses=1",
        "redis+sentinel://a",
        "redis+sentinel://a/",
        "redis+sentinel://a/m/one",
        "redis+sentinel://a/m?protocol=4",
    ],
)
def test_a_url_that_can_not_be_meant_is_refused(url: str) -> None:
    locate = locate_cluster if "cluster" in url else locate_sentinel
    with pytest.raises(InvalidArgumentError):
        locate(parse_url(url))
