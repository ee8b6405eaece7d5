"""Opening a cassette: which file, for what."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from closecall.cassettes.cassette import Cassette, Mode
from closecall.cassettes.naming import DEFAULT, file_name
from closecall.cassettes.secrets import Secrets
from closecall.cassettes.tape import Tape
from closecall.cassettes.vectors import FLOATS, Floats
from closecall.errors import UsageError
from closecall.there import exists, is_dir


def open_cassette(
    folder: str | PathLike[str],
    mode: Mode | str,
    *,
    scenario: str = DEFAULT,
    floats: Floats = "f32",
    ttl: float | None = None,
    local: bool = False,
    secrets: Sequence[str] = (),
    since: dt.datetime | None = None,
    now: Callable[[], dt.datetime] | None = None,
) -> Cassette:
    """Open the recordings of one scenario. Nothing is asked yet.

    Parameters
    ----------
    folder
        The cassette; made when something is recorded.
    mode
        ``record``, ``replay`` or ``record-missing``.
    scenario
        Picks the file; a replay reads no other.
    floats
        How vectors are kept: ``f32``, or ``f16`` in half the bytes (see ``cassettes.vectors``).
    ttl
        Seconds after which a recording no longer counts; None: it always does.
    local
        Whether embedders on this machine are recorded too.
    secrets
        Values that must not be written, besides those of the environment's variables that hold
        keys.
    since
        With ``record``, when the recording began that is gone on with: what was recorded from that
        second on is not asked again. None: it begins now.
    now
        The time, for tests.

    Raises
    ------
    UsageError
        An argument is wrong.
    CassetteError
        The file cannot be read (with the place), or another process is recording into it.
    """
    if mode not in set(Mode):
        raise UsageError(f"mode must be one of {', '.join(Mode)}; got {mode!r}")
    if floats not in FLOATS:
        raise UsageError(f"floats must be one of {', '.join(FLOATS)}; got {floats!r}")
    if ttl is not None and not 0 <= ttl < float("inf"):
        raise UsageError(f"ttl must be a number of seconds, 0 or more; got {ttl}")
    root = Path(folder)
    if mode == Mode.REPLAY and not is_dir(root):
        raise UsageError(f"{root}: there is no cassette to replay; record one: --record {root}")
    if exists(root) and not is_dir(root):
        raise UsageError(f"{root}: is no folder, and a cassette is one")
    return Cassette(
        Tape(root / file_name(scenario), scenario, writing=mode != Mode.REPLAY),
        Mode(mode),
        floats=floats,
        ttl=ttl,
        local=local,
        secrets=Secrets(others=secrets),
        since=since,
        now=now or (lambda: dt.datetime.now(dt.UTC)),
    )
