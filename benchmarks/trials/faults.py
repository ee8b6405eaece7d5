"""Machines that fail: full disks, read-only folders, no locks, no memory, clocks that go back.

Every command that writes (``commands.py``) meets every fault. It holds where the command copes and
its result is that of a sound machine, or where it ends with a documented exit code and a message
that names a file; where nothing is half there and nothing that was finished is lost; and where
the same command on a sound machine then ends as if nothing had happened.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from . import commands, faults_more, plug, servers
from .counts import Counts, Say
from .hinder import small_disk
from .kills import Scenario, after, differs, grew, said_badly, uninterrupted
from .victim import Ended, Victims

REFUSED = (2, 3, 4)
"""Exit codes of a command that says what is wrong with its machine."""
NOBODY = 65534
PAGE = 4096


class Fault(NamedTuple):
    """One way to fail.

    ``hinder`` is for ``hinder.hinder``; ``also`` makes the place fail, as a context. ``says`` is
    what no message may say of it, as it would be wrong.
    """

    name: str
    hinder: Mapping[str, Any] = {}
    place: str = ""
    env: Mapping[str, str] = {}
    says: str = ""


FAULTS = (
    Fault("full disk", place="full"),
    Fault("files of 2 kB at most", {"size": 2048}),
    Fault("read-only folder", {"user": NOBODY}, place="read-only"),
    Fault("flush fails with EIO", {"fsync": "EIO"}),
    Fault("flush fails with ENOSPC", {"fsync": "ENOSPC"}),
    Fault("rename fails with EXDEV", {"rename": "EXDEV"}),
    Fault("rename fails with EBUSY", {"rename": "EBUSY"}),
    Fault("rename fails with ESTALE", {"rename": "ESTALE"}),
    Fault("links fail with EPERM", {"link": "EPERM"}),
    Fault("locks fail with ENOLCK", {"lock": "ENOLCK"}, says="another process"),
    Fault("locks fail with EOPNOTSUPP", {"lock": "EOPNOTSUPP"}, says="another process"),
    Fault("writes of 7 bytes", {"short": 7}),
    Fault("writes that are cut", {"interrupted": True}),
    Fault("a clock that goes back", {"clock": 3600.0}),
    Fault("64 open files", {"files": 64}),
    Fault("no home", env={"HOME": "/nonexistent", "XDG_CACHE_HOME": "", "XDG_DATA_HOME": ""}),
)


def run(*, seed: int, scale: float, say: Say) -> list[Counts]:
    """Try every fault; one row each."""
    with tempfile.TemporaryDirectory(prefix="closecall-faults-") as name:
        work = Path(name)
        work.chmod(0o755)  # another user is to come in
        plugged = plug.install(work / "plug")
        with Victims(plugged) as victims, Victims(plugged) as others, \
                servers.running(work) as served:  # fmt: skip
            known = commands.scenarios(served)
            if scale < 1:
                chosen = random.Random(f"faults {seed}")
                known = chosen.sample(known, max(3, round(len(known) * scale)))
            ready = [ready_for(victims, scenario, work / "sound") for scenario in known]
            rows = [against(fault, ready, victims, work, seed=seed, say=say) for fault in FAULTS]
            rows.append(at_once(ready, victims, others, work, say))
        rows += faults_more.run(work / "more", plugged, scale=scale, say=say)
    return rows


class Ready(NamedTuple):
    """A command, its prepared folder, and what comes of it on a sound machine."""

    scenario: Scenario
    sound: Path
    whole: Mapping[str, Any]
    bytes: int


def ready_for(victims: Victims, scenario: Scenario, work: Path) -> Ready:
    place = work / scenario.name.replace(" ", "-")
    sound = place / "prepared"
    sound.mkdir(parents=True)
    scenario.prepare(sound)
    whole, _ = uninterrupted(victims, scenario, sound, place / "whole")
    return Ready(scenario, sound, whole, _size(place / "whole"))


def _size(folder: Path) -> int:
    """Return the bytes that a folder takes on a disk of pages."""
    return sum(-(-path.lstat().st_size // PAGE) * PAGE + PAGE for path in folder.rglob("*"))


def against(
    fault: Fault,
    ready: Sequence[Ready],
    victims: Victims,
    work: Path,
    *,
    seed: int,
    say: Say = lambda _: None,
) -> Counts:
    """Let each command meet a fault."""
    failures = []
    ends = {"coped": 0, "refused": 0}
    for one in ready:
        folder = work / "hindered" / "here"
        chance = random.Random(f"{fault.name} {one.scenario.name} {seed}")
        try:
            problems = _met(fault, one, victims, folder, chance=chance, ends=ends)
        except Exception as error:  # noqa: BLE001 - a check that fails on what is there is a find
            problems = [f"{type(error).__name__}: {error}"]
        if problems:
            failures.append(
                f"{fault.name}: {one.scenario.name}, seed {seed}: {'; '.join(problems)[:600]}"
            )
        shutil.rmtree(work / "hindered", ignore_errors=True)
    say(f"faults: {fault.name}")
    return Counts(
        f"fault: {fault.name}", len(ready), len(ready) - len(failures), tuple(failures), ends
    )


def _met(
    fault: Fault, one: Ready, victims: Victims, folder: Path, *, chance: random.Random,
    ends: dict[str, int],
) -> list[str]:  # fmt: skip
    """Run a command under a fault, and again without it; return what did not hold."""
    scenario = one.scenario
    with _place(fault, one, folder, chance) as (place, hinder, mend):
        before = scenario.finished(place)
        argv, typed = scenario.argv(place)
        env = {**scenario.env, **fault.env}
        ended = victims.run(argv, place, typed=typed, env=env, hinder=hinder)
        coped = ended.code in scenario.codes
        ends["coped" if coped else "refused"] += 1
        problems = _ended_well(ended, fault, scenario, place, argv)
        problems += scenario.sound(place) + grew(before, scenario.finished(place))
        if problems:
            return problems
        mend()
        went_without = coped and scenario.again and scenario.again in ended.err
        if went_without and ended.err.count("\n") > 1:
            return [f"it said more than once what it goes without: {ended.err[-300:]}"]
        if not coped or went_without:
            argv, typed = scenario.argv(place)
            ended = victims.run(argv, place, typed=typed, env=scenario.env)
            if ended.code not in scenario.codes or said_badly(ended):
                return [f"{' '.join(argv)} then ended with {ended.code}: {ended.err[-300:]}"]
        return differs(one.whole, scenario.result(place)) + after(victims, scenario, place)


def _ended_well(
    ended: Ended, fault: Fault, scenario: Scenario, place: Path, argv: Sequence[str]
) -> list[str]:
    if ended.hung:
        return ["it hung"]
    found = []
    if ended.code not in {*scenario.codes, *REFUSED}:
        found.append(f"exit code {ended.code}: {ended.err[-300:]}")
    if said_badly(ended):
        found.append(f"it said: {ended.err[-500:]}")
    if fault.says and fault.says in ended.err:
        found.append(f"it said what is not so: {ended.err[-300:]}")
    if ended.code in REFUSED and ended.code not in scenario.codes:
        names = {path.name for path in place.rglob("*")} | {
            w for w in argv if "." in w or "/" in w
        }
        names |= {"run", "tape", "idx", "models", "cache", "parts", "the output"}
        if not any(name in ended.err for name in names):
            found.append(f"its message names no file: {ended.err[-300:]}")
    return found


@contextlib.contextmanager
def _place(
    fault: Fault, one: Ready, folder: Path, chance: random.Random
) -> Iterator[tuple[Path, dict[str, Any], Callable[[], None]]]:
    """Give a copy of the prepared folder where the fault is, what hinders, and how to mend it."""
    hinder = dict(fault.hinder)
    if fault.place == "full":
        need, have = one.bytes, _size(one.sound) + 2 * PAGE
        size = chance.randint(have // PAGE, max(have, need) // PAGE + 2) * PAGE
        with small_disk(folder, size) as mounted:
            if not mounted:
                hinder = {"size": chance.choice((1, 512, 4096, 20_000))}
            shutil.copytree(one.sound, folder, symlinks=True, dirs_exist_ok=True)
            yield folder, hinder, lambda: _enlarge(folder, mounted=mounted)
        return
    shutil.copytree(one.sound, folder, symlinks=True)
    if fault.place == "read-only":
        modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*"))}
        for path, mode in modes.items():
            path.chmod(stat.S_IMODE(mode) & ~0o222 | 0o444)

        def mend() -> None:
            for path, mode in modes.items():
                with contextlib.suppress(FileNotFoundError):
                    path.chmod(stat.S_IMODE(mode))

        try:
            yield folder, hinder, mend
        finally:
            mend()
        return
    yield folder, hinder, lambda: None


def _enlarge(folder: Path, *, mounted: bool) -> None:
    if mounted:
        subprocess.run(["mount", "-o", "remount,size=256m", str(folder)], check=True)


def at_once(
    ready: Sequence[Ready], victims: Victims, others: Victims, work: Path, say: Say
) -> Counts:
    """Run each command twice at the same time in the same folder."""
    failures = []
    refused = 0
    for one in ready:
        scenario = one.scenario
        folder = work / "at-once"
        shutil.copytree(one.sound, folder, symlinks=True)
        argv, typed = scenario.argv(folder)

        def start(
            which: Victims, argv: Sequence[str] = argv, folder: Path = folder, typed: str = typed,
            env: Mapping[str, str] = scenario.env,
        ) -> Ended:  # fmt: skip
            return which.run(argv, folder, typed=typed, env=env)

        with ThreadPoolExecutor(2) as pool:
            both = list(pool.map(start, (victims, others)))
        refused += sum(one.code not in scenario.codes for one in both)
        problems = _both_well(both, scenario)
        if not problems:
            try:
                problems = scenario.sound(folder) + differs(one.whole, scenario.result(folder))
                problems += after(victims, scenario, folder)
            except Exception as error:  # noqa: BLE001 - as above
                problems = [f"{type(error).__name__}: {error}"]
        if problems:
            failures.append(f"two at once: {scenario.name}: {'; '.join(problems)[:600]}")
        shutil.rmtree(folder)
    say("faults: two at once")
    return Counts(
        "fault: two processes at once", len(ready), len(ready) - len(failures), tuple(failures),
        {"refused": refused},
    )  # fmt: skip


def _both_well(both: Sequence[Ended], scenario: Scenario) -> list[str]:
    found = [
        f"exit code {ended.code}: {ended.err[-300:]}"
        for ended in both
        if ended.hung or said_badly(ended) or ended.code not in {*scenario.codes, *REFUSED}
    ]
    if not any(ended.code in scenario.codes for ended in both):
        found.append(f"both were refused: {both[0].err[-200:]} | {both[1].err[-200:]}")
    return found
