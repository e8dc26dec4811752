"""MariaDB. There is no MySQL that could be had without preparing a machine."""

from tailrace.testing.servers.mariadb.flavours import Flavour, flavour
from tailrace.testing.servers.mariadb.server import MariadbServer

__all__ = ["Flavour", "MariadbServer", "flavour"]
