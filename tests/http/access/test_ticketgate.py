"""Read tickets: for one topic or prefix, for a while, for GET; and for a stream that comes back a while longer."""

import time

import pytest
from tests.http.requests import asked

from tailrace.boundaries import Boundary
from tailrace.cursors import CursorCodec
from tailrace.server.access import AccessKey, AccessKeys, Chain, KeyGate, TicketGate
from tailrace.server.principals import Action
from tailrace.server.problems import Problem
from tailrace.tokens import KeyRing, Ticket, Tickets, TokenKind, Tokens

RING = KeyRing.new()
GRACE = 3600.0


def ticket(
    topic: str = "run:1", *, exact: bool = True, tenant: str = "acme", holder: str = "jwt:ada", within: float = 60.0
) -> str:
    return Tickets(RING, audience="here").seal(Ticket(topic, exact, tenant, holder, time.time() + within))


def gate(*, audience: str = "here", ring: KeyRing = RING, grace: float = GRACE, keys: KeyGate | None = None) -> Chain:
    return Chain(tickets=TicketGate(ring, audience=audience, grace=grace, keys=keys))


def event_id(topic: str = "run:1", tenant: str = "acme", kind: TokenKind = TokenKind.RESUME) -> bytes:
    cursor = CursorCodec(topic).encode(Boundary(7, 1, 2))
    return Tokens(RING, audience="here", tenant=tenant).seal(topic, cursor, kind=kind).encode()


def refused(chain: Chain, request: object) -> bool:
    with pytest.raises(Problem) as problem:
        chain.admit(request)  # type: ignore[arg-type]
    return problem.value.name == "unauthenticated"


def test_a_ticket_allows_to_read_its_topic_and_nothing_else() -> None:
    principal = gate().admit(asked(query=b"ticket=" + ticket().encode()))

    assert principal.may(Action.READ, "run:1")
    assert not principal.may(Action.READ, "run:10")
    assert not any(principal.may(action, "run:1") for action in Action if action is not Action.READ)
    assert (principal.tenant, principal.trusted) == ("acme", False)


def test_a_ticket_for_a_prefix_allows_to_read_all_that_begins_like_it() -> None:
    principal = gate().admit(asked(query=b"ticket=" + ticket("run:", exact=False).encode()))

    assert principal.may(Action.READ, "run:1")
    assert not principal.may(Action.READ, "orders")


@pytest.mark.parametrize("method", ["POST", "DELETE", "HEAD", "PUT"])
def test_a_ticket_is_good_for_get_only(method: str) -> None:
    assert refused(gate(), asked(method=method, query=b"ticket=" + ticket().encode()))


def test_beside_a_bearer_a_ticket_does_not_count() -> None:
    assert refused(gate(), asked(query=b"ticket=" + ticket().encode(), bearer="wrong"))


def test_a_ticket_of_another_deployment_or_ring_is_refused() -> None:
    request = asked(query=b"ticket=" + ticket().encode())

    assert refused(gate(audience="there"), request)
    assert refused(gate(ring=KeyRing.new()), request)


def test_a_resume_token_is_no_ticket() -> None:
    assert refused(gate(), asked(query=b"ticket=" + event_id()))
    assert refused(gate(), asked(query=b"ticket=tkt_" + event_id()))


def test_an_expired_ticket_does_not_begin_a_stream() -> None:
    assert refused(gate(), asked(query=b"ticket=" + ticket(within=-1).encode()))


def test_a_stream_comes_back_with_an_expired_ticket_and_its_last_id() -> None:
    text = ticket(within=-1)

    principal = gate().admit(asked(query=b"ticket=" + text.encode(), headers=((b"last-event-id", event_id()),)))

    assert principal.may(Action.READ, "run:1")
    assert principal.expires_at == pytest.approx(time.time() + GRACE, abs=60)


@pytest.mark.parametrize(
    "last",
    [event_id("run:2"), event_id(tenant="other"), b"", b"x", event_id()[:-1] + b"!", ticket().encode()],
    ids=["other topic", "other tenant", "empty", "nonsense", "damaged", "a ticket"],
)
def test_an_id_of_something_else_does_not_bring_an_expired_ticket_back(last: bytes) -> None:
    assert refused(gate(), asked(query=b"ticket=" + ticket(within=-1).encode(), headers=((b"last-event-id", last),)))


def test_only_a_stream_comes_back_with_an_expired_ticket() -> None:
    request = asked(
        b"/v1/topics/run%3A1/records",
        query=b"ticket=" + ticket(within=-1).encode(),
        headers=((b"last-event-id", event_id()),),
    )

    assert refused(gate(), request)


def test_after_the_grace_nothing_brings_a_ticket_back() -> None:
    query = b"ticket=" + ticket(within=-GRACE - 1).encode()

    assert refused(gate(), asked(query=query, headers=((b"last-event-id", event_id()),)))


def test_a_ticket_falls_with_the_access_key_that_it_came_from() -> None:
    _, key = AccessKey.fresh("backend", ["read:*"])
    known = [AccessKeys([key])]
    chain = gate(keys=KeyGate(lambda: known[0]))
    request = asked(query=b"ticket=" + ticket(holder=key.principal.name).encode())

    assert chain.admit(request).name == key.principal.name
    known[0] = AccessKeys()
    assert refused(chain, request)
    assert refused(gate(), request)
