"""What a cassette holds, what changed between two, and dropping what is no longer wanted."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from closecall.cassettes.cassette import recorded_at
from closecall.cassettes.choosing import goes_by
from closecall.cassettes.differing import first_difference
from closecall.cassettes.entries import KINDS, Entry, Identified, Kind, VectorReply
from closecall.cassettes.naming import JOURNAL, files_of
from closecall.cassettes.nearest import text_of
from closecall.cassettes.records import Change, Held, Pruned, Stats
from closecall.cassettes.same import same_reply
from closecall.cassettes.tape import Tape
from closecall.chat.base import ChatReply
from closecall.errors import CassetteError, UsageError

ABOUT = 100
"""Characters of a request that say which one it is."""


def stats(folder: Path) -> Stats:
    """Return what a cassette holds, by file and by who replied.

    Raises
    ------
    UsageError
        There is no such folder.
    CassetteError
        A line cannot be read.
    """
    held: list[Held] = []
    paths = files_of(folder)
    for path in paths:
        held += _held(path)
    return Stats(
        folder=str(folder),
        files=len(paths),
        entries=sum(one.entries for one in held),
        bytes=sum(_bytes(path) for path in paths),
        held=tuple(held),
        journals=tuple(sorted(p.name for p in folder.iterdir() if p.name.endswith(JOURNAL))),
    )


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise CassetteError(f"{path}: cannot be read: {error.strerror or error}") from error


def _held(path: Path) -> list[Held]:
    with Tape(path) as tape:
        by_who: dict[str, list[Entry]] = defaultdict(list)
        sizes: dict[str, int] = defaultdict(int)
        for entry in tape.entries():
            # Replies are summed up below, and large; requests are not needed.
            by_who[entry.identity].append(msgspec.structs.replace(entry, request={}))
            sizes[entry.identity] += tape.size_of(entry.key)
        return [
            _one_held(path.name, tape.identities[digest], entries, sizes[digest])
            for digest, entries in sorted(by_who.items(), key=lambda one: one[1][0].key)
        ]


def _one_held(file: str, who: Identified, entries: list[Entry], size: int) -> Held:
    tokens = [_tokens(entry) for entry in entries]
    took = [entry.reply.get("latency_ms") for entry in entries]
    known = [value for value in took if value is not None]
    times = [entry.recorded for entry in entries]
    return Held(
        file=file,
        kind=who.of,
        name=who.name,
        digest=who.digest,
        names=who.names,
        entries=len(entries),
        bytes=size,
        tokens=sum(count for count in tokens if count is not None),
        untold=tokens.count(None),
        latency_ms=round(sum(known), 1) if known else None,
        oldest=min(times),
        newest=max(times),
    )


def _tokens(entry: Entry) -> int | None:
    if entry.kind == "embedding":
        seen = msgspec.convert(entry.reply, VectorReply).tokens
        return None if seen is None else seen.seen
    if entry.kind == "chat":
        usage = msgspec.convert(entry.reply, ChatReply).usage
        told = [count for count in usage if count is not None]
        return sum(told) if told else None
    return None


def diff(before: Path, now: Path) -> Iterator[Change]:
    """Yield what was added, removed and changed between two cassettes, file by file.

    Replies that differ only in their latency, in the ids of calls or in the noise of a vector are
    the same.

    Raises
    ------
    UsageError
        One of the folders is not there.
    CassetteError
        A line cannot be read.
    """
    one, other = ({path.name: path for path in files_of(root)} for root in (before, now))
    for name in sorted(one.keys() | other.keys()):
        with _maybe(one.get(name)) as old, _maybe(other.get(name)) as new:
            yield from _changes(name, old, new)


@contextmanager
def _maybe(path: Path | None) -> Iterator[Tape | None]:
    if path is None:
        yield None
        return
    with Tape(path) as tape:
        yield tape


def _changes(file: str, old: Tape | None, new: Tape | None) -> Iterator[Change]:
    olds, news = (set() if tape is None else set(tape.sorted_keys()) for tape in (old, new))
    for key in sorted(olds | news):
        before = old.get(key) if old is not None else None
        now = new.get(key) if new is not None else None
        if before is None and now is None:
            continue
        if before is None and now is not None:
            yield _change("added", file, now)
        elif now is None and before is not None:
            yield _change("removed", file, before)
        elif before is not None and now is not None:
            if same_reply(_kind(now), before.reply, now.reply):
                continue
            said = first_difference(_comparable(before), _comparable(now))
            yield _change("changed", file, now, said.replace(" asked", " now"))


def _comparable(entry: Entry) -> dict[str, object]:
    return {name: v for name, v in entry.reply.items() if name not in {"latency_ms", "vector"}}


def _kind(entry: Entry) -> Kind:
    return next(kind for kind in KINDS if kind == entry.kind)


def _change(what: str, file: str, entry: Entry, difference: str = "") -> Change:
    about = " ".join(text_of(_telling(entry))[: 8 * ABOUT].split())
    return Change(
        what=what,
        file=file,
        kind=entry.kind,
        name=entry.name,
        key=entry.key,
        about=about if len(about) <= ABOUT else f"{about[: ABOUT - 1]}…",
        difference=difference,
    )


def _telling(entry: Entry) -> object:
    """Return the part of a request that tells it from its neighbours: its text, its last turn."""
    if entry.kind == "embedding":
        return entry.request["text"]
    if entry.kind == "chat":
        turns = entry.request.get("messages") or [{}]
        return turns[-1].get("content", "")
    return entry.request


def prune(
    folder: Path,
    *,
    kind: str | None = None,
    model: str | None = None,
    older_than: float | None = None,
    now: Callable[[], dt.datetime] | None = None,
    really: bool = True,
) -> Pruned:
    """Drop the recordings that meet every condition given.

    Parameters
    ----------
    folder
        The cassette.
    kind
        ``embedding``, ``chat`` or ``subject``.
    model
        The name of who replied, as ``choose`` takes it, or the beginning of its digest.
    older_than
        Seconds since it was recorded.
    now
        The time, for tests.
    really
        False: only count.

    Raises
    ------
    UsageError
        No condition is given, a kind is none of the three, or the folder is not there.
    CassetteError
        A line cannot be read, or another process is recording.
    """
    if kind is None and model is None and older_than is None:
        raise UsageError("say what to drop: a kind, a model or an age")
    if kind is not None and kind not in KINDS:
        raise UsageError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    moment = dt.datetime.now(dt.UTC) if now is None else now()
    dropped = left = before = after = 0
    for path in files_of(folder):
        before += path.stat().st_size
        with Tape(path, writing=really) as tape:
            gone = {
                entry.key
                for entry in tape.entries()
                if (kind is None or entry.kind == kind)
                and (model is None or goes_by(tape.identities[entry.identity], model))
                and (older_than is None or _age(entry, tape, moment) > older_than)
            }
            held = len(tape) - len(tape.identities)
            dropped, left = dropped + len(gone), left + held - len(gone)
            saved = sum(tape.size_of(key) + 1 for key in gone)
            if really:
                tape.drop(gone)
        after += path.stat().st_size if really else max(0, path.stat().st_size - saved)
    return Pruned(
        folder=str(folder),
        entries=dropped,
        entries_left=left,
        bytes_before=before,
        bytes_after=after,
    )


def _age(entry: Entry, tape: Tape, moment: dt.datetime) -> float:
    return (moment - recorded_at(entry, tape.place(entry.key))).total_seconds()
