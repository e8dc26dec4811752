"""Who asks, and what they may do. How that is found out is the business of a gate."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from tailrace.server.problems import Problem
from tailrace.server.roles import Role, RoleGrant

if TYPE_CHECKING:
    from tailrace.server.request import Request


class Action(enum.Enum):
    """What can be allowed on topics."""

    APPEND = "append"
    READ = "read"
    SEAL = "seal"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Grant:
    """One action on every topic whose name begins with ``prefix``; an empty one is every topic.

    If it is ``exact``, on the one topic of that name.
    """

    action: Action
    prefix: str = ""
    exact: bool = False

    def covers(self, topic: str) -> bool:
        """Return whether a topic is meant."""
        return topic == self.prefix if self.exact else topic.startswith(self.prefix)


Right: TypeAlias = Grant | RoleGrant


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who was let in.

    Attributes:
        name: For logs and for bounds per principal; no secret.
        rights: What they may do to topics, where ``ADMIN`` on a topic includes the other actions on it; and who they
            are to workflows, where ``ADMIN`` on every topic includes ``admin`` in every namespace.
        tenant: Resume tokens are bound to it.
        trusted: Whether they may exchange cursors as they are, as the library's own client does. Browsers may not:
            theirs travel in tokens.
        expires_at: Seconds since the epoch at which their streams end, to be resumed with a fresh credential.
    """

    name: str
    rights: tuple[Right, ...]
    tenant: str = ""
    trusted: bool = False
    expires_at: float | None = None

    def may(self, action: Action, topic: str) -> bool:
        """Return whether they may do that to a topic."""
        return any(grant.covers(topic) for grant in self._grants(action))

    def may_everywhere(self, action: Action, prefix: str) -> bool:
        """Return whether they may do that to every topic whose name begins like this."""
        return any(not grant.exact and prefix.startswith(grant.prefix) for grant in self._grants(action))

    def roles_in(self, namespace: str) -> set[Role]:
        """Return what they are to the workflows of a namespace, whether that exists or not."""
        roles = {right.role for right in self.rights if isinstance(right, RoleGrant) and right.covers(namespace)}
        return roles | {Role.ADMIN} if Grant(Action.ADMIN) in self.rights else roles

    def require(self, action: Action, topic: str) -> None:
        """Refuse what is not granted.

        Raises:
            Problem: ``forbidden``.
        """
        if not self.may(action, topic):
            raise Problem("forbidden", f"this credential does not allow {action.value} on that topic")

    def require_everywhere(self, action: Action, prefix: str) -> None:
        """Refuse what is not granted on every topic whose name begins like this.

        Raises:
            Problem: ``forbidden``.
        """
        if not self.may_everywhere(action, prefix):
            raise Problem("forbidden", f"this credential does not allow {action.value} on all of those topics")

    def _grants(self, action: Action) -> Iterator[Grant]:
        for right in self.rights:
            if isinstance(right, Grant) and right.action in (action, Action.ADMIN):
                yield right


NOBODY = Principal("nobody", ())
"""Who asks where everybody may."""


class Gate(Protocol):
    """Decides who is let in. Called for every request but those for health."""

    def admit(self, request: "Request") -> Principal:
        """Return who asks. Does not block: it runs in the event loop.

        Raises:
            Problem: ``unauthenticated``, or another of the table.
        """
        ...


class Anybody(Gate):
    """Lets everybody do everything: for loopback and tests."""

    def __init__(self) -> None:
        self._principal = Principal("anybody", (Grant(Action.ADMIN),), trusted=True)

    def admit(self, request: "Request") -> Principal:
        return self._principal
