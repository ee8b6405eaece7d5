"""Public keys that are trusted: PEM, OpenSSH's ``.pub``, or a list as its ``allowed_signers``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from closecall.errors import ConfigurationError
from closecall.signing.crypto import KINDS, holds, is_public, key_id, require_cryptography

MAX_KEY = 64 * 1024
"""Bytes of a file of keys."""

_SSH_KINDS = frozenset({b"ssh-ed25519", b"ecdsa-sha2-nistp256"})
_SSH_OTHERS = (b"ssh-", b"ecdsa-", b"sk-")
_BEGIN, _END = b"-----BEGIN PUBLIC KEY-----", b"-----END PUBLIC KEY-----"


class PublicKey(NamedTuple):
    """A trusted key: its id, what it is called (whose it is, or its file), and the key itself."""

    key_id: str
    name: str
    key: Any

    def holds(self, signature: bytes, data: bytes) -> bool:
        """Whether a signature is that of the key's owner over these bytes."""
        return holds(self.key, signature, data)


PathLike = str | os.PathLike[str]
Keys = PathLike | PublicKey | Iterable[PathLike | PublicKey]


def trusted_keys(keys: Keys) -> tuple[PublicKey, ...]:
    """Return the keys in files, and keys as they are; one that is named twice counts once.

    Raises
    ------
    MissingExtraError
        cryptography is not installed.
    ConfigurationError
        A file cannot be read, or holds no public key that can check a signature.
    """
    listed = [keys] if isinstance(keys, str | os.PathLike | PublicKey) else list(keys)
    found: dict[str, PublicKey] = {}
    for one in listed:
        for key in (one,) if isinstance(one, PublicKey) else load_public_keys(one):
            found.setdefault(key.key_id, key)
    return tuple(found.values())


def load_public_keys(path: PathLike) -> tuple[PublicKey, ...]:
    """Return the public keys in a file.

    Taken are PEM (SubjectPublicKeyInfo, also several), OpenSSH (``ssh-ed25519 AAAA... comment``)
    and lines as in ``allowed_signers`` (``who@example.com ssh-ed25519 AAAA...``), of which those
    with options are refused: nothing here would heed them.

    Raises
    ------
    MissingExtraError
        cryptography is not installed.
    ConfigurationError
        The file cannot be read, or something in it is no such key; the message names the line.
    """
    require_cryptography()
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_KEY + 1)
    except OSError as error:
        raise ConfigurationError(
            f"{path}: the key cannot be read: {error.strerror or error}"
        ) from error
    if len(data) > MAX_KEY:
        raise ConfigurationError(f"{path}: is larger than {MAX_KEY} bytes, so it is no key")
    if b"PRIVATE KEY" in data:
        raise ConfigurationError(f"{path}: holds a private key; give the public one")
    found = tuple(_pem(path, data) if _BEGIN in data else _lines(path, data))
    if not found:
        raise ConfigurationError(
            f"{path}: holds no public key; taken are PEM (BEGIN PUBLIC KEY) and OpenSSH"
        )
    return found


def _pem(path: PathLike, data: bytes) -> Iterator[PublicKey]:
    from cryptography.hazmat.primitives import serialization

    for number, block in enumerate(data.split(_BEGIN)[1:], 1):
        body, end, _ = block.partition(_END)
        yield _checked(
            f"{path}: key {number}",
            Path(path).name,
            lambda pem=_BEGIN + body + end + b"\n": serialization.load_pem_public_key(pem),
        )


def _lines(path: PathLike, data: bytes) -> Iterator[PublicKey]:
    from cryptography.hazmat.primitives import serialization

    for number, line in enumerate(data.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        place = f"{path}:{number}"
        at = next((at for at, word in enumerate(words) if word.startswith(_SSH_OTHERS)), None)
        if at is None or at + 1 >= len(words):
            raise ConfigurationError(f"{place}: is no public key (ssh-ed25519 AAAA...)")
        if at > 1:
            raise ConfigurationError(
                f"{place}: options of a signer are not heeded here; leave them out, or the line"
            )
        if words[at] not in _SSH_KINDS:
            raise ConfigurationError(f"{place}: is not a key that signs runs ({KINDS})")
        names = words[:at] or words[at + 2 :]
        name = b" ".join(names).decode("utf-8", "replace") or Path(path).name
        spelt = b" ".join(words[at : at + 2])
        yield _checked(place, name, lambda ssh=spelt: serialization.load_ssh_public_key(ssh))


def _checked(place: str, name: str, load: Any) -> PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        key = load()
    except (ValueError, UnsupportedAlgorithm):
        raise ConfigurationError(f"{place}: is no public key that can be read") from None
    if not is_public(key):
        raise ConfigurationError(f"{place}: is not a key that signs runs ({KINDS})")
    return PublicKey(key_id(key), name, key)
