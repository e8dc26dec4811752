"""The cipher of a token: AES-256-GCM under a key that is derived for each token.

HKDF-Expand (SHA-256) of the secret and 12 random bytes gives the key, 12 more are the nonce. So random nonces do
not bound the number of tokens of a secret, as they would with GCM alone. The only module that knows the library.
"""

import hmac

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ModuleNotFoundError as missing:
    message = f"resume tokens need the package {missing.name}: pip install 'tailrace[tokens]'"
    raise ModuleNotFoundError(message, name=missing.name) from None

SALT_BYTES = 12
SEED_BYTES = SALT_BYTES + 12
TAG_BYTES = 16

_PURPOSE = b"tailrace resume token 1"


def seal(secret: bytes, seed: bytes, content: bytes, bound: bytes, *, purpose: bytes = _PURPOSE) -> bytes:
    """Return the sealed content, its tag last. ``seed`` is random and never used again.

    What is sealed for one ``purpose`` opens for no other: their keys have nothing in common.
    """
    return AESGCM(_key(secret, seed, purpose)).encrypt(seed[SALT_BYTES:], content, bound)


def unseal(secret: bytes, seed: bytes, sealed: bytes, bound: bytes, *, purpose: bytes = _PURPOSE) -> bytes | None:
    """Return the content; ``None`` if anything is not what it was sealed with."""
    try:
        return AESGCM(_key(secret, seed, purpose)).decrypt(seed[SALT_BYTES:], sealed, bound)
    except InvalidTag:
        return None


def _key(secret: bytes, seed: bytes, purpose: bytes) -> bytes:
    # HKDF-Expand where one block is enough: a ring's secrets are random, so nothing has to be extracted first.
    return hmac.digest(secret, purpose + seed[:SALT_BYTES] + b"\x01", "sha256")
