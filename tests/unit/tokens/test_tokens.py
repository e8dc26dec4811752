"""What a good token is: it gives back its cursor, shows nothing, and works in threads, children and after rotations."""

import base64
import logging
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from hypothesis import given
from hypothesis import strategies as st

import tailrace
from tailrace.boundaries import MAX_POSITION, Boundary, Unborn
from tailrace.cursors import CursorCodec
from tailrace.errors import (
    CursorUnavailableError,
    InvalidArgumentError,
    InvalidTokenError,
    InvalidTopicNameError,
    InvalidTypeError,
)
from tailrace.records import TopicCursor
from tailrace.tokens import KeyRing, TokenKind, Tokens, sealing
from tailrace.tokens import tokens as module

TOPIC = "run:42"
RING = KeyRing.new()
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


@given(
    topic=TEXT.filter(bool),
    audience=TEXT.filter(bool),
    tenant=TEXT,
    position=st.integers(0, MAX_POSITION),
    unborn=st.booleans(),
    kind=st.sampled_from(TokenKind),
    lifetime=st.none() | st.floats(60, 86400),
)
def test_a_token_gives_back_what_was_sealed_and_has_one_length_and_alphabet(
    topic: str, audience: str, tenant: str, position: int, unborn: bool, kind: TokenKind, lifetime: float | None
) -> None:
    tokens = Tokens(RING, audience=audience, tenant=tenant, lifetime=lifetime)
    place = Unborn(seen_at=position, grave=0) if unborn else Boundary(incarnation=1, position=position, tag=2)
    cursor = CursorCodec(topic).encode(place)

    token = tokens.seal(topic, cursor, kind=kind)
    opened = tokens.open(topic, token)

    assert re.fullmatch(r"[A-Za-z0-9_-]{112}", token)
    assert (opened.cursor, opened.kind, opened.terminal) == (cursor, kind, kind is not TokenKind.RESUME)
    assert (opened.expires_at is None) == (lifetime is None)


@given(
    one=st.tuples(TEXT.filter(bool), TEXT, TEXT.filter(bool)),
    other=st.tuples(TEXT.filter(bool), TEXT, TEXT.filter(bool)),
)
def test_a_token_opens_for_no_other_audience_tenant_and_topic(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    cursor = CursorCodec(one[2]).encode(Boundary(incarnation=1, position=1, tag=1))
    token = Tokens(RING, audience=one[0], tenant=one[1]).seal(one[2], cursor)
    opener = Tokens(RING, audience=other[0], tenant=other[1])
    if one == other:
        assert opener.open(other[2], token).cursor == cursor
    else:
        with pytest.raises(InvalidTokenError):
            opener.open(other[2], token)


def test_a_part_of_one_name_can_not_move_into_the_next(ring: KeyRing) -> None:
    cursor = CursorCodec("c").encode(Boundary(incarnation=1, position=1, tag=1))
    token = Tokens(ring, audience="ab", tenant="").seal("c", cursor)
    for audience, tenant, topic in (("a", "b", "c"), ("a", "", "bc"), ("a", "bc", "c")):
        with pytest.raises(InvalidTokenError):
            Tokens(ring, audience=audience, tenant=tenant).open(topic, token)


def test_two_tokens_for_one_cursor_differ_in_all_but_version_and_key(tokens: Tokens, cursor: TopicCursor) -> None:
    made = {tokens.seal(TOPIC, cursor) for _ in range(500)}

    assert len(made) == 500
    assert len({token[:6] for token in made}) == 1
    assert len({token[8:40] for token in made}) == 500
    assert len({token[40:] for token in made}) == 500


def test_a_token_is_good_until_its_time_is_over(
    ring: KeyRing, cursor: TopicCursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: clock.now))
    tokens = Tokens(ring, audience="a", lifetime=0.5)
    token = tokens.seal(TOPIC, cursor)

    clock.now = 1000.499
    assert tokens.open(TOPIC, token).expires_at == 1000.5
    # Who opens decides nothing: the lifetime was sealed in.
    assert Tokens(ring, audience="a").open(TOPIC, token).expires_at == 1000.5
    clock.now = 1000.5
    with pytest.raises(InvalidTokenError):
        tokens.open(TOPIC, token)


def test_an_older_key_opens_what_it_sealed_until_it_is_retired(ring: KeyRing, cursor: TopicCursor) -> None:
    def with_ring(keys: KeyRing) -> Tokens:
        return Tokens(keys, audience="a")

    token = with_ring(ring).seal(TOPIC, cursor)
    rotated = ring.rotated()

    assert with_ring(rotated).open(TOPIC, token).cursor == cursor
    with pytest.raises(InvalidTokenError):
        with_ring(rotated.rotated(keep=1)).open(TOPIC, token)


def test_a_staged_key_opens_what_others_seal_with_it_already(ring: KeyRing, cursor: TopicCursor) -> None:
    behind = ring.rotated(stage=True)
    ahead = behind.rotated()
    token = Tokens(ahead, audience="a").seal(TOPIC, cursor)

    assert ahead.sealing.id != behind.sealing.id == ring.sealing.id
    assert Tokens(behind, audience="a").open(TOPIC, token).cursor == cursor


def test_an_authentic_token_whose_history_is_gone_is_told_so(tokens: Tokens) -> None:
    with tailrace.connect("memory://") as streams:
        topic = streams.topic(TOPIC)
        topic.append(b"before")
        token = tokens.seal(TOPIC, topic.checkpoint())
        streams.maintenance.delete(TOPIC)
        topic.append(b"another life")

        with (
            pytest.raises(CursorUnavailableError),
            topic.subscribe_from_cursor(tokens.open(TOPIC, token).cursor) as subscription,
        ):
            subscription.receive(timeout=10)


def test_threads_share_one_object(tokens: Tokens, cursor: TopicCursor) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: tokens.seal(TOPIC, cursor), range(400)))
        opened = list(pool.map(lambda token: tokens.open(TOPIC, token).cursor, made))

    assert len(set(made)) == 400
    assert set(opened) == {cursor}


FORKED = """
import os
from tailrace.boundaries import Boundary
from tailrace.cursors import CursorCodec
from tailrace.tokens import KeyRing, Tokens

tokens = Tokens(KeyRing.new(), audience="a")
cursor = CursorCodec("t").encode(Boundary(incarnation=7, position=41, tag=3))
tokens.open("t", tokens.seal("t", cursor))
read, write = os.pipe()
for _ in range(2):
    if os.fork() == 0:
        os.write(write, tokens.seal("t", cursor).encode())
        os._exit(0)
for _ in range(2):
    assert os.wait()[1] == 0
sealed = os.read(read, 1000).decode()
made = {sealed[:112], sealed[112:], tokens.seal("t", cursor)}
assert len(made) == 3
assert {tokens.open("t", token).cursor for token in made} == {cursor}
"""


def test_children_that_were_forked_seal_differently_and_their_parent_opens_it() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", FORKED], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr


def test_the_key_of_a_token_is_derived_as_rfc_5869_says() -> None:
    secret, seed = bytes(range(32)), bytes(range(100, 124))
    derived = HKDFExpand(hashes.SHA256(), 32, b"tailrace resume token 1" + seed[:12]).derive(secret)

    sealed = sealing.AESGCM(derived).encrypt(seed[12:], b"content", b"bound")

    assert sealing.seal(secret, seed, b"content", b"bound") == sealed
    assert sealing.unseal(secret, seed, sealed, b"bound") == b"content"


def test_a_token_is_made_as_the_design_page_says(ring: KeyRing, cursor: TopicCursor) -> None:
    # By hand, with the library alone: tokens that are out there must open with every release that knows version 1.
    seed = bytes(range(24))
    head = b"\x01" + ring.sealing.id + seed
    content = b"\x03" + (2**48 - 1).to_bytes(6) + bytes.fromhex(cursor)
    bound = head + b"\x00\x03\x00\x04" + "aä".encode() + b"acme" + TOPIC.encode()
    derived = HKDFExpand(hashes.SHA256(), 32, b"tailrace resume token 1" + seed[:12]).derive(ring.sealing.secret)
    token = base64.urlsafe_b64encode(head + sealing.AESGCM(derived).encrypt(seed[12:], content, bound)).decode()

    opened = Tokens(ring, audience="aä", tenant="acme").open(TOPIC, token)

    assert (opened.cursor, opened.kind, opened.expires_at) == (cursor, TokenKind.GAP, (2**48 - 1) / 1000)


def test_neither_words_nor_logs_show_a_cursor_a_token_or_a_key(
    ring: KeyRing, tokens: Tokens, cursor: TopicCursor, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = tokens.seal(TOPIC, cursor)
    opened = tokens.open(TOPIC, token)
    with pytest.raises(InvalidTokenError) as refused:
        tokens.open("other", token)

    secret = ring.sealing.line.split()[1]
    said = " ".join([repr(opened), repr(tokens), repr(ring), repr(ring.keys), str(refused.value), caplog.text])
    assert not [text for text in (cursor, token, secret, repr(ring.sealing.secret)) if text in said]
    assert caplog.records == []


def test_a_cursor_of_another_topic_is_not_sealed(tokens: Tokens, cursor: TopicCursor) -> None:
    for topic, wrong in (("other", cursor), (TOPIC, TopicCursor(cursor.upper())), (TOPIC, TopicCursor("x"))):
        with pytest.raises(CursorUnavailableError):
            tokens.seal(topic, wrong)
    with pytest.raises(InvalidTopicNameError):
        tokens.seal("", cursor)
    with pytest.raises(InvalidTopicNameError):
        tokens.open("", "token")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"audience": ""}, InvalidArgumentError),
        ({"audience": "\ud800"}, InvalidArgumentError),
        ({"audience": "ä" * 257}, InvalidArgumentError),
        ({"audience": b"a"}, InvalidTypeError),
        ({"tenant": None}, InvalidTypeError),
        ({"tenant": "x" * 513}, InvalidArgumentError),
        ({"lifetime": 0}, InvalidArgumentError),
        ({"lifetime": float("nan")}, InvalidArgumentError),
        ({"lifetime": "1h"}, InvalidTypeError),
        ({"ring": "keys"}, InvalidTypeError),
    ],
)
def test_settings_that_protect_nothing_are_refused(ring: KeyRing, wrong: dict, error: type[Exception]) -> None:
    with pytest.raises(error):
        Tokens(**({"ring": ring, "audience": "a"} | wrong))
