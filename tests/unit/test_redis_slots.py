"""Which slot a key has, what CLUSTER SLOTS says, and how redirections are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.crc import key_slot

from tailrace.backends.redis.errands import HOPS, PAUSES, Errand
from tailrace.backends.redis.keys import Keys
from tailrace.backends.redis.nodes import Question, Trouble
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.slots import (
    SLOTS,
    Redirect,
    all_are_asked,
    one_by_one,
    owners,
    primaries,
    redirect,
    slot_of,
    with_asking,
)

ASKED = ("asked", 1)
NODES = [
    [0, 99, [b"10.0.0.1", 7000, b"id"], [b"10.0.0.9", 7009, b"replica"]],
    [100, 100, [b"", 7001, b"id"]],
    [200, SLOTS - 1, [None, 7002, b"id", [b"hostname", b"x"]]],
]
ASK = Exception("ASK 5 10.0.0.2:7000")


@given(st.binary(max_size=20))
def test_a_key_has_the_slot_that_the_server_gives_it(key: bytes) -> None:
    assert slot_of(key) == key_slot(key)


@pytest.mark.parametrize("key", [b"", b"{}", b"{}a", b"a{b}c", b"a{b}{c}", b"a{{b}}", b"a}b{c}", b"a{b"])
def test_also_one_with_braces(key: bytes) -> None:
    assert slot_of(key) == key_slot(key)


@given(st.text(min_size=1, max_size=10).filter(lambda name: name.isprintable()))
def test_what_belongs_to_a_topic_is_in_one_slot(name: str) -> None:
    keys = Keys().of(name)
    assert slot_of(keys.identity) == slot_of(keys.stream) == slot_of(keys.channel)


def test_every_slot_has_the_owner_that_was_told_and_a_hole_has_none() -> None:
    found = owners(NODES, ASKED, None)
    assert len(found) == SLOTS
    assert (found[0], found[99], found[100], found[101]) == (("10.0.0.1", 7000),) * 2 + (("asked", 7001), None)
    assert found[-1] == ("asked", 7002)
    assert len(primaries(NODES)) == 3


def test_nodes_that_call_themselves_otherwise_are_found() -> None:
    found = owners(NODES, ASKED, lambda address: ("outside", address[1] + 10_000))
    assert found[0] == ("outside", 17000)
    assert redirect(ASK, ASKED, lambda _: ("outside", 1)) == Redirect(5, ("outside", 1), asking=True)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("MOVED 3999 127.0.0.1:6381", Redirect(3999, ("127.0.0.1", 6381), asking=False)),
        ("ASK 3999 some.host:6381", Redirect(3999, ("some.host", 6381), asking=True)),
        ("MOVED 1 ::1:6381", Redirect(1, ("::1", 6381), asking=False)),
        ("MOVED 1 :6381", Redirect(1, ("asked", 6381), asking=False)),
        ("ERR whatever MOVED 1 a:1", None),
        ("TRYAGAIN Multiple keys request during rehashing of slot", None),
    ],
)
def test_a_redirection_is_read(said: str, found: Redirect | None) -> None:
    assert redirect(Exception(said), ASKED, None) == found


def test_a_reply_that_is_no_error_is_no_redirection() -> None:
    assert redirect(b"MOVED 1 a:1", ASKED, None) is None


def test_asking_is_said_before_each_command() -> None:
    commands = pack((b"HMGET", b"k", b"f")) + pack((b"XLEN", b"s"))
    asking = (b"ASKING",)
    assert one_by_one(with_asking(commands)) == [asking, (b"HMGET", b"k", b"f"), asking, (b"XLEN", b"s")]


def test_only_when_none_of_its_keys_is_there_a_question_goes_elsewhere_as_a_whole() -> None:
    commands = pack((b"HMGET", b"k", b"f")) + pack((b"XLEN", b"s")) + pack((b"TIME",))
    clock = [b"1", b"2"]
    assert all_are_asked(commands, [ASK, ASK, clock])
    assert not all_are_asked(commands, [ASK, 0, clock])
    assert not all_are_asked(commands, [[b"1"], ASK, clock])


def test_no_question_goes_round_for_ever() -> None:
    errand: Errand | None = Errand(0, Question(b"k", b"", 1), ASKED)
    hops = tries = 0
    while errand is not None:
        hops, last, errand = hops + 1, errand, errand.on(ASKED)
    while last is not None:
        tries, last = tries + 1, last.put_off(ASKED)  # type: ignore[assignment]
    assert (hops, tries) == (HOPS + 1, len(PAUSES) + 1)


def test_what_no_node_did_is_known_not_to_be_done() -> None:
    errand = Errand(0, Question(b"k", b"", 1), ASKED)
    for said in ("MOVED 1 a:1", "ASK 1 a:1", "TRYAGAIN later"):
        answer = errand.final([Exception(said)], "the cluster")
        assert isinstance(answer, Trouble)
        assert not answer.sent


def test_replies_to_asking_are_left_out() -> None:
    errand = Errand(0, Question(b"k", b"", 2), ASKED, asking=True)
    assert errand.final([b"OK", 1, b"OK", 2], "the cluster") == [1, 2]
