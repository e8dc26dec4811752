"""What a credential is for on the control plane of workflows: a role in a namespace. Pure."""

import enum
from dataclasses import dataclass


class Role(enum.StrEnum):
    """Who somebody is to workflows."""

    OPERATOR = "operator"
    ADMIN = "admin"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """One role in every namespace whose name begins with ``prefix``; an empty one is every namespace.

    If it is ``exact``, in the one namespace of that name.
    """

    role: Role
    prefix: str = ""
    exact: bool = False

    def covers(self, namespace: str) -> bool:
        """Return whether a namespace is meant."""
        return namespace == self.prefix if self.exact else namespace.startswith(self.prefix)
