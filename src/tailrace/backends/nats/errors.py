"""The one place where the driver's and the server's errors become ours.

Which class decides what the engine does: a plain unavailable error is ridden out, a ``StoreUnusableError`` is told at
once. Each message is one sentence that says what to do, with the server's own words after it.
"""

import ssl

from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError

WRONG_SEQUENCE = frozenset({10071, 10164})
"""Codes of a publish that another one came before."""

NO_MESSAGE = 10037
NO_STREAM = 10059
NO_JETSTREAM = 10076

_UNUSABLE = {
    10003: "can not place a stream on its servers: lower replicas=, or add servers",
    10005: "can not place a stream on its servers: lower replicas=, or add servers",
    10023: "has no room left for JetStream: nothing was stored; raise max_file_store, or remove data",
    10026: "has as many streams as the account may have: raise its limit, or use layout=shared",
    10027: "has as many streams as it may have: raise the account's limit, or use layout=shared",
    10028: "has no memory left for JetStream: nothing was stored; raise max_memory_store",
    10035: "does not let this account use JetStream: enable it for the account",
    10039: "does not let this account use JetStream: enable it for the account",
    10047: "has no room left for JetStream: nothing was stored; raise max_file_store, or remove data",
    10052: "does not take this stream's settings",
    10054: "takes no message of that size in this stream: raise its max_msg_size",
    10058: "has a stream of that name with other settings: use another stream=, or remove it",
    10059: "has no stream for this store any more: run `tailrace migrate`",
    10065: "has another stream that takes the same subjects: remove it, or use another stream=",
    10074: "is alone, and can not keep several replicas: use replicas=1, or a cluster",
    10076: "runs without JetStream: start it with -js, or enable jetstream in its configuration",
    10077: "has the limit of messages or bytes of this stream reached: nothing was stored; raise max_msgs or max_bytes",
    10109: "has sealed the stream of this store: nothing can be written to it any more",
    10120: "wants max_bytes for each stream of this account: make the stream by hand, or lift that rule",
    10122: "wants max_bytes for each stream of this account: make the stream by hand, or lift that rule",
}


class ApiError(Exception):
    """JetStream said no.

    Attributes:
        code: Which error, by the server's own numbers; see ``_UNUSABLE``.
    """

    def __init__(self, code: int, said: str) -> None:
        super().__init__(said)
        self.code = code


class NoResponder(Exception):  # noqa: N818 - the server's word for it
    """Nobody heard what was sent, so nothing came of it."""


class LinkLost(Exception):  # noqa: N818 - what was sent may have arrived
    """The connection ended before the answer came."""


class Denied(Exception):  # noqa: N818 - the server's word for it
    """This user may not use a subject.

    Attributes:
        subject: Which one.
        verb: ``publish to`` or ``subscribe to``.
    """

    def __init__(self, verb: str, subject: str) -> None:
        super().__init__(f"this user may not {verb} {subject}")
        self.verb = verb
        self.subject = subject


def explain(exc: BaseException, what: str) -> DurableStreamUnavailableError:
    """Return our error for one of the driver's, the server's, or of this folder.

    Args:
        what: Names the servers.
    """
    if isinstance(exc, DurableStreamUnavailableError):
        return exc
    if isinstance(exc, Denied):
        return StoreUnusableError(
            f"{what} does not allow this user to {exc.verb} {exc.subject}: see the least rights in docs/how-to/nats.md"
        )
    if isinstance(exc, ApiError):
        return _explain_answer(exc, what)
    if isinstance(exc, NoResponder):
        return DurableStreamUnavailableError(f"{what} has nobody who answers for JetStream right now")
    if isinstance(exc, TimeoutError):
        return DurableStreamUnavailableError(f"{what} did not answer in time")
    return DurableStreamUnavailableError(f"{what} could not be used [{_words(exc)}]")


def explain_connecting(exc: BaseException, what: str) -> DurableStreamUnavailableError:
    """Return our error for what went wrong while connecting."""
    if isinstance(exc, DurableStreamUnavailableError):
        return exc
    said = _words(exc)
    lower = said.lower()
    if "authorization violation" in lower or "authentication" in lower or "nonce" in lower:
        return StoreUnusableError(
            f"{what} does not accept this login: put user and password or a token into the URL, or name creds= or "
            f"nkey= "
            f"[{said}]"
        )
    if "nkeys" in lower:
        return StoreUnusableError(f"creds= and nkey= need the package nkeys: pip install 'nats-py[nkeys]' [{said}]")
    if isinstance(exc, ssl.SSLCertVerificationError):
        return StoreUnusableError(
            f"{what} has a certificate that is not trusted here: name its authority by tls_ca=, and the name in it by "
            f"tls_hostname= [{exc.verify_message or said}]"
        )
    if isinstance(exc, ssl.SSLError) or "tls" in lower or "ssl" in lower or "secure connection" in lower:
        return StoreUnusableError(
            f"{what} and this client do not agree on TLS: use tls:// and name tls_ca=, tls_cert= and tls_key= as the "
            f"server wants them [{said}]"
        )
    if isinstance(exc, TimeoutError):
        return DurableStreamUnavailableError(f"{what} did not answer in time")
    return DurableStreamUnavailableError(f"{what} can not be reached [{said}]")


def _explain_answer(exc: ApiError, what: str) -> DurableStreamUnavailableError:
    meant = _UNUSABLE.get(exc.code)
    if meant is not None:
        return StoreUnusableError(f"{what} {meant} [{exc}]")
    return DurableStreamUnavailableError(f"{what} did not do what it was asked [{exc}]")


def _words(exc: BaseException) -> str:
    return " ".join(str(exc).split()) or type(exc).__name__
