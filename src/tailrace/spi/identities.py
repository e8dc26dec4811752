"""What tells lives and commits apart, drawn by stores: see ``Boundary``."""

import os


def random_incarnation() -> int:
    """Return the identity of a new life."""
    return _random(8) & (2**63 - 1) or 1


def random_tag() -> int:
    """Return the tag of a commit."""
    return _random(4)


def _random(size: int) -> int:
    # The system's, not a generator of this process: a forked child would draw what its parent draws.
    return int.from_bytes(os.urandom(size), "big") or 1
