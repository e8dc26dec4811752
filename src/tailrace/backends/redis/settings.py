"""What a server says about how it is set: INFO, and single directives of CONFIG GET, as far as this user may see them.

Never ``CONFIG GET *``: that would bring passwords along.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tailrace.backends.redis.errors import code_of
from tailrace.backends.redis.nodes import Nodes, Trouble
from tailrace.backends.redis.resp import pack
from tailrace.errors import DurableStreamUnavailableError


@dataclass(slots=True)
class Settings:
    """One server.

    Attributes:
        info: The fields of INFO.
        config: The directives that were asked for.
        unread: What could not be read, and why.
    """

    info: dict[str, str] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Where the server is, by its own account; empty if it does not tell."""
        return f"port {self.info['tcp_port']}" if "tcp_port" in self.info else ""

    @property
    def replicas(self) -> int:
        """How many replicas are connected; 0 also if that may not be seen."""
        return number(self.info.get("connected_slaves", "")) or 0

    @property
    def aof(self) -> bool | None:
        """Whether there is an append-only file; ``None`` if that may not be seen."""
        if "appendonly" in self.config:
            return self.config["appendonly"] == "yes"
        return self.info["aof_enabled"] == "1" if "aof_enabled" in self.info else None


def every(nodes: Nodes, names: Iterable[str], timeout: float) -> Iterator[Settings]:
    """Read the settings of each node.

    Raises:
        DurableStreamUnavailableError: A node is away.
    """
    node, more = 0, True
    while more:
        found, more = look(nodes, node, names, timeout)
        yield found
        node += 1


def look(nodes: Nodes, node: int, names: Iterable[str], timeout: float) -> tuple[Settings, bool]:
    """Read the settings of the node of that number; return them, and whether there is another node.

    Raises:
        DurableStreamUnavailableError: It is away.
    """
    found = Settings()
    reply, more = _ask(nodes, node, (b"INFO",), timeout)
    if isinstance(reply, bytes):
        found.info = dict(line.split(":", 1) for line in reply.decode(errors="replace").splitlines() if ":" in line)
    else:
        found.unread.append(_why("INFO", reply))
    for name in names:
        # One by one: 6.2 takes only one name.
        reply, more = _ask(nodes, node, (b"CONFIG", b"GET", name.encode()), timeout)
        if not isinstance(reply, list | dict):
            found.unread.append(_why("CONFIG GET", reply))
            break
        flat = [part for pair in reply.items() for part in pair] if isinstance(reply, dict) else reply
        texts = [part.decode(errors="replace") if isinstance(part, bytes) else str(part) for part in flat]
        found.config.update(zip(texts[::2], texts[1::2], strict=True))
    return found, more


def number(text: str) -> int | None:
    """Return a whole number; ``None`` for anything else."""
    return int(text) if text.isdecimal() else None


def _ask(nodes: Nodes, node: int, command: tuple[bytes, ...], timeout: float) -> tuple[object, bool]:
    answer, more = nodes.ask_everywhere(pack(command), node, timeout)
    if isinstance(answer, Trouble):
        raise answer.error
    (reply,) = answer
    if isinstance(reply, Exception) and code_of(str(reply)) in ("LOADING", "NOAUTH", "MASTERDOWN"):
        raise DurableStreamUnavailableError(f"{nodes.name} does not answer: {reply}")
    return reply, more


def _why(command: str, reply: object) -> str:
    if code_of(str(reply)) == "NOPERM":
        allow = f"+{command.lower().replace(' ', '|')}"
        return f"{command}: this user may not use it: allow {allow} to see what the server is set to"
    return f"{command}: the server does not offer it ({reply})"
