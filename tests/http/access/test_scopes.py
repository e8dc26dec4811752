"""Scopes as text."""

import pytest

from tailrace.errors import InvalidArgumentError
from tailrace.server.access.scopes import grant_of, scope_of
from tailrace.server.principals import Action, Grant, Principal


@pytest.mark.parametrize(
    ("scope", "grant"),
    [
        ("read:run:*", Grant(Action.READ, "run:")),
        ("read:*", Grant(Action.READ, "")),
        ("append:orders", Grant(Action.APPEND, "orders", exact=True)),
        ("seal:a%20b", Grant(Action.SEAL, "a b", exact=True)),
        ("admin:a%2A", Grant(Action.ADMIN, "a*", exact=True)),
        ("read:a*b", Grant(Action.READ, "a*b", exact=True)),
        ("read:%C3%A9*", Grant(Action.READ, "é")),
    ],
)
def test_a_scope_is_a_grant_and_back(scope: str, grant: Grant) -> None:
    assert grant_of(scope) == grant
    assert grant_of(scope_of(grant)) == grant


@pytest.mark.parametrize(
    "scope",
    ["", "read", "read:", "write:a", "READ:a", "read:%", "read:%zz", "read:%ff", ":a", "*", f"read:{513 * 'a'}"],
)
def test_what_is_no_scope_allows_nothing(scope: str) -> None:
    with pytest.raises(InvalidArgumentError):
        grant_of(scope)


def test_a_scope_without_a_star_is_for_one_topic_only() -> None:
    principal = Principal("p", (grant_of("read:run:1"),))

    assert principal.may(Action.READ, "run:1")
    assert not principal.may(Action.READ, "run:10")
    assert not principal.may_everywhere(Action.READ, "run:1")


def test_a_prefix_is_covered_by_a_shorter_one_and_by_no_longer_one() -> None:
    principal = Principal("p", (grant_of("read:run:*"),))

    assert principal.may_everywhere(Action.READ, "run:4")
    assert not principal.may_everywhere(Action.READ, "run")
    assert not principal.may_everywhere(Action.APPEND, "run:4")


def test_admin_includes_every_action_on_its_topics() -> None:
    principal = Principal("p", (grant_of("admin:run:*"),))

    assert all(principal.may(action, "run:1") for action in Action)
    assert not any(principal.may(action, "orders") for action in Action)
