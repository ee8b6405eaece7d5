"""Faults that whole processes meet: streams, odd names, little memory, many files."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from .counts import Counts, Say
from .making import write_cases

RUNS = 2000
"""Run folders in one place, at full scale."""
FILES = 1000
"""Files of one data set, at full scale."""
OPEN = 64
"""Files that a process may have open."""
SECONDS = 240
_EVAL = ["eval", "cases.jsonl", "--embedder", "words", "--no-cache", "--no-aef"]
_BAD = re.compile(r"Traceback|internal error|Exception ignored|core dumped", re.IGNORECASE)


Try: TypeAlias = tuple[str, Callable[[], list[str]]]
"""Its name, and what tries it and returns what did not hold."""


class Done(NamedTuple):
    """How a process ended and what it said."""

    code: int
    out: str
    err: str


KINDS = (
    "streams", "names of files", "little memory", "thousands of files",
    "an embedder without memory",
)  # fmt: skip


def run(
    work: Path, plugged: Path, *, scale: float, say: Say, only: Sequence[str] = KINDS
) -> list[Counts]:
    """Try those named of them; one row a kind."""
    work.mkdir()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(
        [str(Path(__file__).resolve().parent.parent), str(plugged),
         *filter(None, [os.environ.get("PYTHONPATH")])])}  # fmt: skip
    tries: dict[str, Callable[[], Sequence[Try]]] = {
        "streams": lambda: _streams(work / "streams", env),
        "names of files": lambda: _names(work / "names", env),
        "little memory": lambda: _memory(work / "memory", env, scale),
        "thousands of files": lambda: _many(work / "many", env, scale),
        "an embedder without memory": lambda: _embedders(scale),
    }
    rows = []
    for what in only:
        checks = tries[what]()
        failures = []
        for name, check in checks:
            try:
                problems = check()
            except Exception as error:  # noqa: BLE001 - whatever it is, it did not hold
                problems = [f"{type(error).__name__}: {error}"]
            if problems:
                failures.append(f"{what}: {name}: {'; '.join(problems)[:600]}")
        say(f"faults: {what}")
        rows.append(Counts(
            f"fault: {what}", len(checks), len(checks) - len(failures), tuple(failures)
        ))  # fmt: skip
    return rows


def _closecall(argv: Sequence[str], cwd: Path, env: Mapping[str, str], **more: Any) -> Done:
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **more}
    done = subprocess.run(
        [sys.executable, "-m", "closecall", *argv], cwd=cwd, env=env, stderr=subprocess.PIPE,
        timeout=SECONDS, check=False, **more,
    )  # fmt: skip
    return Done(
        done.returncode, (done.stdout or b"").decode(errors="replace"),
        done.stderr.decode(errors="replace"),
    )  # fmt: skip


def _wrong(done: Done, codes: Sequence[int], *, says: str = "") -> list[str]:
    found = []
    if done.code not in codes:
        found.append(f"exit code {done.code}: {done.err[-300:]}")
    if _BAD.search(done.err):
        found.append(f"it said: {done.err[-400:]}")
    if says and says not in done.err:
        found.append(f"it did not say {says!r}: {done.err[-300:]}")
    return found


# Streams


def _streams(work: Path, env: Mapping[str, str]) -> list[Try]:
    work.mkdir()
    write_cases(work / "cases.jsonl", 40)

    def to_a_pipe_that_closes() -> list[str]:
        reader, writer = os.pipe()
        os.close(reader)
        try:
            return _wrong(
                _closecall([*_EVAL, "--format", "jsonl"], work, env, stdout=writer), (0, 1)
            )
        finally:
            os.close(writer)

    def to(
        device: str, codes: Sequence[int], argv: Sequence[str] = _EVAL
    ) -> Callable[[], list[str]]:
        def check() -> list[str]:
            with Path(device).open("wb") as out:
                return _wrong(_closecall(argv, work, env, stdout=out), codes)

        return check

    def closed(number: int, codes: Sequence[int]) -> Callable[[], list[str]]:
        def check() -> list[str]:
            script = f'exec "$@" {number}>&-' if number else 'exec "$@" <&-'
            done = subprocess.run(
                ["sh", "-c", script, "sh", sys.executable, "-m", "closecall", *_EVAL], cwd=work,
                env=env, capture_output=True, timeout=SECONDS, check=False,
            )  # fmt: skip
            return _wrong(Done(done.returncode, "", done.stderr.decode(errors="replace")), codes)

        return check

    return [
        ("a reader that leaves", to_a_pipe_that_closes),
        ("a full device", to("/dev/full", (2,))),
        ("a full device, JSON", to("/dev/full", (2,), [*_EVAL, "--format", "json"])),
        ("a full device as -o", lambda: _wrong(
            _closecall([*_EVAL, "-o", "/dev/full"], work, env), (2,), says="/dev/full")),
        ("a full device, help", to("/dev/full", (2,), ["--help"])),
        ("no input", closed(0, (0, 1))),
        ("no output", closed(1, (0, 1))),
        ("no errors", closed(2, (0, 1))),
    ]  # fmt: skip


# Names


def _names(work: Path, env: Mapping[str, str]) -> list[Try]:
    work.mkdir()
    plain = {**env, "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    write_cases(work / "cases.jsonl", 20)
    names = (b"caf\xe9.jsonl", b"\xff\xfe.jsonl", "grün ☃.jsonl".encode(), b"a\nb\x1b[2J.jsonl")

    def made(name: bytes, env: Mapping[str, str]) -> Callable[[], list[str]]:
        def check() -> list[str]:
            place = os.fsencode(work) + b"/" + name
            shutil.copyfile(work / "cases.jsonl", place)
            argv = ["eval", os.fsdecode(name), "--embedder", "words", "--no-cache"]
            shutil.rmtree(place + b".run", ignore_errors=True)
            done = _closecall([*argv, "--aef", os.fsdecode(name + b".run")], work, env)
            found = _wrong(done, (0, 1))
            if "\x1b[2J" in done.out + done.err:
                found.append("a control sequence in a name reached the terminal")
            if not found:
                found = _wrong(
                    _closecall(["verify", os.fsdecode(name + b".run")], work, env), (0,)
                )
            return found

        return check

    return [
        (f"{name!r}, {kind}", made(name, variables))
        for name in names
        for kind, variables in (("UTF-8", env), ("LANG=C", plain))
    ]


# Memory


def _memory(work: Path, env: Mapping[str, str], scale: float) -> list[Try]:
    work.mkdir()
    write_cases(work / "cases.jsonl", 5000 if scale >= 1 else 1000)
    single = {**env, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    # With less, the libraries themselves do not load, and one of them ends the process.
    sizes = (140, 150, 160, 200) if scale >= 1 else (250,)

    def within(megabytes: int) -> Callable[[], list[str]]:
        def check() -> list[str]:
            def limit() -> None:
                resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

            shutil.rmtree(work / "run", ignore_errors=True)
            argv = [
                "eval",
                "cases.jsonl",
                "--embedder",
                "words",
                "--no-cache",
                "--aef",
                "run",
                "-q",
            ]
            done = _closecall(argv, work, single, preexec_fn=limit)
            found = _wrong(done, (0, 1, 3))
            if not (work / "run").exists():
                return found
            argv = ["eval", "--resume", "run", "--no-cache", "-q"]
            return found + _wrong(_closecall(argv, work, single), (0, 1))

        return check

    return [(f"{size} MB of address space", within(size)) for size in sizes]


# Many files


def _many(work: Path, env: Mapping[str, str], scale: float) -> list[Try]:
    work.mkdir()
    runs, files = max(20, round(RUNS * scale)), max(20, round(FILES * scale))

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN, OPEN))

    def listing() -> list[str]:
        write_cases(work / "cases.jsonl", 3)
        argv = ["eval", "cases.jsonl", "--embedder", "words", "--no-cache", "-q"]
        found = _wrong(_closecall([*argv, "--aef", "runs/run-0"], work, env), (0, 1))
        for number in range(1, runs):
            shutil.copytree(work / "runs" / "run-0", work / "runs" / f"run-{number}")
        done = _closecall(["runs", "list", "runs"], work, env, preexec_fn=few)
        found += _wrong(done, (0,))
        if done.out.count("\n") < runs:
            found.append(f"{done.out.count(chr(10))} lines for {runs} runs: {done.out[-200:]}")
        pruned = _closecall(
            ["runs", "prune", "runs", "--keep", "5", "--yes"], work, env, preexec_fn=few
        )
        found += _wrong(pruned, (0,))
        left = len(list((work / "runs").iterdir()))
        return found + (
            [] if left == 5 else [f"{left} runs are left and not 5: {pruned.err[-200:]}"]
        )

    def parquet() -> list[str]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        (work / "data").mkdir()
        for number in range(files):
            table = pa.table(
                {
                    "id": [f"c{number}"],
                    "response": [f"a red robin {number}"],
                    "references": [["a robin"]],
                }
            )
            pq.write_table(table, work / "data" / f"part-{number:05}.parquet")
        argv = [
            "eval",
            "data",
            "--embedder",
            "words",
            "--no-cache",
            "--no-aef",
            "--format",
            "json",
        ]
        done = _closecall(argv, work, env, preexec_fn=few)
        found = _wrong(done, (0, 1))
        return found or (
            [] if json.loads(done.out)["stats"]["total"] == files else ["cases are missing"]
        )

    def parts() -> list[str]:
        write_cases(work / "many.jsonl", files)
        argv = ["eval", "many.jsonl", "--embedder", "words", "--no-cache", "-q", "--parts",
                "parts", "--part-cases", "1"]  # fmt: skip
        found = _wrong(_closecall(argv, work, env, preexec_fn=few), (0, 1))
        return found + _wrong(_closecall(["verify", "parts"], work, env, preexec_fn=few), (0,))

    return [
        (f"{runs} runs in one folder", listing),
        (f"a data set of {files} files", parquet),
        (f"a run of {files} parts", parts),
    ]


# Embedders


def _embedders(scale: float) -> list[Try]:
    """Sessions of onnxruntime that refuse more than so many tokens at once."""

    def within(tokens: int) -> Callable[[], list[str]]:
        def check() -> list[str]:
            import numpy as np

            from closecall import load_embedder
            from closecall.embedders.base import Embedded, Failure, TextKey
            from closecall.embedders.cached import CachedEmbedder

            texts = [" ".join(["robin"] * count) for count in (1, 2, 5, 20, 60, 3, 40, 600)]
            whole = CachedEmbedder(load_embedder("minilm", threads=1))
            small = load_embedder("minilm", threads=1)
            with _little(small, tokens) as asked:
                found = CachedEmbedder(small).fetch([TextKey(text) for text in texts])
            expected = whole.fetch([TextKey(text) for text in texts])
            problems = []
            for text in texts:
                key = TextKey(text)
                one, other = found[key], expected[key]
                count = len(text.split())
                if min(count + 2, 256) > tokens:
                    if not isinstance(one, Failure) or "memory" not in one.reason:
                        problems.append(f"{count} words: {one} says nothing of memory")
                elif not isinstance(one, Embedded) or not isinstance(other, Embedded):
                    problems.append(f"{count} words: {one}")
                elif not np.array_equal(one.vector, other.vector):
                    problems.append(f"{count} words: another vector than with room")
            if len(asked) > 60:
                problems.append(f"it asked {len(asked)} times")
            return problems

        return check

    rooms = (10_000, 70, 45, 22, 4) if scale >= 1 else (45,)
    return [(f"room for {tokens} tokens", within(tokens)) for tokens in rooms]


@contextlib.contextmanager
def _little(embedder: Any, tokens: int) -> Iterator[list[int]]:
    """Let a session fail as onnxruntime does where a batch needs more room than there is."""
    embedder.load()
    loaded = embedder._running
    real = loaded.session.raw
    asked: list[int] = []

    class Raw:
        def run(self, outputs: list[str], feed: Mapping[str, Any]) -> Any:
            asked.append(feed["input_ids"].size)
            if feed["input_ids"].size > tokens:
                raise RuntimeError(
                    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned "
                    "while running Attention node. Failed to allocate memory for requested buffer "
                    f"of size {feed['input_ids'].size * 4096}"
                )
            return real.run(outputs, feed)

    session = loaded.session._replace(raw=Raw())
    embedder._running = loaded._replace(session=session)
    try:
        yield asked
    finally:
        embedder._running = loaded
