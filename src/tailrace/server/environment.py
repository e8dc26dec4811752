"""``uvicorn --factory tailrace.server:from_environment``: what ``tailrace serve`` serves, under a server of yours."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from tailrace import units
from tailrace.errors import InvalidArgumentError
from tailrace.server.configuration import Access, Workflow, build
from tailrace.server.doors import ASGIApplication
from tailrace.server.redaction import redact_access_log
from tailrace.server.settings import ServerSettings
from tailrace.tokens import KeyRing
from tailrace.tokens.ring import FILE_VARIABLE, KEYS_VARIABLE
from tailrace.workflow.model import DEFAULT_NAMESPACE
from tailrace.workflow.payloads.settings import PayloadSettings

logger = logging.getLogger("tailrace.server")


def from_environment(environ: Mapping[str, str] | None = None) -> ASGIApplication:
    """Return the application that environment variables describe, those of the options of ``tailrace serve``.

    Without authentication it serves this machine only, whatever address your server listens on.

    Raises:
        InvalidArgumentError, KeyRingError: A variable is missing or wrong.
        DurableStreamUnavailableError: The store is away, or can not be used.
    """
    environ = os.environ if environ is None else environ
    store = environ.get("TAILRACE_STORE", "")
    if not store:
        raise InvalidArgumentError("name a store in TAILRACE_STORE")
    access = access_from(environ)
    redact_access_log()
    _, application = build(
        store,
        ring_from(environ, required=bool(access)),
        access,
        settings=ServerSettings(audience=environ.get("TAILRACE_AUDIENCE") or "tailrace"),
        hosts=environ.get("TAILRACE_ALLOWED_HOSTS", "").split(),
        origins=environ.get("TAILRACE_ORIGINS", "").split(),
        workflow=workflow_from(environ),
    )
    return application


def access_from(environ: Mapping[str, str]) -> Access:
    """Return where credentials are known from."""
    return Access(
        keys_file=_path(environ, "TAILRACE_ACCESS_KEYS_FILE"),
        keys=environ.get("TAILRACE_ACCESS_KEYS", ""),
        jwt_key_file=_path(environ, "TAILRACE_JWT_KEY_FILE"),
        jwt_audience=environ.get("TAILRACE_JWT_AUDIENCE", ""),
        jwt_issuer=environ.get("TAILRACE_JWT_ISSUER", ""),
        jwt_scope_claim=environ.get("TAILRACE_JWT_SCOPE_CLAIM") or "scope",
        jwt_tenant_claim=environ.get("TAILRACE_JWT_TENANT_CLAIM", ""),
    )


def workflow_from(environ: Mapping[str, str]) -> Workflow:
    """Return what is served of workflows.

    Raises:
        InvalidArgumentError: A variable is wrong.
    """
    streams = _word(environ, "TAILRACE_WORKFLOW_STREAMS", "on", "off")
    defaults = PayloadSettings()
    runs = _word(environ, "TAILRACE_RUNS", "implicit", "registered")
    return Workflow(
        streams=None if streams is None else streams == "on",
        namespaces=environ.get("TAILRACE_NAMESPACES", "").split() or (DEFAULT_NAMESPACE,),
        registered=runs == "registered",
        payload_store=environ.get("TAILRACE_PAYLOAD_STORE", ""),
        payloads=PayloadSettings(
            threshold_bytes=_size(environ, "TAILRACE_PAYLOAD_THRESHOLD", defaults.threshold_bytes),
            max_payload_bytes=_size(environ, "TAILRACE_PAYLOAD_MAX", defaults.max_payload_bytes),
        ),
    )


def ring_from(environ: Mapping[str, str], *, required: bool) -> KeyRing:
    """Return the keys of resume tokens; new ones, if there are none and none are required.

    Raises:
        KeyRingError: They are missing or wrong.
    """
    if required or environ.get(KEYS_VARIABLE) or environ.get(FILE_VARIABLE):
        return KeyRing.from_environment(environ)
    logger.warning("no keys of resume tokens: those that are handed out are good until this process ends")
    return KeyRing.new()


def _word(environ: Mapping[str, str], name: str, *known: str) -> str | None:
    word = environ.get(name) or None
    if word not in (None, *known):
        raise InvalidArgumentError(f"{name} must be {' or '.join(known)}")
    return word


def _size(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name)
    try:
        return units.size(text) if text else default
    except ValueError as error:
        raise InvalidArgumentError(f"{name}: {error}") from None


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]) if environ.get(name) else None
