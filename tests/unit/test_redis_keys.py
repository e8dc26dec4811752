"""Every topic has keys of its own, in one slot, and they lead back to its name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace import InvalidArgumentError
from tailrace.backends.redis.keys import Keys
from tailrace.errors import InvalidTypeError

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)
AWKWARD = st.text("{}%7Da:is*?[]\\", min_size=1, max_size=12)


def hash_tag(key: bytes) -> bytes:
    """Return what a cluster hashes of a key, as the specification says."""
    start = key.find(b"{")
    end = key.find(b"}", start + 1)
    return key[start + 1 : end] if start >= 0 and end > start + 1 else key


@given(NAMES | AWKWARD)
def test_a_name_comes_back_and_its_keys_are_in_one_slot(name: str) -> None:
    keys = Keys("p").of(name)
    assert Keys("p").topic(keys.identity) == name
    tags = {hash_tag(key) for key in (keys.identity, keys.stream, keys.channel)}
    assert len(tags) == 1
    assert tags != {keys.identity}


@given(NAMES | AWKWARD, NAMES | AWKWARD)
def test_two_names_share_no_key(one: str, other: str) -> None:
    a, b = Keys("p").of(one), Keys("p").of(other)
    mine, theirs = {a.identity, a.stream, a.channel}, {b.identity, b.stream, b.channel}
    assert (mine == theirs) is (one == other)
    assert one == other or not mine & theirs


@pytest.mark.parametrize(
    "key", [b"", b"q:{a}:i", b"p:{a}:s", b"p:{}:i", b"p:{a}b}:i", b"p:{%}:i", b"p:{%7d}:i", b"p:{\xff}:i", b"p:a:i"]
)
def test_keys_of_somebody_else_lead_to_no_topic(key: bytes) -> None:
    assert Keys("p").topic(key) is None


@pytest.mark.parametrize("prefix", ["", "a{", "}b", "a\0b", "\ud800"])
def test_a_prefix_that_would_split_keys_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidArgumentError):
        Keys(prefix)


@pytest.mark.parametrize("prefix", [None, b"app", 7])
def test_a_prefix_that_is_no_text_is_refused(prefix: object) -> None:
    with pytest.raises(InvalidTypeError, match="must be text"):
        Keys(prefix)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("topics", "pattern"),
    [("", b"p:{*}:i"), ("run:", b"p:{run:*}:i"), ("*?[]^\\", b"p:{\\*\\?\\[\\]\\^\\\\*}:i"), ("}%", b"p:{%7D%25*}:i")],
)
def test_the_pattern_matches_what_it_says_and_no_more(topics: str, pattern: bytes) -> None:
    assert Keys("p").pattern(topics) == pattern
