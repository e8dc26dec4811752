"""Scopes as text."""

import pytest

from tailrace.errors import InvalidArgumentError
from tailrace.server.access.scopes import grant_of, right_of, role_of, scope_of
from tailrace.server.principals import Action, Anybody, Grant, Principal
from tailrace.server.roles import Role, RoleGrant


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


@pytest.mark.parametrize(
    ("scope", "right"),
    [
        ("role:operator:*", RoleGrant(Role.OPERATOR)),
        ("role:admin:orders", RoleGrant(Role.ADMIN, "orders", exact=True)),
        ("role:worker:team-*", RoleGrant(Role.WORKER, "team-")),
        ("role:operator:a%20b%2A", RoleGrant(Role.OPERATOR, "a b*", exact=True)),
        ("read:role:*", Grant(Action.READ, "role:")),
    ],
)
def test_a_scope_may_be_a_role_and_back(scope: str, right: Grant | RoleGrant) -> None:
    assert right_of(scope) == right
    assert right_of(scope_of(right)) == right


def test_the_case_of_a_namespace_does_not_count() -> None:
    assert right_of("role:operator:Orders") == RoleGrant(Role.OPERATOR, "orders", exact=True)


@pytest.mark.parametrize(
    "scope",
    ["role:", "role:operator", "role:operator:", "role:owner:*", "role:*", "role::a", "ROLE:operator:*",
     "role:worker:%ff", "role:worker:%", f"role:worker:{129 * 'a'}"],
)  # fmt: skip
def test_what_is_no_role_gives_none(scope: str) -> None:
    with pytest.raises(InvalidArgumentError):
        right_of(scope)


def _with(*scopes: str) -> Principal:
    return Principal("p", tuple(right_of(scope) for scope in scopes))


def test_a_role_is_for_the_namespaces_that_it_names() -> None:
    principal = _with("role:operator:team-*", "role:worker:team-a")

    assert principal.roles_in("team-a") == {Role.OPERATOR, Role.WORKER}
    assert principal.roles_in("team-b") == {Role.OPERATOR}
    assert principal.roles_in("default") == set()


def test_admin_on_every_topic_is_the_role_admin_everywhere_and_on_less_it_is_none() -> None:
    assert _with("admin:*").roles_in("any") == {Role.ADMIN}
    for scope in ("admin:a*", "read:*", "append:*", "seal:*"):
        assert _with(scope).roles_in("any") == set()
    assert Role.ADMIN in Anybody().admit(None).roles_in("any")  # type: ignore[arg-type]


def test_a_role_is_no_right_on_topics() -> None:
    principal = Principal("p", (role_of("role:admin:*"),))

    assert not any(principal.may(action, "t") for action in Action)
