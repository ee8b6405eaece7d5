"""Private keys: read from a file that only its owner may read, or made anew.

Nothing of a key's content is in any message. As ssh does, a file that others may read is refused:
whoever could read it could sign.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from closecall.errors import ConfigurationError, UsageError
from closecall.signing.crypto import KINDS, is_private, key_id, require_cryptography, signed
from closecall.signing.public_keys import MAX_KEY, PublicKey

Passphrase = bytes | str | Callable[[], bytes | str]
"""A passphrase, or what asks for it once it is known that one is needed."""

_OPENSSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SigningKey:
    """A private key; ``repr`` shows its id only.

    Attributes
    ----------
    key_id
        ``sha256:`` and the digest of its public key's SPKI.
    """

    def __init__(self, key: Any) -> None:
        self._key = key
        self.key_id = key_id(key.public_key())

    @property
    def public(self) -> PublicKey:
        """Its public key."""
        return PublicKey(self.key_id, "this key", self._key.public_key())

    def sign(self, data: bytes) -> bytes:
        """Return the signature of these bytes."""
        return signed(self._key, data)

    def public_pem(self) -> bytes:
        """Return the public key as PEM (SubjectPublicKeyInfo)."""
        from cryptography.hazmat.primitives import serialization

        made: bytes = self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return made

    def __repr__(self) -> str:
        return f"<SigningKey {self.key_id}>"

    def __reduce__(self) -> Any:
        raise TypeError("a private key is not pickled")


def load_signing_key(
    path: str | os.PathLike[str], passphrase: Passphrase | None = None
) -> SigningKey:
    """Return the private key in a file: PEM (PKCS #8) or OpenSSH's own format.

    Parameters
    ----------
    path
        A file that only its owner may read.
    passphrase
        Of an encrypted key. A function is called only where one is needed.

    Raises
    ------
    MissingExtraError
        cryptography is not installed.
    ConfigurationError
        The file cannot be read, others may read it, it holds no private key of a kind that
        signs, or the passphrase is missing or wrong.
    """
    require_cryptography()
    data, mode = _private_bytes(Path(path))
    if b"PRIVATE KEY-----" not in data:
        what = "a public key; name the private one" if b"PUBLIC KEY" in data else "no private key"
        raise ConfigurationError(
            f"{path}: holds {what}. Taken are PEM (PKCS #8) and OpenSSH; make one with: closecall "
            "sign --new-key FILE"
        )
    if os.name == "posix" and stat.S_ISREG(mode) and mode & _OTHERS:
        raise ConfigurationError(
            f"{path}: others may read this private key (mode {stat.S_IMODE(mode):04o}). Make it "
            f"yours alone: chmod 600 {path}"
        )
    key = _loaded(path, data, None)
    if key is None:
        if passphrase is None:
            raise ConfigurationError(f"{path}: the key is encrypted, and no passphrase was given")
        given = passphrase() if callable(passphrase) else passphrase
        key = _loaded(path, data, given.encode("utf-8") if isinstance(given, str) else given)
    if not is_private(key):
        raise ConfigurationError(f"{path}: is not a key of a kind that signs runs ({KINDS})")
    return SigningKey(key)


def new_key(path: str | os.PathLike[str]) -> SigningKey:
    """Make an Ed25519 key in a new file (PEM, PKCS #8, not encrypted) that only its owner reads.

    Raises
    ------
    MissingExtraError
        cryptography is not installed.
    UsageError
        Something is there already, or it cannot be written.
    """
    require_cryptography()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    key = ed25519.Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags, 0o600)
    except FileExistsError:
        raise UsageError(f"{path}: is there already, and a key is never overwritten") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        Path(path).unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    return SigningKey(key)


def _private_bytes(path: Path) -> tuple[bytes, int]:
    """Return what the file holds, and its mode."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MAX_KEY + 1)
    except OSError as error:
        raise ConfigurationError(
            f"{path}: the key cannot be read: {error.strerror or error}"
        ) from error
    if len(data) > MAX_KEY:
        raise ConfigurationError(f"{path}: is larger than {MAX_KEY} bytes, so it is no key")
    return data, mode


def _loaded(path: str | os.PathLike[str], data: bytes, passphrase: bytes | None) -> Any:
    """Return the key; None where it needs a passphrase and there is none."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    ssh = _OPENSSH in data
    load = serialization.load_ssh_private_key if ssh else serialization.load_pem_private_key
    try:
        return load(data, password=passphrase)
    except TypeError:  # how both say that a passphrase is needed
        if passphrase is None:
            return None
        problem = "the key cannot be opened with this passphrase"
    except UnsupportedAlgorithm:
        problem = "is not a key that can be read here"
        if ssh:
            problem += "; an encrypted OpenSSH key needs: pip install 'closecall[sign]'"
    except ValueError:
        problem = "holds no private key that can be read"
        if passphrase is not None:
            problem = "the passphrase is wrong, or the key is damaged"
        elif ssh and _is_encrypted_ssh(data):
            return None
    # What the package says may quote what it read.
    raise ConfigurationError(f"{path}: {problem}") from None


def _is_encrypted_ssh(data: bytes) -> bool:
    import base64
    import binascii

    body = data.partition(_OPENSSH)[2].partition(b"-----END")[0]
    try:
        head = base64.b64decode(b"".join(body.split()))[:64]
    except binascii.Error:
        return False
    return head.startswith(b"openssh-key-v1\0") and b"\0\0\0\4none" not in head
