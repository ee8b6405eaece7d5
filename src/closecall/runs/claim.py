"""Who may write in a run folder: one process, in a folder that was vacant or is its own run."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from closecall.errors import RunFolderError
from closecall.runs import files
from closecall.runs.appender import Appender
from closecall.runs.values import now_utc
from closecall.runs.wire import dump_document
from closecall.storage import locking
from closecall.there import exists, is_dir

_ELSEWHERE = "Choose another folder: --aef DIR"
_BEGUN = frozenset({files.RESULTS, files.METRICS, files.WRITER, *files.STAGED})
"""All that a writer killed before run.json was there may have left."""


def quoted(root: Path | str) -> str:
    """Return a folder, or anything else, as it is typed at a prompt."""
    return str(root) if os.name == "nt" else shlex.quote(str(root))


def how_to_go_on(root: Path) -> str:
    """Return what to type after an error that left the results so far in the folder."""
    return f"Go on with: closecall eval --resume {quoted(root)}"


def require_vacant(root: Path) -> None:
    """Refuse a folder that holds anything but what a writer killed at once may have left."""
    with files.translated(f"{root}: cannot be used as a run folder", _ELSEWHERE):
        _require_vacant(root)


def _require_vacant(root: Path) -> None:
    status = files.status_of(root) if is_dir(root) else None
    if status == "running":
        raise RunFolderError(
            f"{root}: already holds a run that is not closed. Continue it with: closecall eval "
            f"--resume {quoted(root)}; or choose another folder: --aef DIR"
        )
    if status is not None:
        raise RunFolderError(f"{root}: already holds a run, {status}. {_ELSEWHERE}")
    if not exists(root):
        return
    top = set(os.listdir(root))  # noqa: PTH208 - names, not paths
    if top - {path.partition("/")[0] for path in _BEGUN} or not _only_begun(root):
        raise RunFolderError(f"{root}: is not empty. {_ELSEWHERE}")


def _only_begun(root: Path) -> bool:
    found = files.all_files(root)
    started = files.RESULTS in found and (root / files.RESULTS).stat().st_size > 0
    return not started and _BEGUN.issuperset(found)


def take(root: Path, *, create: bool) -> Appender:
    """Open the results and take the lock on them, which dies with this process."""
    place = root / files.RESULTS
    if not create and not files.exists(root, files.RESULTS):
        raise RunFolderError(f"{place}: is missing, so the run cannot be continued")
    with files.translated(f"{place}: cannot be opened for writing"):
        results = Appender(place, create=create, hint=how_to_go_on(root))
    try:
        with files.translated(
            f"{place}: cannot be locked", "Put the run on a file system that can lock: --aef DIR"
        ):
            locking.lock(results.descriptor)
    except locking.BusyError:
        results.close()
        raise RunFolderError(
            f"{root}: another process is writing this run{_who(root)}. Wait until it is done, "
            f"or end it and then: closecall eval --resume {quoted(root)}"
        ) from None
    except BaseException:
        results.close()
        raise
    if not _is_there(place, results.descriptor):
        results.close()
        raise RunFolderError(f"{place}: was removed by another process just now. Try again")
    return results


def _is_there(place: Path, descriptor: int) -> bool:
    """Whether a file that was opened still stands where it was: its maker may have given up."""
    try:
        return os.path.samestat(os.fstat(descriptor), place.stat())
    except FileNotFoundError:
        return False


@contextmanager
def nothing_left(root: Path, *, folder: bool) -> Iterator[None]:
    """Where what is done inside fails, remove what it wrote, and with ``folder`` the folder.

    For a run that is not there before its header is, by the process that has taken it: one whose
    header is there can be gone on with, and stays whole.
    """
    try:
        yield
    except BaseException:
        if files.exists(root, files.RUN):
            raise
        with suppress(OSError):  # the first error counts
            files.remove(root, *_BEGUN)
            if folder:
                place = (root / files.CASES).parent
                for one in (place, place.parent, root):
                    one.rmdir()
        raise


def sign(root: Path) -> None:
    """Leave a note of who is writing, for the message a second writer gets.

    No writer outlives a power failure, so the note need not either.
    """
    signature = {"pid": os.getpid(), "host": socket.gethostname(), "since": now_utc()}
    files.note(root, files.WRITER, dump_document(signature))


def _who(root: Path) -> str:
    try:
        signature = files.read_document(root, files.WRITER)
    except RunFolderError:
        return ""
    return f" (pid {signature.get('pid')} on {signature.get('host')})"
