"""Lets in who has a JWT that somebody else's login service signed. No network: keys come from a file."""

import hashlib
import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jwt

from tailrace import limits
from tailrace.errors import InvalidArgumentError, KeyRingError
from tailrace.server.access.refusal import refused
from tailrace.server.access.scopes import right_of
from tailrace.server.principals import Principal, Right

if TYPE_CHECKING:
    from tailrace.server.request import Request

LEEWAY = 10.0
"""Seconds that two clocks may differ."""
MIN_SECRET_BYTES = 32
"""Bytes of a shared secret for HS256, as many as its hash has (RFC 7518): a shorter one is guessed from any one JWT."""
MIN_RSA_BITS = 2048
REMEMBERED = 4096
"""JWTs whose check is not repeated; the oldest makes room."""

_SURE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class JwtKey:
    """A key with the one algorithm it is good for: what a JWT says of its own algorithm decides nothing."""

    key: Any
    algorithm: str


class JwtGate:
    """Checks JWTs.

    Args:
        material: A JWKS document, a public key in PEM, or else the shared secret of HS256.
        audience: Must be in ``aud``: a JWT for another service is none for this one.
        issuer: Must be ``iss``, if it is given.
        scope_claim: Where the scopes are, as words or a list. ``cursors`` among them makes its holder trusted.
        tenant_claim: Where the tenant is; without it there are no tenants.

    Raises:
        KeyRingError: The material is none, or weak.
        InvalidArgumentError: There is no audience.
    """

    def __init__(
        self,
        material: bytes,
        *,
        audience: str,
        issuer: str | None = None,
        scope_claim: str = "scope",
        tenant_claim: str | None = None,
    ) -> None:
        if not audience:
            raise InvalidArgumentError("JWTs need an audience: without one those for other services are good here")
        self._keys = _keys_of(material)
        # A signature takes as long to check as many appends; keys never change, so what was good is, until it expires.
        self._verified: dict[bytes, Principal] = {}
        self._audience = audience
        self._issuer = issuer
        self._scope_claim = scope_claim
        self._tenant_claim = tenant_claim

    def admit(self, text: str, request: "Request") -> Principal:
        """Return who a JWT is about.

        Raises:
            Problem: ``unauthenticated``.
        """
        digest = hashlib.sha256(text.encode()).digest()
        known = self._verified.get(digest)
        if known is not None and time.time() < (known.expires_at or 0.0) + LEEWAY:
            return known
        try:
            principal = self._principal(self._claims(text))
        except (jwt.PyJWTError, InvalidArgumentError) as error:
            # The name alone: messages quote claims, which strangers choose.
            raise refused(f"JWT: {type(error).__name__}", request) from None
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise refused("JWT: malformed", request) from None
        if len(self._verified) >= REMEMBERED:
            self._verified.pop(next(iter(self._verified)))
        self._verified[digest] = principal
        return principal

    def _claims(self, text: str) -> dict[str, Any]:
        if not _SURE.fullmatch(text):
            raise jwt.DecodeError("three parts are needed")
        kid = jwt.get_unverified_header(text).get("kid")
        key = self._keys.get(None) or self._keys.get(kid)
        if key is None:
            raise jwt.InvalidKeyError("no such key")
        claims: dict[str, Any] = jwt.decode(
            text,
            key.key,
            algorithms=[key.algorithm],
            audience=self._audience,
            issuer=self._issuer,
            leeway=LEEWAY,
            options={"require": ["exp", "aud"] + (["iss"] if self._issuer else [])},
        )
        return claims

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        scopes = claims.get(self._scope_claim, "")
        words = scopes.split() if isinstance(scopes, str) else list(scopes)
        tenant = ""
        if self._tenant_claim is not None:
            tenant = _party(claims.get(self._tenant_claim))
        subject = claims.get("sub")
        return Principal(
            f"jwt:{_party(subject)}" if subject is not None else "jwt:",
            tuple(_rights_of(words)),
            tenant,
            trusted="cursors" in words,
            expires_at=float(claims["exp"]),
        )


def _rights_of(words: Iterable[object]) -> list[Right]:
    """Return the rights among scopes that may be of other services too: what is not ours allows nothing."""
    rights = []
    for word in words:
        try:
            rights.append(right_of(str(word)))
        except InvalidArgumentError:
            continue
    return rights


def _party(name: object) -> str:
    # A lone surrogate is possible in JSON and has no UTF-8 form: a ValueError too.
    if not isinstance(name, str) or not name or len(name.encode()) > limits.MAX_TOKEN_PARTY_BYTES:
        raise ValueError("no usable name")
    return name


def _keys_of(material: bytes) -> dict[str | None, JwtKey]:
    """Return keys by their ids; a single one that is good for every JWT has the id ``None``."""
    text = material.strip()
    if text.startswith(b"{"):
        return _jwks(text)
    if text.startswith(b"-----BEGIN"):
        return {None: _public(text)}
    if len(text) < MIN_SECRET_BYTES:
        raise KeyRingError(f"the secret of JWTs must have {MIN_SECRET_BYTES} bytes or more")
    return {None: JwtKey(text, "HS256")}


def _jwks(text: bytes) -> dict[str | None, JwtKey]:
    try:
        found = jwt.PyJWKSet.from_dict(json.loads(text)).keys
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError):
        raise KeyRingError("the keys of JWTs are no JWKS document") from None
    keys: dict[str | None, JwtKey] = {}
    for each in found:
        if each.public_key_use in (None, "sig"):
            if each.key_type not in ("RSA", "EC") or hasattr(each.key, "private_numbers"):
                raise KeyRingError("a JWKS document may hold public keys only, of RSA or P-256")
            if each.key_id in keys:
                raise KeyRingError("two keys of the JWKS document have the same id")
            keys[each.key_id] = _checked(each.key)
    if not keys or (None in keys and len(keys) > 1):
        raise KeyRingError("each key of the JWKS document needs an id (kid)")
    return keys


def _public(text: bytes) -> JwtKey:
    for algorithm in (jwt.get_algorithm_by_name("RS256"), jwt.get_algorithm_by_name("ES256")):
        try:
            key = algorithm.prepare_key(text)
        except (jwt.PyJWTError, ValueError, TypeError):
            continue
        if hasattr(key, "private_numbers"):
            raise KeyRingError("the key of JWTs must be the public one: a server needs no more")
        return _checked(key)
    raise KeyRingError("the key of JWTs is no public key of RSA or P-256")


def _checked(key: Any) -> JwtKey:  # noqa: ANN401 - a type of a library that only tokens may import
    curve = getattr(key, "curve", None)
    if curve is None and key.key_size >= MIN_RSA_BITS:
        return JwtKey(key, "RS256")
    if curve is not None and curve.name == "secp256r1":
        return JwtKey(key, "ES256")
    raise KeyRingError(f"the key of JWTs must be RSA with {MIN_RSA_BITS} bits or more, or P-256")
