"""Tickets as text: authentic or nothing, and never a resume token."""

import time

import pytest

from tailrace.boundaries import Boundary
from tailrace.cursors import CursorCodec
from tailrace.errors import InvalidArgumentError, InvalidTokenError
from tailrace.tokens import Key, KeyRing, KeyState, Ticket, Tickets, Tokens, sealing

RING = KeyRing.new()
TICKETS = Tickets(RING, audience="here")
WHOLE = Ticket("run:1", True, "acme", "key:0:svc", 1_900_000_000.5)


@pytest.mark.parametrize(
    "ticket",
    [
        WHOLE,
        Ticket("", False, "", "", 0.0),
        Ticket("é" * 256, False, "t" * 512, "h" * 600, time.time() // 1),
        Ticket("a\x01 b", True, "&?=", "%2F", 1.0),
    ],
)
def test_what_is_sealed_is_opened(ticket: Ticket) -> None:
    text = TICKETS.seal(ticket)

    assert TICKETS.open(text) == ticket
    assert text.startswith("tkt_")
    assert "=" not in text
    assert TICKETS.seal(ticket) != text


def test_a_change_of_any_character_is_noticed() -> None:
    text = TICKETS.seal(WHOLE)

    for place in range(len(text)):
        for other in ("A", "_", "é"):
            if text[place] != other:
                with pytest.raises(InvalidTokenError):
                    TICKETS.open(text[:place] + other + text[place + 1 :])


@pytest.mark.parametrize("wrong", ["", "tkt_", "tkt_AAAA", "tkt_" + "A" * 4000, "x" * 100_000, "tkt_\x00", "\ud800"])
def test_what_is_no_ticket_is_refused_in_the_same_words(wrong: str) -> None:
    text = TICKETS.seal(WHOLE)

    for each in (wrong, text[:-4], text + "AAAA", text.upper()):
        with pytest.raises(InvalidTokenError, match=r"^this is not a valid ticket$"):
            TICKETS.open(each)


def test_neither_is_ever_taken_for_the_other() -> None:
    # A ticket of exactly the length of a token, and each in the other's dress.
    fitting = [TICKETS.seal(Ticket("t" * size, True, "", "", 1.0)) for size in range(30)]
    body = next(text[4:] for text in fitting if len(text) == 4 + 112)
    tokens = Tokens(RING, audience="here")

    for token in (body, "tkt_" + body):
        with pytest.raises(InvalidTokenError):
            tokens.open("t", token)
    resume = tokens.seal("t", CursorCodec("t").encode(Boundary(7, 1, 2)))
    for ticket in (resume, "tkt_" + resume):
        with pytest.raises(InvalidTokenError):
            TICKETS.open(ticket)


def test_a_retired_key_opens_no_ticket() -> None:
    text = TICKETS.seal(WHOLE)
    rotated = RING.rotated(keep=1)

    assert [key.state for key in rotated.keys] == [KeyState.RETIRED, KeyState.ACTIVE]
    with pytest.raises(InvalidTokenError):
        Tickets(rotated, audience="here").open(text)


def test_texts_that_are_too_long_or_no_text_are_refused() -> None:
    for topic in ("x" * 601, "\ud800"):
        with pytest.raises(InvalidArgumentError):
            TICKETS.seal(Ticket(topic, True, "", "", 1.0))


def test_the_key_is_another_one_for_each_purpose() -> None:
    secret, seed = Key.fresh(created=RING.keys[0].created).secret, bytes(24)
    sealed = sealing.seal(secret, seed, b"content", b"", purpose=b"tailrace read ticket 1")

    assert sealing.unseal(secret, seed, sealed, b"", purpose=b"tailrace read ticket 1") == b"content"
    assert sealing.unseal(secret, seed, sealed, b"") is None
