"""Whether the signature in a run folder is over its seal, and by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from closecall.errors import RunFolderError
from closecall.runs import files
from closecall.runs.parts.documents import MAX_SEAL
from closecall.signing.envelope import MAX_ENVELOPE, Envelope, pae, read_envelope
from closecall.signing.public_keys import PublicKey
from closecall.signing.records import SignatureState


class Checked(NamedTuple):
    """What became of a signature, its key ids, the trusted of them by name, what is wrong."""

    state: SignatureState
    key_ids: tuple[str, ...] = ()
    signers: Mapping[str, str] = MappingProxyType({})
    problems: tuple[str, ...] = ()


def seal_bytes(folder: Path) -> bytes:
    """Return seal.json byte for byte: it is what is signed."""
    return _bytes(folder, files.SEAL, MAX_SEAL)


def envelope_in(folder: Path) -> Envelope | None:
    """Return the envelope in a folder, None where there is none.

    Raises
    ------
    RunFolderError
        It cannot be read, or is no envelope of a signature.
    """
    if not files.exists(folder, files.ATTESTATION):
        return None
    data = _bytes(folder, files.ATTESTATION, MAX_ENVELOPE)
    return read_envelope(data, str(folder / files.ATTESTATION))


def check_signature(folder: Path, keys: Sequence[PublicKey]) -> Checked:
    """Return what can be said of the signature in a folder with these keys, perhaps none."""
    place = folder / files.ATTESTATION
    try:
        envelope = envelope_in(folder)
        if envelope is None:
            return Checked(SignatureState.UNSIGNED)
        seal = seal_bytes(folder) if files.exists(folder, files.SEAL) else None
    except RunFolderError as error:
        return Checked(SignatureState.BROKEN, problems=(str(error),))
    ids = tuple(one.key_id for one in envelope.signatures)
    if envelope.payload != seal:
        problem = (
            f"{place}: signs another {files.SEAL} than the one beside it"
            if seal is not None
            else f"{place}: signs a {files.SEAL}, and there is none"
        )
        return Checked(SignatureState.BROKEN, ids, problems=(problem,))
    return _by_keys(place, envelope, keys) if keys else Checked(SignatureState.UNCHECKED, ids)


def _by_keys(place: Path, envelope: Envelope, keys: Sequence[PublicKey]) -> Checked:
    ids = tuple(one.key_id for one in envelope.signatures)
    known = {key.key_id: key for key in keys}
    data = pae(envelope.payload)
    named = [(known[one.key_id], one.data) for one in envelope.signatures if one.key_id in known]
    forged = tuple(
        f"{place}: the signature is not that of {key.name} ({key.key_id}), whose key it names"
        for key, made in named
        if not key.holds(made, data)
    )
    if forged:
        return Checked(SignatureState.BROKEN, ids, problems=forged)
    if not named:
        return Checked(SignatureState.UNKNOWN, ids)
    return Checked(SignatureState.TRUSTED, ids, {key.key_id: key.name for key, _ in named})


def _bytes(folder: Path, name: str, limit: int) -> bytes:
    with (
        files.open_regular(folder, name) as file,
        files.translated(f"{folder / name}: unreadable"),
    ):
        data = file.read(limit + 1)
    if len(data) > limit:
        raise RunFolderError(f"{folder / name}: is larger than {limit} bytes")
    return data
