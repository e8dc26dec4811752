"""One sentinel, and what it sees."""

from collections.abc import Iterable
from ssl import SSLContext

from tailrace.testing.servers.certificates import Certificates
from tailrace.testing.servers.redis import encryption
from tailrace.testing.servers.redis.flavours import Flavour
from tailrace.testing.servers.redis.node import RedisNode
from tailrace.testing.servers.redis.resp import Reply

_ANNOUNCES_EVERY = 200
_LOOKS_EVERY = 1000


class SentinelNode(RedisNode):
    """One sentinel. Made by :class:`RedisSentinel`."""

    _mode = ("--sentinel",)

    def __init__(self, flavour: Flavour, directives: list[str], certificates: Certificates | None) -> None:
        super().__init__(flavour)
        self._directives = directives
        self._certificates = certificates

    def _configuration(self) -> Iterable[str]:
        port: dict[str, str | int] = {"port": self.port}
        if self._certificates is not None:
            port = encryption.directives(self._certificates, self.port)
        ports = [f"{name} {value}" for name, value in port.items()]
        return [*ports, "bind 127.0.0.1", f"dir {self.folder}", *self._directives]

    def start(self, *options: str) -> None:
        """As of a server; and it notices what happens sooner than it would in production."""
        super().start(*options)
        if self.flavour.version >= (7, 0, 0):
            # Not the ping period: a replica counts as lost when it was not looked at for five of them.
            self.call("SENTINEL", "DEBUG", "PUBLISH-PERIOD", _ANNOUNCES_EVERY, "INFO-PERIOD", _LOOKS_EVERY)

    def _tls(self) -> SSLContext | None:
        return None if self._certificates is None else encryption.context(self._certificates)

    def master_port(self, name: str) -> int:
        """Return the port of the master of that name."""
        match self.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name):
            case [_, bytes(port)]:
                return int(port)
        raise LookupError(f"{self!r} knows no master {name}")

    def master_seen(self, name: str) -> dict[str, str]:
        """Return how it sees the master of that name."""
        return _fields(self.call("SENTINEL", "MASTER", name))

    def replicas_seen(self, name: str) -> list[dict[str, str]]:
        """Return how it sees the replicas of that master."""
        replicas = self.call("SENTINEL", "REPLICAS", name)
        assert isinstance(replicas, list)
        return [_fields(replica) for replica in replicas]


def _fields(reply: Reply) -> dict[str, str]:
    assert isinstance(reply, list)
    texts = [part.decode() for part in reply if isinstance(part, bytes)]
    return dict(zip(texts[::2], texts[1::2], strict=True))
