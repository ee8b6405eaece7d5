"""The kinds of keys that sign a run, as the ``cryptography`` package has them.

Ed25519 (RFC 8032), and ECDSA over P-256 with SHA-256, its signatures in DER.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from closecall.errors import MissingExtraError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

KINDS = "Ed25519 or ECDSA P-256"
P256 = "secp256r1"


def require_cryptography() -> None:
    """Raise ``MissingExtraError`` where the package is not installed."""
    try:
        import cryptography.hazmat.primitives.asymmetric.ed25519  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("signing a run", "sign", ["cryptography"]) from error


def is_private(key: object) -> bool:
    """Whether a key is a private one that can sign a run."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.curve.name == P256
    return isinstance(key, ed25519.Ed25519PrivateKey)


def is_public(key: object) -> bool:
    """Whether a key is a public one that can check a signature."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    if isinstance(key, ec.EllipticCurvePublicKey):
        return key.curve.name == P256
    return isinstance(key, ed25519.Ed25519PublicKey)


def key_id(key: ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey) -> str:
    """Return ``sha256:`` and the hex digest of the key's SubjectPublicKeyInfo in DER."""
    from cryptography.hazmat.primitives import serialization

    der = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return f"sha256:{hashlib.sha256(der).hexdigest()}"


def signed(key: Any, data: bytes) -> bytes:
    """Return the signature of these bytes: 64 bytes of Ed25519, or ECDSA in DER."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    made: bytes = (
        key.sign(data, ec.ECDSA(hashes.SHA256()))
        if isinstance(key, ec.EllipticCurvePrivateKey)
        else key.sign(data)
    )
    return made


def holds(key: Any, signature: bytes, data: bytes) -> bool:
    """Whether a signature is that of the key's owner over these bytes."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, data, ec.ECDSA(hashes.SHA256()))
        else:
            key.verify(signature, data)
    except InvalidSignature:
        return False
    return True
