"""Run folders on object storage: one place for reading them, one for writing them.

A run is read from a copy in a temporary folder. It is written in a folder of this machine
(``storage.spool``) and pushed when the work stops, whatever it stopped for: every file whole, the
header after all it speaks of, the seal last. So what lies at the URL is at any moment a run that
can be read, and gone on with by another machine.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from closecall.errors import ClosecallError, RunFolderError, StorageError
from closecall.runs import files
from closecall.runs.claim import quoted
from closecall.runs.kept import CUT_OFF, WRITING, KeptRun, runs_in
from closecall.runs.wire import MAX_FILE, MAX_FILES
from closecall.storage.fetching import fetch, temporary_folder
from closecall.storage.naming import told_as
from closecall.storage.places import located
from closecall.storage.remote import UrlStore, open_remote
from closecall.storage.spool import Spool, TakenOverError

CLAIM = "ext/closecall/claim.json"
"""Who is writing the run, while someone is."""
_LAST = (files.RUN, files.SEAL)
_OF_A_CLOSE = (files.SEAL, files.SUMMARY, files.GATES)
"""What a close writes that is undone when the run is gone on with."""
_PRIVATE = frozenset({files.WRITER, CLAIM, *files.STAGED})


@contextmanager
def fetched_run(url: str) -> Iterator[Path]:
    """Give the run at a URL as a folder of this machine, while the block lasts.

    Raises
    ------
    RunFolderError
        There is no run.
    StorageError
        It cannot be fetched.
    """
    store = open_remote(located(url))
    names = _run_files(store)
    if files.RUN not in names:
        raise RunFolderError(f"{store.place}: holds no run (there is no {files.RUN})")
    with _temporary() as above:
        folder = above / located(url).name
        # What was written last is read first: then all it speaks of is there.
        for name in sorted(names, key=lambda name: (name not in _LAST, name != files.SEAL, name)):
            fetch(store, name, folder / name, MAX_FILE)
        with told_as(folder, store.place):
            yield folder


@contextmanager
def written_run(
    url: str,
    *,
    resume: bool,
    take_over: bool = False,
    on_notice: Callable[[str], None] | None = None,
) -> Iterator[Path]:
    """Give the folder of this machine in which the run at a URL is written; push it at the end.

    Parameters
    ----------
    url
        Where the run goes. It must be vacant, or with ``resume`` hold a run.
    resume
        Go on with the run that is there.
    take_over
        Go on although another machine's claim lies there, which must have died.
    on_notice
        Called with each thing worth telling a person that is not an error.

    Raises
    ------
    RunFolderError
        The place is not vacant, or holds nothing to go on with.
    StorageError
        Another process is writing there, or the run could not be pushed: it is then safe in the
        folder, and ``resume`` on this machine pushes it.
    """
    tell = on_notice or (lambda _: None)
    spool = Spool(url, CLAIM, take_over=take_over)
    place = spool.store.place
    try:
        _prepare(spool, resume=resume)
    except BaseException:
        if spool.left_over:
            spool.leave()
        else:
            spool.release()
        raise
    stopped = True
    try:
        with told_as(spool.folder, place):
            yield spool.folder
        stopped = False
    finally:
        _deliver(spool, place, tell if stopped else None)


def _prepare(spool: Spool, *, resume: bool) -> None:
    """Fill the folder, or see that there is nothing to lose."""
    place = spool.store.place
    names = _run_files(spool.store)
    begun = files.exists(spool.folder, files.RUN) or files.RUN in names
    if resume and spool.left_over and files.exists(spool.folder, files.RUN):
        return
    if not resume and begun:
        raise RunFolderError(
            f"{place}: already holds a run. Continue it with: closecall eval --resume "
            f"{quoted(place)}; or choose another place: --aef URL"
        )
    if not resume and names:
        raise RunFolderError(f"{place}: is not empty. Choose another place: --aef URL")
    if resume and not begun:
        raise RunFolderError(
            f"{place}: holds no run (there is no {files.RUN}). Start one with: closecall eval "
            f"FILE --aef {quoted(place)}"
        )
    # The header last: where it is, all else is, should this process be killed meanwhile.
    for name in sorted(names, key=lambda name: (name == files.RUN, name)):
        spool.fetch(name, MAX_FILE)


def _deliver(spool: Spool, place: str, tell: Callable[[str], None] | None) -> None:
    """Push what there is, and give the place back; where that fails, say where it is safe.

    With ``tell`` another error is on its way, which counts; this one is only told.
    """
    try:
        if files.exists(spool.folder, files.RUN):
            _push(spool)
        spool.release()
    except TakenOverError as error:
        spool.leave()
        if tell is None:
            raise
        tell(str(error))
    except ClosecallError as error:
        spool.leave()
        said = (
            f"{error}. The run is safe in {spool.folder}; push it, and go on with it, from this "
            f"folder with: closecall eval --resume {quoted(place)}"
        )
        if tell is None:
            raise StorageError(said) from None
        tell(said)
    except BaseException:
        spool.leave()
        raise


def _push(spool: Spool) -> None:
    spool.require_held()
    here = [name for name in files.all_files(spool.folder) if name not in _PRIVATE]
    for name in set(_OF_A_CLOSE).intersection(spool.store.names()).difference(here):
        spool.store.remove(name)
    for name in sorted(here, key=lambda name: (name in _LAST, name == files.SEAL, name)):
        spool.push(name)


def runs_at(url: str) -> list[KeptRun]:
    """Return the runs below a URL, the newest first, as ``kept.runs_in`` does those of a folder.

    Their headers, results and figures are fetched, not the texts of their cases.
    """
    store = open_remote(located(url))
    sizes: dict[str, int] = {}
    claimed: set[str] = set()
    names = store.names()
    runs = {name.partition("/")[0] for name in names if name.endswith(f"/{files.RUN}")}
    runs = {run for run in runs if f"{run}/{files.RUN}" in names}
    with _temporary() as folder:
        for name in names:
            run, _, inner = name.partition("/")
            if run not in runs:
                continue
            if inner == CLAIM:
                claimed.add(run)
                continue
            sizes[run] = sizes.get(run, 0) + store.size(name)
            if inner != files.CASES:
                fetch(store, name, folder / name, MAX_FILE)
        with told_as(folder, store.place):
            found = runs_in(folder)
    return [_afar(run, store, sizes, claimed) for run in found]


def _afar(run: KeptRun, store: UrlStore, sizes: dict[str, int], claimed: set[str]) -> KeptRun:
    import msgspec

    name = run.path.name
    status = WRITING if run.status == CUT_OFF and name in claimed else run.status
    return msgspec.structs.replace(
        run,
        folder=f"{store.place}/{name}",
        bytes=sizes[name],
        status=status,
        problem=run.problem.replace(str(run.path.parent), store.place),
    )


def _run_files(store: UrlStore) -> list[str]:
    names = [name for name in store.names() if name not in _PRIVATE]
    if len(names) > MAX_FILES:
        raise RunFolderError(f"{store.place}: more than {MAX_FILES:,} files")
    return names


@contextmanager
def _temporary() -> Iterator[Path]:
    folder = Path(temporary_folder())
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
