"""``tailrace serve``: topics over HTTP until a signal ends it. Refuses to be open to others without authentication."""

import enum
import logging
import os
import socket
from pathlib import Path
from typing import Annotated

import typer

from tailrace import units
from tailrace.cli import output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.extras import need_server
from tailrace.cli.options import Store
from tailrace.cli.store import default_url
from tailrace.tokens import KeyRing
from tailrace.tokens.ring import KEYS_VARIABLE
from tailrace.workflow.model import DEFAULT_NAMESPACE
from tailrace.workflow.payloads.settings import PayloadSettings


class Switch(enum.StrEnum):
    """On or off."""

    ON = "on"
    OFF = "off"


class RunsBegin(enum.StrEnum):
    """How there come to be workflow runs."""

    IMPLICIT = "implicit"
    REGISTERED = "registered"


Host = Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 is any that is free.")]
Uds = Annotated[Path | None, typer.Option("--uds", metavar="PATH", show_default=False,
    help="Listen on a socket in the file system instead.")]  # fmt: skip
Keys = Annotated[Path | None, typer.Option("--keys", metavar="FILE", envvar="TAILRACE_TOKEN_KEYS_FILE",
    show_default=False, help="Keys of resume tokens, the same in all replicas: see tailrace keys.")]  # fmt: skip
AccessFile = Annotated[Path | None, typer.Option("--access", metavar="FILE", envvar="TAILRACE_ACCESS_KEYS_FILE",
    show_default=False, help="Access keys of services: see tailrace access.")]  # fmt: skip
JwtKey = Annotated[Path | None, typer.Option("--jwt-key", metavar="FILE", envvar="TAILRACE_JWT_KEY_FILE",
    show_default=False, help="Of those who sign JWTs: JWKS document, public key (PEM), or shared secret.")]  # fmt: skip
JwtAudience = Annotated[str, typer.Option("--jwt-audience", metavar="NAME", envvar="TAILRACE_JWT_AUDIENCE",
    show_default=False, help="What must be in the claim aud of JWTs.")]  # fmt: skip
JwtIssuer = Annotated[str, typer.Option("--jwt-issuer", metavar="NAME", envvar="TAILRACE_JWT_ISSUER",
    show_default=False, help="What the claim iss of JWTs must be.")]  # fmt: skip
JwtScope = Annotated[str, typer.Option("--jwt-scope-claim", metavar="NAME", envvar="TAILRACE_JWT_SCOPE_CLAIM",
    help="The claim with the scopes.")]  # fmt: skip
JwtTenant = Annotated[str, typer.Option("--jwt-tenant-claim", metavar="NAME", envvar="TAILRACE_JWT_TENANT_CLAIM",
    show_default=False, help="The claim with the tenant, where there are tenants.")]  # fmt: skip
Origins = Annotated[list[str] | None, typer.Option("--origin", metavar="ORIGIN", envvar="TAILRACE_ORIGINS",
    show_default=False, help="Pages of it may use the server: https://app.example.org. Repeat for more.")]  # fmt: skip
Hosts = Annotated[list[str] | None, typer.Option("--allowed-host", metavar="NAME", envvar="TAILRACE_ALLOWED_HOSTS",
    show_default=False, help="A name of the server; others are refused. Repeat for more.")]  # fmt: skip
Audience = Annotated[str, typer.Option("--audience", metavar="NAME", envvar="TAILRACE_AUDIENCE",
    help="Name of this deployment: tokens of another are refused.")]  # fmt: skip
Grace = Annotated[float, typer.Option("--grace", parser=units.seconds, metavar="DURATION",
    help="The process ends this long after SIGTERM, whatever hangs.")]  # fmt: skip
Streams = Annotated[Switch | None, typer.Option("--workflow-streams", envvar="TAILRACE_WORKFLOW_STREAMS",
    show_default=False, help="Streams of workflow runs, below /api. By default, if the store can.")]  # fmt: skip
Namespaces = Annotated[list[str] | None, typer.Option("--namespace", metavar="NAME", envvar="TAILRACE_NAMESPACES",
    show_default=False, help="A namespace of workflows, instead of default. Repeat for more.")]  # fmt: skip
Runs = Annotated[RunsBegin, typer.Option("--runs", envvar="TAILRACE_RUNS",
    help="Whether a workflow run begins with its first append, or has to be registered.")]  # fmt: skip
PayloadStore = Annotated[str, typer.Option("--payload-store", metavar="URL", envvar="TAILRACE_PAYLOAD_STORE",
    show_default=False, help="Large payloads of workflow streams: file:///dir or s3://bucket/prefix.")]  # fmt: skip
PayloadThreshold = Annotated[int, typer.Option("--payload-threshold", parser=units.size, metavar="BYTES",
    envvar="TAILRACE_PAYLOAD_THRESHOLD", help="Clients upload payloads with more bytes than that.")]  # fmt: skip
PayloadMax = Annotated[int, typer.Option("--payload-max", parser=units.size, metavar="BYTES",
    envvar="TAILRACE_PAYLOAD_MAX", help="Bytes of one uploaded payload, at most.")]  # fmt: skip
AccessLog = Annotated[bool, typer.Option("--access-log", help="Log each request, without tickets and tokens.")]


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8080,
    uds: Uds = None,
    keys: Keys = None,
    access: AccessFile = None,
    jwt_key: JwtKey = None,
    jwt_audience: JwtAudience = "",
    jwt_issuer: JwtIssuer = "",
    jwt_scope_claim: JwtScope = "scope",
    jwt_tenant_claim: JwtTenant = "",
    origin: Origins = None,
    allowed_host: Hosts = None,
    audience: Audience = "tailrace",
    workflow_streams: Streams = None,
    namespace: Namespaces = None,
    runs: Runs = RunsBegin.IMPLICIT,
    payload_store: PayloadStore = "",
    payload_threshold: PayloadThreshold = "64KiB",  # type: ignore[assignment]
    payload_max: PayloadMax = "16MiB",  # type: ignore[assignment]
    grace: Grace = "20",  # type: ignore[assignment]
    access_log: AccessLog = False,
    store: Store = None,
) -> None:
    """Serve topics, and streams of workflow runs, over HTTP.

    SIGTERM ends what is streamed, to be resumed with another replica, and then the process.
    """
    need_server("serving")
    from tailrace.server import ServerSettings, listening, process
    from tailrace.server.configuration import Access, Workflow, build

    allowed = Access(
        keys_file=access,
        keys=os.environ.get("TAILRACE_ACCESS_KEYS", ""),
        jwt_key_file=jwt_key,
        jwt_audience=jwt_audience,
        jwt_issuer=jwt_issuer,
        jwt_scope_claim=jwt_scope_claim,
        jwt_tenant_claim=jwt_tenant_claim,
    )
    workflow = Workflow(
        streams=None if workflow_streams is None else workflow_streams is Switch.ON,
        namespaces=namespace or (DEFAULT_NAMESPACE,),
        registered=runs is RunsBegin.REGISTERED,
        payload_store=payload_store,
        payloads=PayloadSettings(threshold_bytes=payload_threshold, max_payload_bytes=payload_max),
    )
    is_private = uds is not None or listening.is_loopback(host)
    if not allowed and not is_private:
        raise Stop(Code.USAGE, f"{host} is open to others: say who may do what with --access FILE or --jwt-key FILE")
    ring = _ring(keys, is_private)
    level = logging.INFO if access_log else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(name)s %(message)s")
    with _listener(host, port, uds) as listener:
        application, outermost = build(
            store or default_url(),
            ring,
            allowed,
            settings=ServerSettings(audience=audience),
            hosts=allowed_host or (() if allowed else _names_of(host)),
            origins=origin or (),
            workflow=workflow,
        )
        # On its own line and at once: with --port 0 somebody waits to read the port from it.
        output.line(f"listening on {listening.url_of(listener)}")
        output.flush()
        try:
            process.serve(application, outermost, listener, grace=grace, access_log=access_log)
        finally:
            if uds is not None:
                uds.unlink(missing_ok=True)


def _names_of(host: str) -> tuple[str, ...]:
    from tailrace.server.doors import LOOPBACK_NAMES

    return (*LOOPBACK_NAMES, f"[{host}]" if ":" in host else host)


def _ring(path: Path | None, is_private: bool) -> KeyRing:
    if path is not None:
        return KeyRing.from_file(path)
    if os.environ.get(KEYS_VARIABLE):
        return KeyRing.from_environment()
    if not is_private:
        raise Stop(Code.USAGE, "give all replicas the same keys of resume tokens: --keys FILE, of tailrace keys new")
    output.note("no --keys: resume tokens are good until this process ends")
    return KeyRing.new()


def _listener(host: str, port: int, uds: Path | None) -> socket.socket:
    from tailrace.server import listening

    try:
        return listening.listen_at(uds) if uds is not None else listening.listen(host, port)
    except OSError as error:
        where = str(uds) if uds is not None else f"{host} port {port}"
        raise Stop(Code.NOT_LISTENING, f"{where} can not be listened on: {error.strerror}") from error
