"""Real servers for tests, started on the loopback in temporary folders and ended with the process that started them.

One folder per kind of server; what they share (ports, processes, certificates) is here.
"""

from tailrace.testing.servers.certificates import Certificates
from tailrace.testing.servers.errors import ServerFailedError, ServerMissingError
from tailrace.testing.servers.process import ServerProcess

__all__ = ["Certificates", "ServerFailedError", "ServerMissingError", "ServerProcess"]
