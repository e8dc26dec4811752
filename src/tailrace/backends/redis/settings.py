"""What a server says about how it is set: INFO, and single directives of CONFIG GET, as far as this user may see them.

Never ``CONFIG GET *``: that would bring passwords along.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tailrace.backends.redis.errors import code_of
from tailrace.backends.redis.hello import fields_of, info_of
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
        error: Why nothing could, if the server is away.
    """

    info: dict[str, str] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    error: DurableStreamUnavailableError | None = None

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


def every(nodes: Nodes, names: Sequence[str], timeout: float) -> list[Settings]:
    """Read the settings of each node; of one that is away, that it is.

    Raises:
        DurableStreamUnavailableError: None of them answers.
    """
    found: list[Settings] = []
    more = True
    while more:
        settings, more = look(nodes, len(found), names, timeout)
        found.append(settings)
    if all(settings.error is not None for settings in found) and found[0].error is not None:
        raise found[0].error
    return found


def look(nodes: Nodes, node: int, names: Sequence[str], timeout: float) -> tuple[Settings, bool]:
    """Read the settings of the node of that number; return them, and whether there is another node. Never raises."""
    found, more = Settings(), False
    # Of the directives, one by one: 6.2 takes only one name.
    for command in ((b"INFO",), *((b"CONFIG", b"GET", name.encode()) for name in names)):
        answer, more = nodes.ask_everywhere(pack(command), node, timeout)
        if isinstance(answer, Trouble):
            found.error = answer.error
            found.unread.append(f"one server is away: {answer.error}")
            break
        (reply,) = answer
        if isinstance(reply, bytes):
            found.info = dict(info_of(reply))
        elif isinstance(reply, list | dict):
            found.config.update(fields_of(reply))
        else:
            found.unread.append(_why(" ".join(part.decode() for part in command[:2]), reply))
            if command[0] == b"CONFIG":
                break
    return found, more


def number(text: str) -> int | None:
    """Return a whole number; ``None`` for anything else."""
    return int(text) if text.isdecimal() else None


def _why(command: str, reply: object) -> str:
    if code_of(str(reply)) == "NOPERM":
        allow = f"+{command.lower().replace(' ', '|')}"
        return f"{command}: this user may not use it: allow {allow} to see what the server is set to"
    return f"{command}: the server does not offer it ({reply})"
