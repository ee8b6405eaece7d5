"""Signing a sealed run that is as it was sealed."""

from __future__ import annotations

import os
from pathlib import Path

from closecall.errors import RunFolderError
from closecall.runs import files
from closecall.runs.claim import quoted
from closecall.runs.reader import is_parts
from closecall.signing.checking import envelope_in, seal_bytes
from closecall.signing.envelope import MAX_SIGNATURES, Signature, dump_envelope, pae
from closecall.signing.private_keys import Passphrase, SigningKey, load_signing_key
from closecall.signing.verify import folder_of, verify_folder
from closecall.storage import open_store
from closecall.storage.places import is_url

_STAGED = files.ATTESTATION + files.TEMPORARY


def sign_run(
    place: str | os.PathLike[str],
    key: SigningKey | str | os.PathLike[str],
    *,
    passphrase: Passphrase | None = None,
) -> str:
    """Sign a run: write ``attestation.dsse.json`` beside its seal.

    The run is checked from end to end first, so that nobody signs what was changed. A run that
    others signed gets one signature more; signing again with one key changes nothing.

    Parameters
    ----------
    place
        The folder or URL of a sealed run, or a run in parts.
    key
        A private key (Ed25519, or ECDSA P-256): its file, or what ``load_signing_key`` returns.
    passphrase
        Of an encrypted key file, or a function that asks for it.

    Returns
    -------
    str
        The id of the key: ``sha256:`` and the hex digest of the public key's SPKI.

    Raises
    ------
    MissingExtraError, ConfigurationError
        The key cannot be used; see ``load_signing_key``.
    RunFolderError
        The run is not closed, has no seal, does not hold, or has a signature over something else.
    StorageError
        The place cannot be written.
    """
    own = key if isinstance(key, SigningKey) else load_signing_key(key, passphrase)
    where = os.fspath(place)
    if not is_url(place):
        with files.translated(f"{where}: cannot be signed"):
            files.remove(Path(place), _STAGED)  # what a signer left that was killed
    with folder_of(place) as folder:
        made = _signed(folder, where, own)
    if made is not None:
        _write(where, made)
    return own.key_id


def _signed(folder: Path, place: str, key: SigningKey) -> bytes | None:
    """Return the envelope to write; None where this key signed it already."""
    found = verify_folder(folder, (key.public,), place)
    if found.state in {"not closed", "not sealed"}:
        raise RunFolderError(
            f"{place}: the run is {found.state}, and only a sealed run is signed. Close it with: "
            f"closecall eval --resume {quoted(place)}"
        )
    if found.problems:
        more = f" (and {len(found.problems) - 1} more)" if len(found.problems) > 1 else ""
        raise RunFolderError(
            f"{place}: is not signed, because it does not hold: {found.problems[0]}{more}. All "
            f"that differs: closecall verify {quoted(place)}"
        )
    if key.key_id in found.signed_by:
        return None
    seal, before = seal_bytes(folder), envelope_in(folder)
    others = () if before is None else before.signatures
    if len(others) >= MAX_SIGNATURES:
        raise RunFolderError(f"{place}: has {len(others)} signatures, which is the most there are")
    return dump_envelope(seal, [*others, Signature(key.key_id, key.sign(pae(seal)))])


def _write(place: str, data: bytes) -> None:
    root = Path(place)
    if is_url(place) or is_parts(root):
        open_store(place).write(files.ATTESTATION, data)
        return
    with files.translated(f"{root}: cannot be signed"):
        files.write(root, files.ATTESTATION, data)
        files.sync_folder(root)
