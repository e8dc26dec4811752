"""What went wrong with TLS, in a sentence that says which setting to change. Pure.

A server that wants TLS, or a certificate, and does not get it, mostly just hangs up: that is told as a question.
"""

import ssl
from collections.abc import Iterator, Mapping
from typing import Any

from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError

_FOR_ANOTHER = (62, 64)
"""Codes of OpenSSL for a certificate that is good, and of another host, or another address."""

_REFUSALS = {
    "CERTIFICATE_REQUIRED": "wants a certificate of its clients: set ssl_certfile and ssl_keyfile",
    "UNKNOWN_CA": "does not trust the authority of our certificate: change ssl_certfile and ssl_keyfile",
    "ALERT_BAD_CERTIFICATE": "does not accept our certificate: change ssl_certfile and ssl_keyfile",
    "ALERT_CERTIFICATE": "does not accept our certificate: change ssl_certfile and ssl_keyfile",
    "WRONG_VERSION_NUMBER": "does not speak TLS: connect with redis:// instead of rediss://",
    "KEY_VALUES_MISMATCH": "can not be connected to: ssl_keyfile is not the key of ssl_certfile",
    "NO_CERTIFICATE_OR_CRL": "can not be connected to: ssl_ca_certs holds no certificate",
    "PEM": "can not be connected to: ssl_ca_certs, ssl_certfile or ssl_keyfile is no PEM file",
}
"""Parts of OpenSSL's reasons."""


def trouble(exc: BaseException, what: object) -> StoreUnusableError | None:
    """Return our error for one that TLS is the reason of, and that no waiting can help; ``None`` for any other.

    Args:
        what: Names the server.
    """
    for cause in _chain(exc):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return StoreUnusableError(f"{what} {_distrust(cause)} [{cause.verify_message}]")
        if isinstance(cause, ssl.SSLError):
            for reason, sentence in _REFUSALS.items():
                if reason in (cause.reason or str(cause)):
                    return StoreUnusableError(f"{what} {sentence} [{cause}]")
    return None


def trouble_on_the_way(
    exc: BaseException, what: object, settings: Mapping[str, Any], *, encrypted: bool
) -> DurableStreamUnavailableError | None:
    """As ``trouble``, while connecting with these settings; may also be an error that passes."""
    error = trouble(exc, what)
    if error is not None:
        return error
    causes = tuple(_chain(exc))
    if encrypted and any(isinstance(cause, FileNotFoundError | IsADirectoryError) for cause in causes):
        return StoreUnusableError(
            f"{what} can not be connected to: ssl_ca_certs, ssl_certfile or ssl_keyfile is not there [{exc}]"
        )
    if any(isinstance(cause, ConnectionResetError | BrokenPipeError | ssl.SSLEOFError) for cause in causes):
        if not encrypted:
            question = "does it speak TLS? then connect with rediss://"
        elif settings.get("ssl_certfile"):
            question = "does it trust our certificate? if not, change ssl_certfile and ssl_keyfile"
        else:
            question = "does it want a certificate of its clients? then set ssl_certfile and ssl_keyfile"
        return DurableStreamUnavailableError(
            f"{what} could not be used: it hung up before it said a word; {question} [{exc}]"
        )
    if encrypted and any(isinstance(cause, TimeoutError) for cause in causes):
        return DurableStreamUnavailableError(
            f"{what} did not answer in time: does it speak TLS? if not, connect with redis:// [{exc}]"
        )
    return None


def _distrust(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code in _FOR_ANOTHER:
        return "has a certificate for another name: connect under a name that is in it"
    return "has a certificate that is not trusted: put the authority that signed it into ssl_ca_certs"


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    # The driver raises errors of its own, some of them without naming a cause.
    while exc is not None:
        yield exc
        exc = exc.__cause__ or exc.__context__
