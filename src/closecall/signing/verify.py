"""Checking a run from end to end: its lines, its figures, its gates, its seal, its signature."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from closecall.errors import RunFolderError, StorageError
from closecall.gates.recheck import gate_result_problems
from closecall.runs.reader import RunReader, open_run
from closecall.runs.verify import NOT_UNDERSTOOD, not_understood, told
from closecall.signing.checking import check_signature
from closecall.signing.public_keys import Keys, PublicKey, trusted_keys
from closecall.signing.records import Verification
from closecall.storage.places import is_url


def verify_run(place: str | os.PathLike[str], keys: Keys | None = None) -> Verification:
    """Check a run folder, or a run in parts, on this machine or at a URL.

    All that can be recomputed is: result ids, every verdict from its value and cutoff, repeated
    cases, the summary, what the gates decided, and the digest of each file against the seal.

    Parameters
    ----------
    place
        The run's folder or URL.
    keys
        Public keys that are trusted to sign: files (PEM, OpenSSH, or lists of signers), or what
        ``load_public_keys`` returns. None: the signature is looked at, not checked.

    Returns
    -------
    Verification
        What does not hold, and who signed; ``trusted`` says both in one word.

    Raises
    ------
    MissingExtraError, ConfigurationError
        Keys were given and cannot be used.
    StorageError
        The URL cannot be read.
    """
    trusted = () if keys is None else trusted_keys(keys)
    where = os.fspath(place)
    try:
        with folder_of(place) as folder:
            return verify_folder(folder, trusted, where)
    except RunFolderError as error:  # no run at the URL
        return _of_none(where, str(error), trusted)


def verify_folder(folder: Path, keys: tuple[PublicKey, ...], place: str) -> Verification:
    """Check the run in a folder of this machine; ``place`` is what it is called."""
    signed = check_signature(folder, keys)
    state: str | None = None
    try:
        run = open_run(folder)
        state = _state(run)
        found = run.verify()
        if not found:
            found = told(gate_result_problems(folder))
    except (RunFolderError, StorageError) as error:
        found = [str(error)]
    except NOT_UNDERSTOOD as error:  # of the gates: the run's own check has passed
        found = [not_understood(folder, error)]
    problems = [*found, *signed.problems]
    return Verification(
        place=place,
        problems=tuple(one.replace(str(folder), place) for one in problems),
        state=state,
        signature=signed.state,
        signed_by=signed.key_ids,
        signers=dict(signed.signers),
        keys=len(keys),
    )


@contextmanager
def folder_of(place: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a run as a folder of this machine: itself, or a copy of what lies at a URL."""
    if not is_url(place):
        yield Path(place)
        return
    from closecall.runs.afar import fetched_run

    with fetched_run(os.fspath(place)) as folder:
        yield folder


def _of_none(place: str, problem: str, keys: tuple[PublicKey, ...]) -> Verification:
    from closecall.signing.records import SignatureState

    return Verification(
        place=place,
        problems=(problem,),
        state=None,
        signature=SignatureState.UNSIGNED,
        keys=len(keys),
    )


def _state(run: RunReader) -> str:
    if run.running:
        return "not closed"
    return "sealed" if run.sealed else "not sealed"
