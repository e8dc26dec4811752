"""What a ``redis+cluster://`` or ``redis+sentinel://`` URL says, or such a client: where to begin, how to connect."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import quote, unquote, urlencode

import redis
from redis.sentinel import SentinelConnectionPool

from tailrace.backends.redis.location import Location, from_pool, locate
from tailrace.backends.redis.slots import Address, Remap
from tailrace.errors import InvalidArgumentError
from tailrace.options import StoreURL

_FOR_SENTINELS = {"sentinel_username": "username", "sentinel_password": "password"}


@dataclass(frozen=True, slots=True)
class ClusterPlaces:
    """How to find a cluster: a way to connect that holds for each of its nodes, and where to begin."""

    template: Location
    seeds: Sequence[Address]
    remap: Remap | None = None


@dataclass(frozen=True, slots=True)
class SentinelPlaces:
    """How to find a primary: whom to ask for the service of that name, and how to connect to what they answer."""

    template: Location
    sentinels: Sequence[Location]
    service: str


def locate_cluster(url: StoreURL) -> tuple[ClusterPlaces, str]:
    """Read ``redis+cluster://`` or ``rediss+cluster://``; return the places and the prefix.

    Raises:
        InvalidArgumentError: It can not be used like this.
    """
    parts = _Parts.of(url, default_port=6379)
    template, prefix = parts.location(url, parts.seeds[0], parts.path, url.query)
    if template.settings.get("db"):
        raise InvalidArgumentError("a cluster has only database 0: leave the number out")
    return ClusterPlaces(template, parts.seeds), prefix


def locate_sentinel(url: StoreURL) -> tuple[SentinelPlaces, str]:
    """Read ``redis+sentinel://host:port,host:port/service/0``; return the places and the prefix.

    Raises:
        InvalidArgumentError: It can not be used like this.
    """
    parts = _Parts.of(url, default_port=26379)
    service, _, database = parts.path.partition("/")
    if not service:
        raise InvalidArgumentError(
            f"{url.scheme}:// names the service that the sentinels watch, like {url.scheme}://localhost:26379/mymaster"
        )
    query = {name: value for name, value in url.query.items() if name not in _FOR_SENTINELS}
    template, prefix = parts.location(url, parts.seeds[0], database, query, _FOR_SENTINELS)
    # Sentinels are asked one question: neither the login of the servers is theirs, nor have they databases.
    settings = {name: value for name, value in template.settings.items() if name not in ("username", "password", "db")}
    settings |= {theirs: url.query[ours] for ours, theirs in _FOR_SENTINELS.items() if ours in url.query}
    asked = replace(template, settings=settings)
    return SentinelPlaces(template, [asked.at(address) for address in parts.seeds], unquote(service)), prefix


def from_cluster_client(client: "redis.RedisCluster") -> ClusterPlaces:
    """Read an existing client: its settings are used, its connections are not.

    Raises:
        InvalidArgumentError: It decodes what must stay bytes, or knows no node.
    """
    every: list[Any] = client.get_nodes()  # type: ignore[no-untyped-call]
    nodes = [node for node in every if node.redis_connection is not None]
    if not nodes:
        raise InvalidArgumentError("this cluster client knows no node")
    template = from_pool(nodes[0].redis_connection.connection_pool)
    # It may make connections that read from replicas; here nobody does.
    settings = {name: value for name, value in template.settings.items() if name != "redis_connect_func"}
    remap = cast("Remap | None", getattr(client.nodes_manager, "address_remap", None))
    seeds = [(str(node.host), int(node.port)) for node in nodes]
    return ClusterPlaces(replace(template, settings=settings), seeds, remap)


def from_sentinel_pool(pool: SentinelConnectionPool) -> SentinelPlaces:
    """Read the pool of a client that ``Sentinel.master_for`` made.

    Raises:
        InvalidArgumentError: It is one of replicas, or decodes what must stay bytes.
    """
    if not pool.is_master:
        raise InvalidArgumentError("this client reads from replicas: make one with master_for")
    sentinels = [from_pool(sentinel.connection_pool) for sentinel in pool.sentinel_manager.sentinels]
    managed = from_pool(pool)
    plain = redis.SSLConnection if issubclass(managed.connection_class, redis.SSLConnection) else redis.Connection
    settings = {name: value for name, value in managed.settings.items() if name != "connection_pool"}
    return SentinelPlaces(Location(managed.name, plain, settings), sentinels, str(pool.service_name))


@dataclass(frozen=True, slots=True)
class _Parts:
    login: str
    seeds: Sequence[Address]
    path: str

    @classmethod
    def of(cls, url: StoreURL, default_port: int) -> "_Parts":
        rest = url.raw.partition("://")[2].partition("#")[0].partition("?")[0]
        authority, _, path = rest.partition("/")
        login, at, hosts = authority.rpartition("@")
        seeds = [_address(host, url, default_port) for host in hosts.split(",")]
        return cls(login + at, seeds, path.strip("/"))

    def location(
        self, url: StoreURL, address: Address, database: str, query: Mapping[str, str], also: Collection[str] = ()
    ) -> tuple[Location, str]:
        """Read everything that is said as for one server."""
        host, port = address
        scheme = url.scheme.partition("+")[0]
        asked = urlencode(url.query)
        raw = f"{scheme}://{self.login}{f'[{host}]' if ':' in host else quote(host)}:{port}/{database}?{asked}"
        return locate(replace(url, raw=raw, query=query, scheme=scheme), url.scheme, also)


def _address(text: str, url: StoreURL, default_port: int) -> Address:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(default_port)
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidArgumentError(f"{url.scheme}:// can not use the port {port}")
    return unquote(host.strip("[]")) or "localhost", int(port)
