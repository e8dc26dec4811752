"""Names and numbers that both sides must have in common."""

from typing import NamedTuple

PROTOCOL = 1
"""Version of what is said on the bulk routes. A server says in its description which one it speaks."""

CONTENT_TYPE = "application/vnd.tailrace.store"
"""Of every answer but an error's: whatever comes with another one was not said by a server of ours."""

ACCEPTED = CONTENT_TYPE.encode()


class Paths(NamedTuple):
    """The bulk routes, below the prefix that a server is mounted at."""

    describe: bytes = b"/v1/store"
    append: bytes = b"/v1/store/append"
    read: bytes = b"/v1/store/read"
    bounds: bytes = b"/v1/store/bounds"
    seal: bytes = b"/v1/store/seal"
    watch: bytes = b"/v1/store/watch"
    topics: bytes = b"/v1/store/topics"
    trim: bytes = b"/v1/store/trim"
    delete: bytes = b"/v1/store/delete"
    sweep: bytes = b"/v1/store/sweep"


PATHS = Paths()
