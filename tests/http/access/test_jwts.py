"""JWTs: only with the pinned algorithm, audience and time, and everything else is refused alike."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from tests.http.requests import asked

from tailrace.errors import InvalidArgumentError, KeyRingError
from tailrace.server.access import Chain, JwtGate, jwts
from tailrace.server.principals import Action, Principal
from tailrace.server.problems import Problem
from tailrace.server.response import problem_response
from tailrace.server.roles import Role

SECRET = b"s" * 40
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())


def pem(key: Any) -> bytes:
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def private_pem(key: Any) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def claims(**changed: object) -> dict[str, Any]:
    base = {"sub": "ada", "aud": "streams", "exp": time.time() + 60, "scope": "openid read:run:* append:orders"}
    return {name: value for name, value in {**base, **changed}.items() if value is not None}


def token(key: Any = SECRET, algorithm: str = "HS256", headers: dict[str, Any] | None = None, **changed: object) -> str:
    return jwt.encode(claims(**changed), key, algorithm=algorithm, headers=headers)


def admitted(text: str, material: bytes = SECRET, **given: Any) -> Principal:
    return Chain(jwts=JwtGate(material, audience="streams", **given)).admit(asked(bearer=text))


def refusal(text: str, material: bytes = SECRET, **given: Any) -> object:
    with pytest.raises(Problem) as refused:
        admitted(text, material, **given)
    return problem_response(refused.value)


@pytest.mark.parametrize(
    ("key", "algorithm", "material"),
    [(SECRET, "HS256", SECRET), (RSA, "RS256", pem(RSA.public_key())), (EC, "ES256", pem(EC.public_key()))],
    ids=["HS256", "RS256", "ES256"],
)
def test_a_jwt_of_a_known_key_is_let_in(key: Any, algorithm: str, material: bytes) -> None:
    principal = admitted(token(key, algorithm), material)

    assert principal.name == "jwt:ada"
    assert principal.may(Action.READ, "run:1")
    assert principal.may(Action.APPEND, "orders")
    assert not principal.may(Action.APPEND, "run:1")
    assert not principal.trusted
    assert principal.expires_at is not None


def test_scopes_may_be_a_list_in_another_claim_and_cursors_makes_trusted() -> None:
    principal = admitted(token(scope=None, scp=["read:*", "cursors"]), scope_claim="scp")

    assert principal.may(Action.READ, "anything")
    assert principal.trusted


def test_scopes_may_hold_roles_beside_rights_and_words_of_others() -> None:
    principal = admitted(token(scope="role:operator:orders read:* role:owner:* openid"))

    assert principal.roles_in("orders") == {Role.OPERATOR}
    assert principal.roles_in("billing") == set()
    assert principal.may(Action.READ, "t")


def test_the_tenant_comes_from_the_claim_that_is_named_and_must_be_there() -> None:
    assert admitted(token(org="acme"), tenant_claim="org").tenant == "acme"
    for wrong in (None, "", 7, "x" * 513, ["acme"], "\ud800"):
        assert refusal(token(org=wrong), tenant_claim="org") == refusal("nonsense")


def forged(header: dict[str, Any], key: bytes) -> str:
    def text(value: object) -> bytes:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

    signed = text(header) + b"." + text(claims())
    signature = base64.urlsafe_b64encode(hmac.digest(key, signed, hashlib.sha256)).rstrip(b"=") if key else b""
    return (signed + b"." + signature).decode()


WRONG = {
    "nothing": lambda: "",
    "no JWT": lambda: "abc",
    "three empty parts": lambda: "..",
    "not signed": lambda: jwt.encode(claims(), None, algorithm="none"),
    "none, in other letters": lambda: forged({"alg": "nOnE", "typ": "JWT"}, b""),
    "no algorithm": lambda: forged({"typ": "JWT"}, SECRET),
    "another secret": lambda: token(b"t" * 40),
    "another algorithm with the right secret": lambda: token(SECRET * 2, "HS512"),
    "expired": lambda: token(exp=time.time() - 60),
    "not yet": lambda: token(nbf=time.time() + 60),
    "without expiry": lambda: token(exp=None),
    "endless": lambda: token(exp=1e400),
    "expiry as text": lambda: token(exp="soon"),
    "for somebody else": lambda: token(aud="other"),
    "for nobody": lambda: token(aud=None),
    "for a number": lambda: token(aud=7),
    "subject a number": lambda: token(sub=7),
    "scopes a number": lambda: token(scope=7),
    "changed": lambda: token()[:-2] + "AA",
    "critical extension": lambda: token(headers={"crit": ["x"], "x": 1}),
    "a line break": lambda: token() + "\n",
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_whatever_is_wrong_with_a_jwt_the_answer_is_the_same(wrong: Any, caplog: pytest.LogCaptureFixture) -> None:
    text = wrong()

    assert refusal(text) == refusal("nonsense")
    assert not text or text not in caplog.text


def test_a_public_key_is_no_shared_secret() -> None:
    public = pem(RSA.public_key())

    assert refusal(forged({"alg": "HS256", "typ": "JWT"}, public), public) == refusal("nonsense")
    assert refusal(forged({"alg": "HS256", "typ": "JWT"}, public.strip()), public) == refusal("nonsense")


def test_the_issuer_is_checked_if_one_is_named() -> None:
    assert admitted(token(iss="login"), issuer="login")
    assert refusal(token(iss="other"), issuer="login") == refusal("nonsense")
    assert refusal(token(), issuer="login") == refusal("nonsense")


def jwks(*keys: tuple[str | None, Any], **changed: Any) -> bytes:
    listed = []
    for kid, key in keys:
        algorithm = jwt.get_algorithm_by_name("ES256" if isinstance(key, ec.EllipticCurvePublicKey) else "RS256")
        listed.append({**algorithm.to_jwk(key, as_dict=True), **({"kid": kid} if kid else {}), **changed})
    return json.dumps({"keys": listed}).encode()


def test_of_a_jwks_document_the_key_counts_that_the_jwt_names() -> None:
    known = jwks(("one", RSA.public_key()), ("two", EC.public_key()))

    assert admitted(token(RSA, "RS256", {"kid": "one"}), known)
    assert admitted(token(EC, "ES256", {"kid": "two"}), known)
    assert refusal(token(RSA, "RS256", {"kid": "two"}), known) == refusal("nonsense")
    assert refusal(token(RSA, "RS256", {"kid": "three"}), known) == refusal("nonsense")
    assert refusal(token(RSA, "RS256"), known) == refusal("nonsense")


def test_a_single_key_without_an_id_is_good_for_all() -> None:
    assert admitted(token(RSA, "RS256", {"kid": "any"}), jwks((None, RSA.public_key())))


@pytest.mark.parametrize(
    "material",
    [
        b"short",
        b"{}",
        b'{"keys": []}',
        b'{"keys": [{"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"}]}',
        jwks((None, RSA.public_key()), ("b", EC.public_key())),
        jwks(("a", RSA.public_key()), ("a", EC.public_key())),
        jwks(("a", RSA.public_key()), use="enc"),
        b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        private_pem(RSA),
        private_pem(EC),
        pem(ec.generate_private_key(ec.SECP384R1()).public_key()),
        pem(rsa.generate_private_key(public_exponent=65537, key_size=1024).public_key()),
    ],
    ids=[
        "short",
        "empty",
        "none",
        "oct",
        "no id",
        "twice",
        "enc",
        "damaged",
        "private RSA",
        "private EC",
        "P-384",
        "1024",
    ],
)
def test_keys_that_are_none_or_weak_are_refused_at_the_start(material: bytes) -> None:
    with pytest.raises(KeyRingError):
        JwtGate(material, audience="streams")


def test_an_audience_is_required() -> None:
    with pytest.raises(InvalidArgumentError, match="audience"):
        JwtGate(SECRET, audience="")


def test_a_jwt_that_was_good_is_refused_once_it_has_expired(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = Chain(jwts=JwtGate(SECRET, audience="streams"))
    text = token(exp=time.time() + 60)

    assert chain.admit(asked(bearer=text)) is chain.admit(asked(bearer=text))
    # Past the expiry and what clocks may differ; the library's own clock goes along.
    monkeypatch.setattr(jwts, "LEEWAY", -120.0)
    with pytest.raises(Problem, match="valid credential"):
        chain.admit(asked(bearer=text))


def test_what_is_remembered_of_jwts_is_bounded_and_only_what_was_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwts, "REMEMBERED", 3)
    gate = JwtGate(SECRET, audience="streams")
    chain = Chain(jwts=gate)

    for number in range(6):
        chain.admit(asked(bearer=token(sub=f"user {number}")))
        with pytest.raises(Problem):
            chain.admit(asked(bearer=token(b"t" * 40, sub=f"user {number}")))

    assert sorted(principal.name for principal in gate._verified.values()) == [f"jwt:user {n}" for n in (3, 4, 5)]
