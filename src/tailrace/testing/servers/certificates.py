"""Certificates for servers that speak TLS: an authority of the test's own, and one certificate for the loopback."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tailrace.testing.servers.errors import ServerMissingError


@dataclass(frozen=True)
class Certificates:
    """PEM files in one folder. The same certificate serves servers and clients.

    Attributes:
        authority: What a peer has to trust.
        certificate: For localhost and 127.0.0.1.
        key: Its private key.
    """

    authority: Path
    certificate: Path
    key: Path

    @classmethod
    def make(cls, folder: Path) -> Self:
        """Write new ones into ``folder``.

        Raises:
            ServerMissingError: The package that makes them is not installed.
        """
        try:
            import trustme
        except ImportError as missing:
            raise ServerMissingError("certificates need the package trustme: pip install trustme") from missing
        made = cls(folder / "ca.pem", folder / "server.pem", folder / "server.key")
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(made.authority))
        issued = authority.issue_cert("localhost", "127.0.0.1", common_name="localhost")
        made.certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(str(made.key))
        made.key.chmod(0o600)
        return made
