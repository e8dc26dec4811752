"""NATS with JetStream: single servers and clusters. No fakes, and no client library needed."""

from tailrace.testing.servers.nats.cluster import NatsCluster
from tailrace.testing.servers.nats.flavours import Flavour, flavour, flavours
from tailrace.testing.servers.nats.server import NatsServer
from tailrace.testing.servers.nats.wire import Connection, NatsError

__all__ = ["Connection", "Flavour", "NatsCluster", "NatsError", "NatsServer", "flavour", "flavours"]
