"""From what an operator says to an application with its gate and its doors. Reads files; opens the store."""

import logging
import stat
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from starlette.middleware.cors import CORSMiddleware

from tailrace.errors import InvalidArgumentError, KeyRingError, StoreUnusableError
from tailrace.instrument import Hook
from tailrace.opening import open_backend
from tailrace.server.access import AccessKeys, Chain, JwtGate, KeyFile, KeyGate, TicketGate
from tailrace.server.application import Application
from tailrace.server.doors import LOOPBACK_NAMES, ASGIApplication, Doors, Rules
from tailrace.server.principals import Gate
from tailrace.server.settings import ServerSettings
from tailrace.server.workflow import namespace_of
from tailrace.server.workflow.refusals import VERSION_HEADER
from tailrace.spi import Backend, Relational
from tailrace.tokens import KeyRing
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import DEFAULT_NAMESPACE
from tailrace.workflow.payloads import PayloadDriver, open_driver
from tailrace.workflow.payloads.settings import PayloadSettings
from tailrace.workflow.payloads.transport import HEADERS as PAYLOAD_HEADERS
from tailrace.workflow.settings import WorkflowSettings

logger = logging.getLogger("tailrace.server")

_VERSION = VERSION_HEADER.decode()

MAX_KEY_BYTES = 256 * 1024
CORS_HEADERS = ("authorization", "content-type", "last-event-id", "cache-control", "x-namespace", _VERSION,
                *PAYLOAD_HEADERS)  # fmt: skip
CORS_EXPOSED = ("retry-after", _VERSION, *PAYLOAD_HEADERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """Whether streams of workflow runs are served, and which.

    Attributes:
        streams: ``None``: where the store is a database.
        namespaces: Those that exist.
        registered: Whether somebody has to register a run; otherwise it begins with its first append.
        payload_store: URL of the storage of payloads outside of the database; empty without one.
        payloads: How much of them there may be.
    """

    streams: bool | None = None
    namespaces: Collection[str] = (DEFAULT_NAMESPACE,)
    registered: bool = False
    payload_store: str = ""
    payloads: PayloadSettings = field(default_factory=PayloadSettings)

    def __post_init__(self) -> None:
        for name in self.namespaces:
            namespace_of(name)

    def service(self, backend: Backend) -> EmbeddedService | None:
        """Return the operations on runs in a store; ``None`` if they are not served.

        Raises:
            InvalidArgumentError: They are to be served, and the store is no database; or there is a storage of their
                payloads, and they are not.
            PayloadUnavailableError: The directory of payloads can not be used.
            StoreUnusableError: The storage needs an extra that is not installed.
        """
        settings = WorkflowSettings(
            namespaces=frozenset(map(namespace_of, self.namespaces)),
            runs="registered" if self.registered else "implicit",
        )
        if self.streams is False or (self.streams is None and not isinstance(backend, Relational)):
            if self.payload_store:
                raise InvalidArgumentError("payloads are stored for workflow streams, which are not served")
            return None
        driver = self._driver() if self.payload_store else None
        return EmbeddedService(backend, settings, payload_driver=driver, payload_settings=self.payloads)

    def _driver(self) -> PayloadDriver:
        try:
            return open_driver(self.payload_store)
        except ModuleNotFoundError as missing:
            raise StoreUnusableError(str(missing)) from missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where credentials are known from. With none of them there is no authentication.

    Attributes:
        keys_file: Access keys, read again when the file changes.
        keys: The same as text.
        jwt_key_file: A JWKS document, a public key in PEM, or a shared secret.
        jwt_audience: Must be in ``aud``.
        jwt_issuer: Must be ``iss``, if it is given.
        jwt_scope_claim: Where the scopes are.
        jwt_tenant_claim: Where the tenant is.
    """

    keys_file: Path | None = None
    keys: str = ""
    jwt_key_file: Path | None = None
    jwt_audience: str = ""
    jwt_issuer: str = ""
    jwt_scope_claim: str = "scope"
    jwt_tenant_claim: str = ""

    def __post_init__(self) -> None:
        if self.keys_file is not None and self.keys:
            raise InvalidArgumentError("give the access keys in a file or in the environment, not both")
        if (self.jwt_key_file is None) != (not self.jwt_audience):
            raise InvalidArgumentError("JWTs need both a key and the audience that they must be for")

    def __bool__(self) -> bool:
        return self.keys_file is not None or bool(self.keys) or self.jwt_key_file is not None

    def gate(self, ring: KeyRing, settings: ServerSettings) -> Gate | None:
        """Return what lets in who has a credential; ``None`` if there is no authentication.

        Raises:
            KeyRingError: Keys can not be read or used.
        """
        if not self:
            return None
        keys = jwts = None
        if self.keys_file is not None:
            keys = KeyGate(KeyFile(self.keys_file))
        elif self.keys:
            fixed = AccessKeys.parse(self.keys)
            keys = KeyGate(lambda: fixed)
        if self.jwt_key_file is not None:
            jwts = JwtGate(
                _material(self.jwt_key_file),
                audience=self.jwt_audience,
                issuer=self.jwt_issuer or None,
                scope_claim=self.jwt_scope_claim,
                tenant_claim=self.jwt_tenant_claim or None,
            )
        tickets = TicketGate(ring, audience=settings.audience, grace=settings.ticket_grace, keys=keys)
        return Chain(keys=keys, jwts=jwts, tickets=tickets)


def build(
    store: str,
    ring: KeyRing,
    access: Access,
    *,
    settings: ServerSettings,
    hosts: Collection[str] = (),
    origins: Collection[str] = (),
    workflow: Workflow | None = None,
) -> tuple[Application, ASGIApplication]:
    """Return the application, and the same with everything that stands before it. Blocks on the store.

    Args:
        store: Its URL.
        ring: Keys of resume tokens and tickets.
        access: Who is let in. With none, only this machine is served, under its own names.
        settings: Bounds and times.
        hosts: Names that the server is asked for by; ``*`` for any, which is the default with authentication.
        origins: Of pages elsewhere that may use the server; ``*`` for any.
        workflow: What is served below ``/api``.

    Raises:
        InvalidArgumentError, KeyRingError: Something of it is wrong.
        DurableStreamUnavailableError: The store is away, or can not be used.
        PayloadUnavailableError: The storage of payloads is, or can not.
    """
    gate = access.gate(ring, settings)
    names = frozenset(host.lower().removesuffix(".") for host in hosts)
    if not names:
        names = frozenset({"*"}) if access else LOOPBACK_NAMES
    rules = Rules(
        hosts=None if "*" in names else names,
        origins=frozenset(origins),
        only_here=not access,
        max_url=settings.max_url,
        max_headers=settings.max_headers,
        max_header_bytes=settings.max_header_bytes,
    )
    hooks, more_metrics = _prometheus()
    backend, options = open_backend(store, {})
    try:
        service = (workflow or Workflow()).service(backend)
    except BaseException:
        backend.close()
        raise
    application = Application(
        backend, ring, gate=gate, settings=settings, options=options, hooks=hooks, workflow=service
    )
    application.service.more_metrics = more_metrics
    guarded: ASGIApplication = Doors(application, rules, application.service.statuses)
    if rules.origins:
        # Outside of the doors, so that a page may read why it was refused.
        guarded = CORSMiddleware(
            guarded,
            allow_origins=sorted(rules.origins),
            allow_methods=("GET", "HEAD", "POST", "DELETE"),
            allow_headers=CORS_HEADERS,
            # For cookies of a proxy before us. Any page with the user's cookies would be no check at all.
            allow_credentials="*" not in rules.origins,
            expose_headers=CORS_EXPOSED,
        )
    return application, guarded


def _material(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            material = stream.read(MAX_KEY_BYTES)
            mode = path.stat().st_mode
    except OSError as error:
        raise KeyRingError(f"{path} can not be read: {error.strerror}") from error
    if not material.lstrip().startswith((b"{", b"-----BEGIN")) and mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise KeyRingError(f"{path} holds a secret and others may read or change it: chmod 600 {path}")
    return material


def _prometheus() -> tuple[list[Hook], Callable[[], bytes]]:
    """Return a hook that counts and what it counted, if the client library of Prometheus is installed."""
    try:
        import prometheus_client
    except ModuleNotFoundError:
        return [], bytes
    from tailrace.instrument import prometheus_events

    registry = prometheus_client.CollectorRegistry()
    return [prometheus_events(registry)], lambda: prometheus_client.generate_latest(registry)
