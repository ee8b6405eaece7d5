"""The run folders that lie in one place: what each is, and removing old ones.

Only a folder that is a run of closecall and nothing more is ever removed, and none that a process
is writing.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from closecall.errors import ClosecallError, RunFolderError, UsageError
from closecall.runs import files
from closecall.runs.gate_results import GateState
from closecall.runs.reader import is_parts
from closecall.runs.shards import Shard
from closecall.runs.stored import header_of, load_run
from closecall.runs.summary import CaseCounts
from closecall.storage import locking
from closecall.there import is_dir, is_file

COMPLETE = "complete"
CUT_OFF = "cut off"
"""Not closed, and no process is at it: it can be resumed."""
WRITING = "being written"
UNREADABLE = "unreadable"

DEFAULT_PLACE = Path(".closecall") / "runs"


class KeptRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run folder.

    ``status`` is one of ``complete``, ``cut off``, ``being written`` and ``unreadable``; of the
    last, ``problem`` says why and nothing else is known. ``bytes`` is what its files hold.
    ``counts`` None: they were not asked for. ``exit_code`` is that of a complete run, as its gates
    decided it where it had any; ``gates`` counts these by what became of them. ``shard``
    says which part of a run it is, None where it is a whole one.
    """

    folder: str
    status: str
    bytes: int
    run_id: str = ""
    name: str = ""
    started_at: str = ""
    ended_at: str | None = None
    metrics: tuple[str, ...] = ()
    counts: CaseCounts | None = None
    gates: dict[GateState, int] = {}
    exit_code: int | None = None
    shard: Shard | None = None
    problem: str = ""

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)


def runs_in(place: str | os.PathLike[str], *, counts: bool = True) -> list[KeptRun]:
    """Return the runs in a folder, the newest first; other folders and files are passed over.

    Parameters
    ----------
    place
        The folder above the run folders. One that is not there holds no runs.
    counts
        Count the cases of each, which reads all its results.

    Raises
    ------
    RunFolderError
        The folder cannot be listed.
    """
    found = [_kept(path, counts=counts) for path in _folders(Path(place))]
    return sorted(found, key=lambda run: (run.started_at, run.folder), reverse=True)


def find_run(run: str, place: str | os.PathLike[str]) -> Path:
    """Return the folder that a path or an id names; an id may be cut short where one run fits.

    Raises
    ------
    UsageError
        There is none, or several fit.
    """
    path = Path(run)
    if run and is_dir(path):
        return path
    if run and path.name == run:
        fits = [folder for folder in _folders(Path(place)) if folder.name.startswith(run)]
        exact = [folder for folder in fits if folder.name == run]
        if len(exact or fits) == 1:
            return (exact or fits)[0]
        if fits:
            names = ", ".join(sorted(folder.name for folder in fits)[:5])
            raise UsageError(f"{run!r} fits {len(fits)} runs in {place}: {names}")
    raise UsageError(
        f"there is no run {run!r}, neither as a folder nor in {place}; closecall runs list shows "
        "those there are"
    )


def chosen(
    runs: Sequence[KeptRun],
    *,
    keep: int | None = None,
    older_than_days: int | None = None,
    now: datetime | None = None,
) -> list[KeptRun]:
    """Return the runs to remove, the oldest first: beyond the newest ``keep`` and older than so.

    Both together: a run has to meet both. Those unreadable or being written are never chosen, and
    count for nothing.
    """
    if keep is None and older_than_days is None:
        raise UsageError("say what to remove: --keep N, --older-than 30d or both")
    ours = [run for run in runs if run.status in {COMPLETE, CUT_OFF}]
    newest_first = sorted(ours, key=lambda run: (run.started_at, run.folder), reverse=True)
    beyond = newest_first if keep is None else newest_first[keep:]
    if older_than_days is not None:
        limit = (now or datetime.now(UTC)) - timedelta(days=older_than_days)
        beyond = [run for run in beyond if _time(run) < limit]
    return beyond[::-1]


def why_not(folder: Path) -> str | None:
    """Return why a folder must not be removed, None where nothing speaks against it."""
    try:
        if folder.is_symlink():
            return "is a link"
        header_of(folder)
        found = files.all_files(folder)
    except ClosecallError as error:
        return str(error)
    if is_parts(folder):
        from closecall.runs.parts.documents import DOCUMENTS
        from closecall.runs.parts.sealing import strangers

        own = strangers(found, DOCUMENTS)
        return f"holds a file that belongs to no run: {own[0]}" if own else None
    strange = files.strangers([name for name in found if not name.endswith(files.TEMPORARY)])
    extra = [name for name in found if name.startswith("ext/") and not name.startswith(_OURS)]
    if strange or extra:
        return f"holds a file that belongs to no run: {(strange or extra)[0]}"
    return None


_OURS = "ext/closecall/"


def remove(folder: Path) -> None:
    """Remove a run folder, holding its lock meanwhile.

    Raises
    ------
    RunFolderError
        It is no run, holds something else, is being written, or cannot be removed; it is then
        left as it is, except when the system fails half-way.
    """
    reason = why_not(folder)
    if reason is not None:
        raise RunFolderError(f"{folder}: not removed: {reason}")
    descriptor = _locked(folder)
    if descriptor is None and files.exists(folder, files.RESULTS):
        raise RunFolderError(f"{folder}: not removed: a process is writing it")
    try:
        # Where a lock is in the way of removing, as on Windows, it must be given back first.
        if os.name == "nt" and descriptor is not None:
            os.close(descriptor)
            descriptor = None
        with files.translated(f"{folder}: cannot be removed"):
            shutil.rmtree(folder)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _folders(place: Path) -> Iterator[Path]:
    with files.translated(f"{place}: cannot be listed"):
        if not is_dir(place):
            return
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False) and is_file(path / files.RUN):
            yield path


def _kept(folder: Path, *, counts: bool) -> KeptRun:
    size = _size(folder)
    try:
        header = header_of(folder)
        status = COMPLETE
        if files.status_of(folder) == "running":
            status = WRITING if is_being_written(folder) else CUT_OFF
        run = load_run(folder) if counts else None
    except ClosecallError as error:
        return KeptRun(folder=str(folder), status=UNREADABLE, bytes=size, problem=str(error))
    return KeptRun(
        folder=str(folder),
        status=status,
        bytes=size,
        run_id=header.run_id,
        name=header.name,
        started_at=header.started_at,
        ended_at=header.ended_at,
        metrics=tuple(plan.id for plan in header.metrics),
        shard=header.shard,
        counts=None if run is None else run.cases,
        gates={} if run is None else dict(Counter(one.state for one in run.gates)),
        exit_code=run.exit_code if run is not None and status == COMPLETE else None,
    )


def is_being_written(folder: Path) -> bool:
    """Whether a process holds the lock on a run's results."""
    descriptor = _locked(folder)
    if descriptor is None:
        return files.exists(folder, files.RESULTS)
    locking.unlock(descriptor)
    os.close(descriptor)
    return False


def _locked(folder: Path) -> int | None:
    """Return an open file that holds the lock of a run; None where another holds it, or none can.

    A folder that cannot be locked counts as being written: it is safer to keep it.
    """
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(folder / files.RESULTS, flags)
    except OSError:
        return None
    try:
        locking.lock(descriptor)
    except (locking.BusyError, OSError):
        os.close(descriptor)
        return None
    return descriptor


def _size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(Path(root) / name).st_size
            except OSError:
                continue
    return total


def _time(run: KeptRun) -> datetime:
    """Return when a run began; one whose header holds no time counts as new."""
    try:
        found = datetime.fromisoformat(run.started_at)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
