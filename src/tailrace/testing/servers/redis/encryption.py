"""TLS of Redis and Valkey: what their configuration says about it, and what a URL has to."""

import ssl
from urllib.parse import quote

from tailrace.testing.servers.certificates import Certificates


def directives(certificates: Certificates, port: int) -> dict[str, str | int]:
    """Return the configuration of a server, or a sentinel, that speaks nothing else, with its peers neither."""
    return {
        "port": 0,
        "tls-port": port,
        "tls-cert-file": str(certificates.certificate),
        "tls-key-file": str(certificates.key),
        "tls-ca-cert-file": str(certificates.authority),
        "tls-auth-clients": "no",
        "tls-replication": "yes",
        "tls-cluster": "yes",
    }


def context(certificates: Certificates) -> ssl.SSLContext:
    """Return how a client connects that trusts the server, and is trusted."""
    made = ssl.create_default_context(cafile=str(certificates.authority))
    made.load_cert_chain(certificates.certificate, certificates.key)
    return made


def settings(certificates: Certificates, *, mutual: bool = False) -> str:
    """Return the settings of a URL; ``mutual``: with a certificate of the client."""
    files = {"ssl_ca_certs": certificates.authority}
    if mutual:
        files |= {"ssl_certfile": certificates.certificate, "ssl_keyfile": certificates.key}
    return "&".join(f"{name}={quote(str(file), safe='/')}" for name, file in files.items())
