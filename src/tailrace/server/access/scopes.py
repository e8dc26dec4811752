"""Scopes as text: ``read:run:*`` is an action on a prefix, ``append:orders`` on one topic. Pure.

The name is percent-encoded where it has a space, a ``%``, or a ``*`` at its end; ``read:*`` is every topic.
"""

import re
from urllib.parse import quote, unquote_to_bytes

from tailrace import limits
from tailrace.errors import InvalidArgumentError
from tailrace.server.principals import Action, Grant

_ACTIONS = {action.value: action for action in Action}
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")


def grant_of(scope: str) -> Grant:
    """Return what a scope allows.

    Raises:
        InvalidArgumentError: It is none. A bare action is none either: everything has to be said, as ``read:*``.
    """
    word, colon, name = scope.partition(":")
    action = _ACTIONS.get(word)
    if action is None or not colon or not name:
        raise InvalidArgumentError(
            f"a scope is append, read, seal or admin, a colon, and a topic or a prefix*, as read:run:*, not {scope!r}"
        )
    is_exact = not name.endswith("*")
    encoded = name if is_exact else name[:-1]
    try:
        if _BROKEN.search(encoded):
            raise ValueError
        decoded = unquote_to_bytes(encoded).decode()
    except ValueError:
        raise InvalidArgumentError(f"the topic in a scope must be percent-encoded UTF-8, not {scope!r}") from None
    if len(decoded.encode()) > limits.MAX_TOPIC_NAME_BYTES:
        raise InvalidArgumentError(f"the topic in a scope may have {limits.MAX_TOPIC_NAME_BYTES} bytes of UTF-8")
    return Grant(action, decoded, exact=is_exact)


def scope_of(grant: Grant) -> str:
    """Return a grant as text that ``grant_of`` reads."""
    name = quote(grant.prefix, safe="!\"#$&'()+,-./:;<=>?@[\\]^_`{|}~")
    return f"{grant.action.value}:{name}{'' if grant.exact else '*'}"
