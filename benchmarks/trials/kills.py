"""Commands killed at random points, and what is left of their work.

Each trial copies a prepared folder, runs a command in it as a victim (``victim.py``) that is
killed at a step or a moment which follow from the seed, looks at what is there, and then lets the
command that a person would type next come to its end; sometimes that one is killed as well, up to
``CHAIN`` times. It holds where what was finished before the kill is still there and unchanged,
nothing is half there under its own name, no command ends with a traceback or an exit code that is
not documented, and the end is that of a run which nothing interrupted: the same numbers, and the
same bytes where files hold no times.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .counts import Counts, Say
from .victim import Ended, Victims

KILLS = 90
"""Of each command at full scale."""
CHAIN = 4
"""Kills in a row of one folder."""
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
ENDED = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}
"""The exit code that each signal leads to."""


class Scenario(NamedTuple):
    """One command to kill.

    Parameters
    ----------
    name
        What is killed, in a few words.
    prepare
        Writes the inputs, and what an earlier command left, into an empty folder.
    argv
        Returns what to type next in a folder, and what is then typed into it.
    result
        Returns all that must be the same in the end, by name.
    sound
        Returns what is wrong with what is there; called right after a kill.
    finished
        Returns what counts as finished work, which may only grow: each value of it by name.
    codes
        Exit codes of a command that came to its end.
    env
        Variables that it needs.
    after
        Commands that must succeed in the end, each with the exit codes it may have.
    again
        What the command may do without on a failing machine, if it says so in these words; given
        once more on a sound one, it makes up for it.
    """

    name: str
    prepare: Callable[[Path], None]
    argv: Callable[[Path], tuple[list[str], str]]
    result: Callable[[Path], Mapping[str, Any]]
    sound: Callable[[Path], list[str]] = lambda _: []
    finished: Callable[[Path], Mapping[str, Any]] = lambda _: {}
    codes: Sequence[int] = (0,)
    env: Mapping[str, str] = {}
    after: Sequence[tuple[Sequence[str], Sequence[int]]] = ()
    again: str = ""


def run(*, seed: int, scale: float, say: Say) -> list[Counts]:
    """Kill every command; one row each."""
    from . import commands, plug, servers

    with tempfile.TemporaryDirectory(prefix="closecall-kills-") as name:
        work = Path(name)
        with Victims(plug.install(work / "plug")) as victims, servers.running(work) as served:
            kills = max(2, round(KILLS * scale))
            return [
                tried(victims, scenario, work, seed=seed, kills=kills, say=say)
                for scenario in commands.scenarios(served)
            ]


def tried(
    victims: Victims,
    scenario: Scenario,
    work: Path,
    *,
    seed: int,
    kills: int,
    say: Say = lambda _: None,
) -> Counts:
    """Kill one command so many times."""
    place = work / scenario.name.replace(" ", "-")
    sound = place / "prepared"
    sound.mkdir(parents=True)
    scenario.prepare(sound)
    whole, first = uninterrupted(victims, scenario, sound, place / "whole")
    survived = 0
    dead = {"SIGKILL": 0, "SIGTERM": 0, "SIGINT": 0, "too late": 0}
    failures: list[str] = []
    for number in range(kills):
        chance = random.Random(f"{scenario.name} {seed} {number}")
        folder = place / "killed"
        shutil.copytree(sound, folder, symlinks=True)
        told: list[str] = []
        try:
            problems = _one(victims, scenario, folder, chance, Known(whole, first, told, dead))
        except Exception as error:  # noqa: BLE001 - a check that fails on what is there is a find
            problems = [f"{type(error).__name__}: {error}"]
        survived += not problems
        if problems:
            failures.append(
                f"{scenario.name}, seed {seed}, number {number}: {', then '.join(told)}: "
                f"{'; '.join(problems)[:600]}"
            )
        shutil.rmtree(folder)
        if (number + 1) % 25 == 0:
            say(f"kills: {scenario.name}: {number + 1} of {kills}")
    return Counts(f"killed: {scenario.name}", kills, survived, tuple(failures), dead)


def uninterrupted(
    victims: Victims, scenario: Scenario, sound: Path, folder: Path
) -> tuple[Mapping[str, Any], Ended]:
    """Return what comes of a run that nothing interrupts, and how it went when all was loaded."""
    for again in range(2):
        if again:
            shutil.rmtree(folder)
        shutil.copytree(sound, folder, symlinks=True)
        argv, typed = scenario.argv(folder)
        ended = victims.run(argv, folder, typed=typed, env=scenario.env)
        if ended.code not in scenario.codes:
            raise RuntimeError(f"{scenario.name}: {argv}: exit code {ended.code}\n{ended.err}")
    result = scenario.result(folder)
    problems = after(victims, scenario, folder)
    if problems:
        raise RuntimeError(f"{scenario.name}: {problems}")
    return result, ended


class Known(NamedTuple):
    """What a trial is held against, and where it tells what it did.

    ``whole`` and ``first`` are of an uninterrupted run: what came of it, and how it went.
    """

    whole: Mapping[str, Any]
    first: Ended
    told: list[str]
    dead: dict[str, int]


def _one(
    victims: Victims, scenario: Scenario, folder: Path, chance: random.Random, known: Known
) -> list[str]:
    """Kill a command in a folder, and perhaps what goes on with it; return what did not hold."""
    problems: list[str] = []
    for turn in range(CHAIN):
        if turn and chance.random() < 0.5:
            break
        before = scenario.finished(folder)
        kill = _chosen(chance, known.first)
        argv, typed = scenario.argv(folder)
        ended = victims.run(argv, folder, typed=typed, env=scenario.env, kill=kill)
        known.told.append(_described(kill, ended))
        late = ended.code in scenario.codes
        known.dead["too late" if late else signal.Signals(kill["signal"]).name] += 1
        problems += _ended_well(ended, kill, scenario.codes)
        problems += scenario.sound(folder)
        problems += grew(before, scenario.finished(folder))
        if problems or late:
            break
    if problems:
        return problems
    before = scenario.finished(folder)
    argv, typed = scenario.argv(folder)
    ended = victims.run(argv, folder, typed=typed, env=scenario.env)
    if ended.code not in scenario.codes or said_badly(ended):
        return [f"{' '.join(argv)} then ended with {ended.code}: {ended.err[-300:]}"]
    problems += grew(before, scenario.finished(folder))
    problems += differs(known.whole, scenario.result(folder))
    return problems + after(victims, scenario, folder)


def _chosen(chance: random.Random, first: Ended) -> dict[str, Any]:
    """Return where to kill: mostly at a step, where something is half done."""
    number = chance.choice(SIGNALS)
    if first.steps and chance.random() < 0.7:
        return {
            "signal": int(number),
            "step": chance.randint(1, first.steps),
            "torn": number == signal.SIGKILL and chance.random() < 0.5,
        }
    return {"signal": int(number), "after": chance.random() * first.seconds}


def _described(kill: Mapping[str, Any], ended: Ended) -> str:
    name = signal.Signals(kill["signal"]).name
    where = f"at step {kill['step']}" if "step" in kill else f"after {kill['after']:.4f} s"
    torn = " in a torn write" if kill.get("torn") else ""
    return f"{name} {where}{torn} (exit code {ended.code})"


def _ended_well(ended: Ended, kill: Mapping[str, Any], codes: Sequence[int]) -> list[str]:
    number = signal.Signals(kill["signal"])
    found = []
    allowed = {*codes, ENDED[number], -number if "after" in kill else ENDED[number]}
    if ended.hung:
        found.append("it hung")
    elif ended.code not in allowed:
        found.append(f"exit code {ended.code} after {number.name}: {ended.err[-300:]}")
    if said_badly(ended):
        found.append(f"it said: {ended.err[-600:]}")
    return found


def said_badly(ended: Ended) -> bool:
    return any(
        word in ended.err for word in ("Traceback", "internal error", "Exception ignored", "BUG")
    )


def grew(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return what was finished before and is not there any more, or not as it was."""
    lost = [name for name, value in before.items() if after.get(name) != value]
    return [f"finished work is gone or changed: {', '.join(lost[:5])}"] if lost else []


def after(victims: Victims, scenario: Scenario, folder: Path) -> list[str]:
    found = []
    for argv, codes in scenario.after:
        ended = victims.run(argv, folder, env=scenario.env)
        if ended.code not in codes or said_badly(ended):
            found.append(
                f"{' '.join(argv)}: exit code {ended.code}: {(ended.err or ended.out)[-300:]}"
            )
    return found


def differs(whole: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    names = sorted(name for name in {*whole, *found} if whole.get(name) != found.get(name))
    if not names:
        return []
    shown, name = ", ".join(names[:5]), names[0]
    is_now, was = _short(found.get(name)), _short(whole.get(name))
    return [f"not as an uninterrupted run: {shown}; {name} is {is_now} and not {was}"]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=repr)
    return text if len(text) <= 120 else f"{text[:120]}..."
