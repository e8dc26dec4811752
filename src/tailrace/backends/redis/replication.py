"""How many replicas have to confirm a change before it counts as acknowledged. None, unless somebody asks for it.

``WAIT`` goes out behind the changes, on the same connection and in the same round trip, once for all of them. Fewer
confirmations than wanted take nothing back: the primary has stored the change and readers see it, and only whether it
would survive the loss of the primary is open. That is an unknown outcome, not a refused one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from tailrace.backends.redis.errors import code_of, explain
from tailrace.backends.redis.nodes import Nodes
from tailrace.backends.redis.resp import pack
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, InvalidTypeError
from tailrace.options import StoreURL, positive_seconds

REPLICAS, TIMEOUT = "wait_replicas", "wait_timeout"
"""The settings, as URLs name them."""

MOST = 64
SPARE = 0.9
"""Of the time that a call has left, so much may be spent here: after that, an answer would come too late."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Wait for that many replicas, for at most so many seconds. Immutable.

    Raises:
        InvalidArgumentError: That can not be waited for.
    """

    replicas: int = 0
    timeout: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.replicas, bool) or not isinstance(self.replicas, int):
            raise InvalidTypeError(f"{REPLICAS} must be a whole number, not {type(self.replicas).__name__}")
        if not 0 <= self.replicas <= MOST:
            raise InvalidArgumentError(f"{REPLICAS} must be from 0 to {MOST}, not {self.replicas}")
        positive_seconds(TIMEOUT, self.timeout)

    @classmethod
    def taken_from(cls, url: StoreURL) -> tuple[Self, StoreURL]:
        """Read the settings of a URL; return it without them."""
        rest = {name: value for name, value in url.query.items() if name not in (REPLICAS, TIMEOUT)}
        wanted = cls(int(_number(url.query, REPLICAS, cls().replicas)), _number(url.query, TIMEOUT, cls().timeout))
        return wanted, replace(url, query=rest)

    def command(self, left: float) -> bytes:
        """Return what is asked after changes that may take ``left`` seconds; nothing if nobody is waited for."""
        if not self.replicas:
            return b""
        return pack((b"WAIT", self.replicas, max(1, int(min(self.timeout, left * SPARE) * 1000))))

    def check(self, nodes: Nodes, timeout: float) -> None:
        """Find out now whether it is allowed to wait.

        Raises:
            StoreUnusableError: It is not.
        """
        if not self.replicas:
            return
        answer, _more = nodes.ask_everywhere(pack((b"WAIT", 0, 1)), 0, timeout)
        if isinstance(answer, list) and code_of(str(answer[0])) == "NOPERM":
            raise explain(answer[0], nodes.name, command=" (wait)") from answer[0]

    def missing(self, reply: object, server: object) -> DurableStreamUnavailableError | None:
        """Return what is to be told of a reply to ``command``; ``None`` if enough have confirmed."""
        if isinstance(reply, int) and reply >= self.replicas:
            return None
        if isinstance(reply, Exception):
            error = explain(reply, server, command=" (wait)")
            text = f"stored on the primary, but whether replicas have it can not be told: {error}"
        else:
            text = (
                f"stored on the primary, but only {reply} of {self.replicas} replicas confirmed it in time: "
                f"if {server} fails now, it may be lost"
            )
        return DurableStreamUnavailableError(text, maybe_stored=True)


def _number(query: Mapping[str, str], name: str, default: float) -> float:
    text = query.get(name)
    if text is None:
        return default
    try:
        return int(text) if name == REPLICAS else float(text)
    except ValueError:
        raise InvalidArgumentError(f"{name} must be a number, not {text}") from None
