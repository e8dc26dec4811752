"""S23, somebody else's token: one refusal, and the same work, whatever is wrong with it."""

import base64
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.boundaries import Boundary
from tailrace.cursors import CursorCodec
from tailrace.errors import InvalidTokenError
from tailrace.records import TopicCursor
from tailrace.tokens import KeyRing, TokenKind, Tokens
from tailrace.tokens import tokens as module

TOPIC = "run:42"
RING = KeyRing.new()
ALICE = Tokens(RING, audience="api.example.com alice", tenant="acme", lifetime=3600)
CURSOR = CursorCodec(TOPIC).encode(Boundary(incarnation=7, position=41, tag=3))
TOKEN = ALICE.seal(TOPIC, CURSOR)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def refuse(opener: Tokens, topic: str, token: object) -> InvalidTokenError:
    with pytest.raises(InvalidTokenError) as refused:
        opener.open(topic, token)
    return refused.value


def by(ring: KeyRing = RING, audience: str = "api.example.com alice", tenant: str = "acme") -> Tokens:
    return Tokens(ring, audience=audience, tenant=tenant)


def of_version(version: bytes) -> str:
    """A token that is authentic but for its version, as another release may make it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_VERSION", version)
        return ALICE.seal(TOPIC, CURSOR)


CASES: dict[str, Callable[[], tuple[Tokens, str, object]]] = {
    "another user's": lambda: (by(audience="api.example.com bob"), TOPIC, TOKEN),
    "another tenant's": lambda: (by(tenant="globex"), TOPIC, TOKEN),
    "another topic's": lambda: (ALICE, "run:43", TOKEN),
    "another deployment's": lambda: (by(KeyRing.new()), TOPIC, TOKEN),
    "of a retired key": lambda: (by(RING.rotated(keep=1)), TOPIC, TOKEN),
    "of a later version": lambda: (ALICE, TOPIC, of_version(b"\x02")),
    "with a flipped tag": lambda: (ALICE, TOPIC, TOKEN[:-1] + ("A" if TOKEN[-1] != "A" else "B")),
    "with another key's id": lambda: (ALICE, TOPIC, TOKEN[:2] + "AAAA" + TOKEN[6:]),
    "truncated": lambda: (ALICE, TOPIC, TOKEN[:-4]),
    "padded": lambda: (ALICE, TOPIC, TOKEN + "===="),
    "ended by a newline": lambda: (ALICE, TOPIC, TOKEN + "\n"),
    "of the other alphabet": lambda: (ALICE, TOPIC, "+/" * 56),
    "of digits that are not ASCII": lambda: (ALICE, TOPIC, "\u0661" * 112),
    "with a lone surrogate": lambda: (ALICE, TOPIC, TOKEN[:-1] + "\ud800"),
    "a bare cursor": lambda: (ALICE, TOPIC, CURSOR),
    "empty": lambda: (ALICE, TOPIC, ""),
    "far too long": lambda: (ALICE, TOPIC, TOKEN * 100_000),
    "bytes": lambda: (ALICE, TOPIC, TOKEN.encode()),
    "nothing": lambda: (ALICE, TOPIC, None),
    "a number": lambda: (ALICE, TOPIC, 42),
}


@pytest.mark.parametrize("name", CASES)
def test_a_token_that_is_not_good_gives_the_one_refusal_after_one_decryption(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener, topic, token = CASES[name]()
    unseal, sizes = opener._sealing.unseal, []

    def counted(secret: bytes, seed: bytes, sealed: bytes, bound: bytes) -> bytes | None:
        sizes.append((len(secret), len(seed), len(sealed)))
        return unseal(secret, seed, sealed, bound)

    monkeypatch.setattr(opener._sealing, "unseal", counted)
    error = refuse(opener, topic, token)

    assert (type(error), error.args) == (InvalidTokenError, ("this is not a valid token",))
    # A cause or a context would tell whoever logs tracebacks, and from there the next one.
    assert (error.__cause__, error.__context__) == (None, None)
    assert sizes == [(32, 24, 55)]


def test_an_expired_token_gives_the_same_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    expires_at = ALICE.open(TOPIC, TOKEN).expires_at
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: expires_at))

    error = refuse(ALICE, TOPIC, TOKEN)

    assert (type(error), error.args) == (InvalidTokenError, ("this is not a valid token",))
    assert (error.__cause__, error.__context__) == (None, None)


def test_a_flipped_bit_is_refused_wherever_it_is() -> None:
    for place, character in enumerate(TOKEN):
        for bit in range(7):
            refuse(ALICE, TOPIC, TOKEN[:place] + chr(ord(character) ^ 1 << bit) + TOKEN[place + 1 :])


def test_another_character_of_the_alphabet_is_refused_wherever_it_is() -> None:
    for place, character in enumerate(TOKEN):
        # By its place in the alphabet: so each of the token's own bits is flipped, and only that one.
        for bit in range(6):
            other = ALPHABET[ALPHABET.index(character) ^ 1 << bit]
            refuse(ALICE, TOPIC, TOKEN[:place] + other + TOKEN[place + 1 :])


def test_a_truncated_token_is_refused_at_whatever_length() -> None:
    for length in range(len(TOKEN)):
        refuse(ALICE, TOPIC, TOKEN[:length])
        refuse(ALICE, TOPIC, TOKEN[length + 1 :])


def test_parts_of_two_tokens_make_none() -> None:
    other = ALICE.seal(TOPIC, CURSOR)
    # Before the ninth character is what they share, and the last one could be the same by chance.
    for cut in range(10, len(TOKEN) - 8):
        refuse(ALICE, TOPIC, TOKEN[:cut] + other[cut:])


@given(st.text() | st.text(ALPHABET, min_size=112, max_size=112) | st.binary() | st.none() | st.integers())
def test_whatever_comes_instead_of_a_token_is_refused(token: object) -> None:
    refuse(ALICE, TOPIC, token)


@pytest.mark.parametrize("kind", TokenKind)
def test_what_a_token_is_for_can_not_be_told_or_changed_from_outside(kind: TokenKind) -> None:
    token = ALICE.seal(TOPIC, CURSOR, kind=kind)

    assert len(token) == len(TOKEN)
    assert token[:6] == TOKEN[:6]
    # The sealed kind is byte 29; the cipher is a stream, so this is how somebody would try to change it.
    raw = bytearray(base64.urlsafe_b64decode(token))
    for value in range(1, 8):
        changed = raw.copy()
        changed[29] ^= value
        refuse(ALICE, TOPIC, base64.urlsafe_b64encode(changed).decode())


def test_an_authentic_token_of_a_kind_that_is_unknown_here_is_refused(
    cursor: TopicCursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TokenKind.GAP, "_value_", 200)
    token = ALICE.seal(TOPIC, cursor, kind=TokenKind.GAP)
    monkeypatch.undo()

    refuse(ALICE, TOPIC, token)
