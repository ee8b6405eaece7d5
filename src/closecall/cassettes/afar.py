"""Cassettes on object storage: fetched when one is opened, pushed when it is closed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from closecall.cassettes.cassette import Mode
from closecall.cassettes.naming import JOURNAL, SUFFIX, file_name
from closecall.cassettes.tape import MAX_FILE
from closecall.errors import CassetteError, ClosecallError, UsageError
from closecall.storage.fetching import fetch, temporary_folder
from closecall.storage.naming import told_as
from closecall.storage.places import located
from closecall.storage.remote import open_remote
from closecall.storage.spool import Spool, TakenOverError
from closecall.there import exists


@contextmanager
def cassette_at(
    url: str,
    mode: Mode | str,
    scenario: str,
    *,
    take_over: bool = False,
    on_notice: Callable[[str], None] | None = None,
) -> Iterator[Path]:
    """Give the folder of this machine that stands for a cassette at a URL.

    It holds the file of one scenario. What is recorded there is pushed at the end, once the
    cassette was closed; where that fails it stays, and the next recording of this machine to that
    URL goes on with it.

    Parameters
    ----------
    url
        The cassette.
    mode, scenario
        As of ``open_cassette``.
    take_over
        Record although another machine's claim lies there, which must have died.
    on_notice
        Called with each thing worth telling a person that is not an error.

    Raises
    ------
    UsageError
        There is nothing to replay.
    StorageError
        Another process is recording there, or it cannot be fetched.
    CassetteError
        It could not be pushed.
    """
    name = file_name(scenario)
    if mode == Mode.REPLAY:
        with _copied(url, name) as folder:
            yield folder
        return
    spool = Spool(url, f"{name}.claim", take_over=take_over)
    try:
        # A process that died before it had the recording left nothing to go on with.
        if not any(spool.folder.iterdir()) and spool.store.exists(name):
            spool.fetch(name, MAX_FILE)
    except BaseException:
        spool.release()
        raise
    stopped = True
    try:
        with told_as(spool.folder, spool.store.place):
            yield spool.folder
        stopped = False
    finally:
        _deliver(spool, name, (on_notice or (lambda _: None)) if stopped else None)


@contextmanager
def _copied(url: str, name: str) -> Iterator[Path]:
    store = open_remote(located(url))
    if not store.exists(name):
        raise UsageError(
            f"{store.place}: there is no {name} to replay; record it: --record {store.place}"
        )
    folder = Path(temporary_folder())
    try:
        fetch(store, name, folder / name, MAX_FILE)
        with told_as(folder, store.place):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _deliver(spool: Spool, name: str, tell: Callable[[str], None] | None) -> None:
    """Push what was recorded, and give the place back; where that fails, say where it is safe.

    With ``tell`` another error is on its way, which counts; this one is only told.
    """
    journal = spool.folder / (name.removesuffix(SUFFIX) + JOURNAL)
    if exists(journal):  # the cassette could not be closed, and has said so
        spool.leave()
        return
    try:
        if exists(spool.folder / name):
            spool.require_held()
            spool.push(name)
        spool.release()
    except TakenOverError as error:
        spool.leave()
        if tell is None:
            raise
        tell(str(error))
    except ClosecallError as error:
        spool.leave()
        said = (
            f"{error}. What was recorded is safe in {spool.folder}; the next recording from this "
            f"folder to {spool.store.place} pushes it"
        )
        if tell is None:
            raise CassetteError(said) from None
        tell(said)
    except BaseException:
        spool.leave()
        raise
