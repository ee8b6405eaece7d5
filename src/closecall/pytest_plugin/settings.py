"""What was configured, on the command line and in the ini file, read once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from _closecall_pytest import FILE, MODES

SCENARIO = "pytest"
UNSURE = ("fail", "skip")
NO_FOLDER = "off"


class Settings(NamedTuple):
    """What was configured, paths absolute.

    ``found`` says that recordings are replayed because they are there. ``folder`` is the run
    folder, None: a new one under ``.closecall/runs`` of ``root``; ``keeps`` False: none.
    """

    root: Path
    embedder: str | None
    calibrations: tuple[Path, ...]
    guards: str | None
    unsure: str
    mode: str | None
    cassettes: Path
    found: bool
    folder: Path | None
    keeps: bool

    def told(self) -> list[str]:
        """Return the lines of the report's header."""
        if self.mode is None:
            return []
        place = self.cassettes / FILE
        if self.found:
            more = f"--closecall-record-missing {self.cassettes} adds to it"
            return [f"closecall: replaying {place}, asking no provider; {more}"]
        doing = {"record": "recording to", "replay": "replaying"}.get(
            self.mode, "adding what is missing to"
        )
        return [f"closecall: {doing} {place}"]


def read(config: pytest.Config, *, recorded: bool) -> Settings:
    """Return what was configured; ``recorded`` says that the folder of recordings holds some.

    Raises
    ------
    pytest.UsageError
        Values that are not allowed, or not together.
    """
    here, root = config.invocation_params.dir, config.rootpath
    typed = {mode: config.getoption(f"closecall_{mode.replace('-', '_')}") for mode in MODES}
    given = [mode for mode, folder in typed.items() if folder is not None]
    if len(given) > 1:
        raise pytest.UsageError(
            f"{', '.join(f'--closecall-{mode}' for mode in given)} exclude each other"
        )
    mode = given[0] if given else None
    recording = mode is not None and mode != "replay"
    if recording and config.getoption("dist", "no") != "no":
        raise pytest.UsageError(
            f"--closecall-{mode} takes one process: leave out -n, or give -n0; any number of "
            "processes can replay"
        )
    cassettes = root / config.getini("closecall_cassettes") if mode is None else here / typed[mode]
    found = mode is None and recorded
    place = config.getoption("closecall_aef")
    off = config.getoption("closecall_no_aef")
    if place is not None and off:
        raise pytest.UsageError("--closecall-aef and --closecall-no-aef exclude each other")
    folder = None if place is None else _absolute(here / place)
    if folder is not None and not (place.strip() and folder.name):
        raise pytest.UsageError("--closecall-aef names a folder of the run's own, new or empty")
    files = config.getoption("closecall_calibration") or ()
    calibrations = tuple(here / file for file in files) or tuple(
        config.getini("closecall_calibration")
    )
    for file in calibrations:
        if not _is_file(file):
            raise pytest.UsageError(f"closecall: there is no calibration file {file}")
    return Settings(
        root=root,
        embedder=config.getoption("closecall_embedder")
        or config.getini("closecall_embedder")
        or None,
        calibrations=calibrations,
        guards=config.getini("closecall_guards") or None,
        unsure=_one_of(config.getini("closecall_unsure"), "closecall_unsure", UNSURE),
        mode="replay" if found else mode,
        cassettes=cassettes,
        found=found,
        folder=folder,
        keeps=folder is not None
        or not (off or _one_of(config.getini("closecall_aef"), "closecall_aef", ("", NO_FOLDER))),
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise pytest.UsageError(
            f"closecall: calibration file: {error.strerror}: {path}"
        ) from error


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - links are not followed


def _one_of(value: str, name: str, allowed: tuple[str, ...]) -> str:
    if value.strip() in allowed:
        return value.strip()
    shown = ", ".join(one for one in allowed if one)
    raise pytest.UsageError(f"{name} = {value!r}: it may be {shown}")
