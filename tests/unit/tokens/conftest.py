"""A ring with one key, and the tokens of one tenant and audience."""

import pytest

from tailrace.boundaries import Boundary
from tailrace.cursors import CursorCodec
from tailrace.records import TopicCursor
from tailrace.tokens import KeyRing, Tokens

TOPIC = "run:42"


@pytest.fixture
def ring() -> KeyRing:
    return KeyRing.new()


@pytest.fixture
def tokens(ring: KeyRing) -> Tokens:
    return Tokens(ring, audience="api.example.com alice", tenant="acme")


@pytest.fixture
def cursor() -> TopicCursor:
    return CursorCodec(TOPIC).encode(Boundary(incarnation=7, position=41, tag=3))
