"""Readers given damaged and hostile input: each reads it or refuses it with a typed error.

A target writes a sound input into a folder and knows how to read it back. ``damage`` changes one
of its files, or what kind of thing the file is; ``attempt`` reads the result. Everything follows
from the seed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from closecall.errors import ClosecallError

from .counts import Counts, Say

SECONDS = 20
"""A reader that takes longer than this on a small input hangs."""


class Target(NamedTuple):
    """One reader.

    Parameters
    ----------
    name
        What is read, in a few words.
    make
        Writes a sound input into an empty folder.
    read
        Reads the folder and uses what it read as a user's next command would (a score, a search,
        a summary), so that nothing odd is accepted and breaks later. Returns nothing.
    places
        Whether every refusal must name the file, or the place in it, that is at fault.
    """

    name: str
    make: Callable[[Path], None]
    read: Callable[[Path], None]
    places: bool = True


class Tried(NamedTuple):
    """What became of one input: ``read``, ``refused``, ``crash`` or ``hang``; and the words."""

    end: str
    said: str


HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 1 << 31, 1 << 53, 1 << 63, 1 << 64, 10**400, -0.0, 1e308, 5e-324,
    float("nan"), float("inf"), "", " ", "\x00", "\ud800", "\u202e", "\x1b[2J", "NaN", "1e999",
    "../../../etc/passwd", "/dev/zero", "file:///etc/passwd", "http://192.0.2.1/", "con",
    "a" * 70_000,
    "{{7*7}}", "<script>alert(1)</script>", "=1+1", "__import__('os').system('true')", "(a+)+$",
    [], {}, [[]], [None], {"": ""}, [{}] * 100,
)  # fmt: skip
"""Values that break what trusts its input."""

_BYTES = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\n\n", b"NaN", b"1e999", b"-",
    b"9" * 5000, b"[" * 100_000, b'{"a":' * 20_000, b'"', b"'", b"\\", b"&a [*a,*a]",
    b"!!python/object:os.system",
    b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"\x80\x04\x95", b"PK\x03\x04", b"SQLite format 3\x00",
)  # fmt: skip


def damage(folder: Path, chance: random.Random) -> str:
    """Change one file of a folder, and say in words what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = chance.choice(files)
    name = path.relative_to(folder).as_posix()
    kind = chance.choices(("bytes", "json", "file"), (5, 4, 1))[0]
    if kind == "json":
        changed = _changed_json(path, chance)
        if changed:
            return f"{name}: {changed}"
    if kind == "file":
        return f"{name}: {_changed_kind(path, chance)}"
    return f"{name}: {_changed_bytes(path, chance)}"


def _changed_bytes(path: Path, chance: random.Random) -> str:
    data = bytearray(path.read_bytes())
    done = []
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(len(data) + 1)
        # Heads say how long the rest is, so they are changed more often than their share.
        at = at if chance.random() < 0.6 else min(at, chance.randrange(64))
        until = min(len(data), at + chance.choice((1, 1, 4, 64, 1024)))
        way = chance.choice(("flip", "cut", "drop", "repeat", "insert", "random"))
        if way == "flip" and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif way == "cut":
            del data[at:]
        elif way == "drop":
            del data[at:until]
        elif way == "repeat":
            data[at:at] = data[at:until] * chance.choice((1, 2, 50))
        elif way == "insert":
            data[at:at] = chance.choice(_BYTES)
        else:
            data[at:until] = chance.randbytes(until - at)
        done.append(f"{way} at {at}")
    path.write_bytes(data)
    return ", ".join(done)


def _changed_json(path: Path, chance: random.Random) -> str:
    """Change one value of a JSON text, or of one line of it; nothing where it holds none."""
    try:
        text = path.read_text(encoding="utf-8")
        whole = "\n" not in text.strip() or text.lstrip()[:2].strip() in {"{", "["}
        lines = [text] if whole else text.splitlines()
        at = chance.randrange(len(lines))
        value = json.loads(lines[at])
    except (ValueError, UnicodeDecodeError):
        return ""
    spots = list(_spots(value))
    if not spots:
        return ""
    holder, key = chance.choice(spots)
    way = chance.choice(("replace", "replace", "remove", "add", "swap"))
    if way == "remove":
        del holder[key]
    elif way == "add" and isinstance(holder, dict):
        holder[chance.choice(("extra", "", "__class__", "toString"))] = chance.choice(HOSTILE)
    elif way == "swap":
        other, there = chance.choice(spots)
        other[there], holder[key] = json.loads(json.dumps((holder[key], other[there])))
    else:
        holder[key] = chance.choice(HOSTILE)
    lines[at] = json.dumps(value)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"{way} {key!r} in line {at + 1}"


def _spots(value: Any) -> list[tuple[Any, Any]]:
    """List every place of a JSON value that can be changed."""
    found: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        one = todo.pop()
        keys: Sequence[Any] = (
            list(one)
            if isinstance(one, dict)
            else range(len(one))
            if isinstance(one, list)
            else ()
        )
        found += [(one, key) for key in keys]
        todo += [one[key] for key in keys]
    return found


def _changed_kind(path: Path, chance: random.Random) -> str:
    """Put something else where a file is."""
    way = chance.choice(("nothing", "empty", "folder", "link out", "link to itself", "pipe"))
    path.unlink()
    if way == "empty":
        path.touch()
    elif way == "folder":
        path.mkdir()
    elif way == "link out":
        path.symlink_to("/etc/hostname")
    elif way == "link to itself":
        path.symlink_to(path)
    elif way == "pipe":
        os.mkfifo(path)
    return way


def attempt(target: Target, folder: Path) -> Tried:
    """Read a folder, for as long as ``SECONDS``."""
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS)
    try:
        target.read(folder)
    except ClosecallError as error:
        said = str(error)
        if target.places and not _names_a_file(said, folder):
            return Tried("crash", f"refused without a place: {type(error).__name__}: {said}")
        return Tried("refused", said)
    except _HangError:
        return Tried("hang", f"longer than {SECONDS} s")
    except Exception as error:  # noqa: BLE001 - any other is what is looked for
        return Tried("crash", f"{type(error).__name__}: {error}")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return Tried("read", "")


class _HangError(BaseException):
    """Raised by the alarm; no reader catches it."""


def _too_long(*_: object) -> None:
    raise _HangError


def _names_a_file(said: str, folder: Path) -> bool:
    names = {folder.name, *(path.name for path in folder.rglob("*"))}
    return any(name in said for name in names)


def run(
    targets: Sequence[Target], seed: int, rounds: int, say: Say = lambda _: None
) -> list[Counts]:
    """Damage and read each target's input ``rounds`` times; one row a target."""
    return [_run(target, seed, rounds, say) for target in targets]


def _run(target: Target, seed: int, rounds: int, say: Say) -> Counts:
    ends = {"read": 0, "refused": 0, "crash": 0, "hang": 0}
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        sound = Path(scratch) / "sound"
        sound.mkdir()
        target.make(sound)
        target.read(sound)  # a target that refuses its own input tests nothing
        for number in range(rounds):
            chance = random.Random(f"{target.name} {seed} {number}")
            folder = Path(scratch) / "damaged"
            shutil.copytree(sound, folder, symlinks=True)
            done = damage(folder, chance)
            tried = attempt(target, folder)
            ends[tried.end] += 1
            if tried.end in {"crash", "hang"}:
                failures.append(
                    f"{target.name}, seed {seed}, number {number}: {done}: {tried.said[:300]}"
                )
            shutil.rmtree(folder)
            if (number + 1) % 100 == 0:
                say(f"{target.name}: {number + 1} of {rounds}")
    return Counts(
        target.name, rounds, ends["read"] + ends["refused"], tuple(failures),
        {"read": ends["read"], "typed errors": ends["refused"],
         "crashes": ends["crash"], "hangs": ends["hang"]},
    )  # fmt: skip
