"""What may go wrong with a server that a test wants.

RuntimeError
├── ServerMissingError     there is no such server here; the message names what to install
└── ServerFailedError      it is here, and did not do what it was started for; the message has the end of its log
"""


class ServerMissingError(RuntimeError):
    """No installed server fits. The message names the packages that bring one; the test can be left out."""


class ServerFailedError(RuntimeError):
    """A server did not start, ended by itself, or did not get where it was sent in time."""
