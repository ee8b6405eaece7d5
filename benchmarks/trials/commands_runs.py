"""Evaluations that are killed: into run folders, parts, the cache and recordings."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .kills import Scenario
from .making import content, half_json, lines_of, without_times, write_cases
from .servers import Served

_EVAL = ["--embedder", "words", "-q", "--format", "json", "-o", "out.json"]


def _go_on(
    folder: Path, fresh: list[str], place: str = "run", more: tuple[str, ...] = ()
) -> list[str]:
    if (folder / place / "run.json").exists():
        return ["eval", "--resume", place, "-q", "--format", "json", "-o", "out.json", *more]
    return fresh


def _results(folder: Path) -> dict[str, Any]:
    """Return the results of a run folder by case, of which none may go."""
    return {
        f"{one['caseId']} {one['path']}": without_times(one)
        for one in lines_of(folder / "run" / "results.ndjson")
        if isinstance(one, dict)
    }


def _sound_run(folder: Path) -> list[str]:
    names = ("run.json", "metrics.json", "summary.json", "seal.json", "ext/closecall/writer.json")
    return half_json(*(folder / "run" / name for name in names), folder / "out.json")


def _run_result(folder: Path) -> dict[str, Any]:
    found = {f"run/{name}": value for name, value in content(folder / "run").items()}
    return found | {"out.json": without_times(json.loads((folder / "out.json").read_bytes()))}


def _eval(embedder: str = "words") -> Scenario:
    fresh = ["eval", "cases.jsonl", "--aef", "run", "--no-cache", *_EVAL, "--embedder", embedder]
    return Scenario(
        "eval into a run folder",
        lambda folder: write_cases(folder / "cases.jsonl"),
        lambda folder: (_go_on(folder, fresh, more=("--no-cache",)), ""),
        _run_result,
        _sound_run,
        _results,
        codes=(0, 1),
        after=((("verify", "run"), (0,)),),
    )


def _database(folder: Path) -> Path:
    return folder / "cache" / "vectors-v1.sqlite3"


def _kept_vectors(folder: Path) -> dict[str, Any]:
    path = _database(folder)
    if not path.exists() or not path.stat().st_size:
        return {}
    # An operational error: killed before it made its tables.
    with _opened(path) as connection, contextlib.suppress(sqlite3.OperationalError):
        rows = connection.execute("SELECT key, vector FROM vectors").fetchall()
        return {key.hex(): vector.hex() for key, vector in rows}
    return {}


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a copy, as to look at a database that was killed already mends it."""
    with tempfile.TemporaryDirectory() as name:
        for part in path.parent.glob(f"{path.name}*"):
            shutil.copyfile(part, Path(name) / part.name)
        with contextlib.closing(sqlite3.connect(Path(name) / path.name)) as connection:
            yield connection


def _sound_cache(folder: Path) -> list[str]:
    path = _database(folder)
    found = half_json(folder / "out.json")
    if path.exists():
        with _opened(path) as connection:
            (said,) = connection.execute("PRAGMA integrity_check").fetchone()
        if said != "ok":
            found.append(f"the cache is damaged: {said}")
    aside = [one.name for one in path.parent.glob("*.damaged-*")]
    return found + [f"{name} was set aside" for name in aside]


def _eval_cached() -> Scenario:
    argv = ["eval", "cases.jsonl", "--no-aef", "--cache-dir", "cache", *_EVAL]
    return Scenario(
        "eval into the cache",
        lambda folder: write_cases(folder / "cases.jsonl"),
        lambda _: (argv, ""),
        lambda folder: (
            _kept_vectors(folder)
            | {"out.json": without_times(json.loads((folder / "out.json").read_bytes()))}
        ),
        _sound_cache,
        _kept_vectors,
        codes=(0, 1),
        again="vector cache",
    )


def _clear_cache() -> Scenario:
    def prepare(folder: Path) -> None:
        from closecall import evaluate
        from closecall.testing import HashEmbedder

        write_cases(folder / "cases.jsonl")
        evaluate(
            str(folder / "cases.jsonl"), embedder=HashEmbedder(dims=16), cache=folder / "cache"
        )

    return Scenario(
        "cache clear",
        prepare,
        lambda _: (["cache", "clear", "--yes", "--cache-dir", "cache"], ""),
        _kept_vectors,
        _sound_cache,
        after=((("eval", "cases.jsonl", "--no-aef", "--cache-dir", "cache", *_EVAL), (0, 1)),),
    )


def _eval_in_parts() -> Scenario:
    fresh = ["eval", "cases.jsonl", "--parts", "parts", "--part-cases", "8", "--no-cache", *_EVAL]

    def parts(folder: Path) -> dict[str, Any]:
        return {
            path.name: path.read_bytes().hex() for path in (folder / "parts").glob("parts/part-*")
        }

    def result(folder: Path) -> dict[str, Any]:
        from closecall.runs.parts.ranges import part_named

        # What a part holds of a run's own id and times differs; the numbers are in the report.
        # A run that is stopped keeps a part it had begun, short, and goes on with the rest of it.
        found = content(folder / "parts")
        kept = sorted(part for name in found if (part := part_named(name)) is not None)
        return {name: value for name, value in found.items() if name.endswith("summary.json")} | {
            "names": sorted(name for name in found if part_named(name) is None),
            "cases": [at for part in kept for at in range(part.first, part.stop)],
            "out.json": without_times(json.loads((folder / "out.json").read_bytes())),
        }

    return Scenario(
        "eval into parts",
        lambda folder: write_cases(folder / "cases.jsonl"),
        lambda folder: (_go_on(folder, fresh, "parts", ("--no-cache",)), ""),
        result,
        lambda folder: half_json(
            *(folder / "parts" / name for name in ("run.json", "summary.json", "seal.json")),
            folder / "out.json",
        ),
        parts,
        codes=(0, 1),
        after=((("verify", "parts"), (0,)),),
    )


def _record(served: Served) -> Scenario:
    fresh = ["eval", "cases.jsonl", "--aef", "run", "--endpoint", served.desk, "--model", "desk",
             "--record", "tape", "--no-cache", *_EVAL]  # fmt: skip

    def recorded(folder: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path in (
            sorted((folder / "tape").glob("*.jsonl*")) if (folder / "tape").exists() else ()
        ):
            for one in lines_of(path):
                if "reply" in one:
                    found[one["key"]] = without_times(one)
        return found

    def sound(folder: Path) -> list[str]:
        return [
            f"{path.name} ends in half a line"
            for path in (folder / "tape").glob("*.jsonl")
            if not path.read_bytes().endswith(b"\n")
        ] + _sound_run(folder)

    def result(folder: Path) -> dict[str, Any]:
        return _run_result(folder) | {
            f"tape/{name}": value for name, value in content(folder / "tape").items()
        }

    return Scenario(
        "eval --record",
        lambda folder: write_cases(folder / "cases.jsonl", 24, answered=False),
        lambda folder: (_go_on(folder, fresh, more=("--no-cache",)), ""),
        result,
        sound,
        lambda folder: _results(folder) | recorded(folder),
        codes=(0, 1, 11),
        after=(
            (("verify", "run"), (0,)),
            (("cassette", "verify", "tape"), (0,)),
            (("eval", "cases.jsonl", "--no-aef", "--endpoint", served.desk, "--model", "desk",
              "--replay", "tape", "--no-cache", *_EVAL), (0, 1, 11)),
        ),
    )  # fmt: skip


def _merge() -> Scenario:
    def prepare(folder: Path) -> None:
        from closecall import evaluate
        from closecall.testing import HashEmbedder

        write_cases(folder / "cases.jsonl")
        for at in (1, 2):
            evaluate(
                str(folder / "cases.jsonl"), embedder=HashEmbedder(dims=16), cache=False,
                aef=folder / f"shard{at}", shard=(at, 2), name="cases",
            )  # fmt: skip

    def argv(folder: Path) -> tuple[list[str], str]:
        # What a merge leaves that was killed is no run to go on with: it is made again.
        if (folder / "run" / "run.json").exists() and not (folder / "run" / "seal.json").exists():
            shutil.rmtree(folder / "run")
        elif (folder / "run" / "seal.json").exists():
            return ["runs", "show", "run", "--format", "json", "-o", "out.json"], ""
        return ["runs", "merge", "shard1", "shard2", "-o", "run", "-q"], ""

    return Scenario(
        "runs merge",
        prepare,
        argv,
        lambda folder: {f"run/{k}": v for k, v in content(folder / "run").items()},
        _sound_run,
        codes=(0, 1),
        after=((("verify", "run"), (0,)),),
    )


def all_of(served: Served) -> list[Scenario]:
    """Return them."""
    real = _eval("minilm")._replace(name="eval with the bundled model")
    return [
        _eval(), real, _eval_cached(), _eval_in_parts(), _record(served), _merge(),
        _clear_cache(),
    ]  # fmt: skip
