"""Scopes as text: ``read:run:*`` is an action on a prefix, ``append:orders`` on one topic. Pure.

The name is percent-encoded where it has a space, a ``%``, or a ``*`` at its end; ``read:*`` is every topic.
``role:operator:*`` is a role in every namespace of workflows, ``role:worker:team-a`` in one.
"""

import re
from urllib.parse import quote, unquote_to_bytes

from tailrace import limits
from tailrace.errors import InvalidArgumentError
from tailrace.server.principals import Action, Grant, Right
from tailrace.server.roles import Role, RoleGrant
from tailrace.workflow.bounds import MAX_NAMESPACE_CHARS

_ACTIONS = {action.value: action for action in Action}
_ROLES = {role.value: role for role in Role}
_ROLE = "role:"
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")


def right_of(scope: str) -> Right:
    """Return what a scope allows.

    Raises:
        InvalidArgumentError: It is none.
    """
    return role_of(scope) if scope.startswith(_ROLE) else grant_of(scope)


def grant_of(scope: str) -> Grant:
    """Return what a scope allows on topics.

    Raises:
        InvalidArgumentError: It is none. A bare action is none either: everything has to be said, as ``read:*``.
    """
    word, colon, name = scope.partition(":")
    action = _ACTIONS.get(word)
    if action is None or not colon or not name:
        raise InvalidArgumentError(
            f"a scope is append, read, seal or admin, a colon, and a topic or a prefix*, as read:run:*, not {scope!r}; "
            "or a role, as role:operator:*"
        )
    decoded, is_exact = _name_of(name, scope)
    if len(decoded.encode()) > limits.MAX_TOPIC_NAME_BYTES:
        raise InvalidArgumentError(f"the topic in a scope may have {limits.MAX_TOPIC_NAME_BYTES} bytes of UTF-8")
    return Grant(action, decoded, exact=is_exact)


def role_of(scope: str) -> RoleGrant:
    """Return the role that a scope gives.

    Raises:
        InvalidArgumentError: It gives none.
    """
    word, _, name = scope.removeprefix(_ROLE).partition(":")
    role = _ROLES.get(word)
    if role is None or not name:
        raise InvalidArgumentError(
            "a role in a scope is operator, admin or worker, a colon, and a namespace or a prefix*, "
            f"as role:operator:*, not {scope!r}"
        )
    decoded, is_exact = _name_of(name, scope)
    if len(decoded) > MAX_NAMESPACE_CHARS:
        raise InvalidArgumentError(f"the namespace in a scope may have {MAX_NAMESPACE_CHARS} characters")
    # As a namespace is in requests.
    return RoleGrant(role, decoded.lower(), exact=is_exact)


def scope_of(right: Right) -> str:
    """Return a right as text that ``right_of`` reads."""
    name = quote(right.prefix, safe="!\"#$&'()+,-./:;<=>?@[\\]^_`{|}~")
    word = _ROLE + right.role.value if isinstance(right, RoleGrant) else right.action.value
    return f"{word}:{name}{'' if right.exact else '*'}"


def _name_of(name: str, scope: str) -> tuple[str, bool]:
    """Return the name or prefix in a scope, and whether it is a whole name."""
    is_exact = not name.endswith("*")
    encoded = name if is_exact else name[:-1]
    try:
        if _BROKEN.search(encoded):
            raise ValueError
        return unquote_to_bytes(encoded).decode(), is_exact
    except ValueError:
        raise InvalidArgumentError(f"the name in a scope must be percent-encoded UTF-8, not {scope!r}") from None
