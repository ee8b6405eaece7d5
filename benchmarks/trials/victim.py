"""Commands of closecall in processes that are killed or hindered at a chosen step.

Run as a program it is what victims are forked from: closecall and what it stands on are loaded
once, so a victim lives for some hundredths of a second and hundreds of kills take a minute. Each
line it reads asks for one command; each line it writes says how that ended.

A *step* is a moment at which the command changes something on the disk: a file is opened for
writing, made, renamed, linked or removed, a folder is made or removed (audit events of Python), or
bytes are handed over, flushed or cut off (``os.write``, ``os.fsync``, ``os.ftruncate``). The same
command takes the same steps, so a kill at step 17 can be repeated. A kill at a write may tear it:
half of the bytes are there.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

HERE = Path(__file__).resolve().parent
SECONDS = 60.0
"""A command on a few rows that takes longer hangs."""

BATCH = 8
"""Cases that a victim measures at a time."""

_CHANGES = frozenset(
    {
        "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate",
        "shutil.rmtree", "sqlite3.connect",
    }
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NOT_FORKED = ("onnxruntime", "torch", "faiss", "ray", "tokenizers", "numba")
"""Modules with threads of their own, which each victim loads for itself."""


class Ended(NamedTuple):
    """How a command ended: ``code`` is minus the signal where one ended it.

    ``steps`` is how many it took; 0 where it did not live to say so. ``hung``: it was ended as it
    took too long.
    """

    code: int
    out: str
    err: str
    steps: int
    seconds: float
    hung: bool


class Victims:
    """The process that victims are forked from; a context manager."""

    def __init__(self, *paths: Path) -> None:
        self._paths = paths

    def __enter__(self) -> Self:
        path = [str(HERE.parent), *map(str, self._paths), os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from trials.victim import serve; serve()"],
            env=_environment(os.pathsep.join(filter(None, path))),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()

    def run(
        self,
        argv: Sequence[object],
        cwd: Path,
        *,
        typed: str = "",
        env: Mapping[str, str] | None = None,
        kill: Mapping[str, Any] | None = None,
        hinder: Mapping[str, Any] | None = None,
    ) -> Ended:
        """Run a command of closecall to its end, or to where it is killed.

        Parameters
        ----------
        typed
            Its standard input.
        kill
            ``{"signal": 9, "step": 17}``, with ``"torn": True`` for half of what was to be
            written; or ``{"signal": 2, "after": 0.01}`` in seconds.
        hinder
            What does not work; see ``hinder.HINDERED``.
        """
        asks, answers = self._process.stdin, self._process.stdout
        if asks is None or answers is None:
            raise RuntimeError("the process that victims are forked from has no pipes")
        asked = {
            "argv": [str(word) for word in argv], "cwd": str(cwd), "typed": typed,
            "env": dict(env or {}), "kill": dict(kill or {}), "hinder": dict(hinder or {}),
        }  # fmt: skip
        asks.write(json.dumps(asked) + "\n")
        asks.flush()
        line = answers.readline()
        if not line:
            raise RuntimeError("the process that victims are forked from has died")
        return Ended(**json.loads(line))


def _environment(path: str) -> dict[str, str]:
    """Return the variables of victims: the caller's, without what leads anywhere else."""
    ours = ("CLOSECALL_", "AI_", "OPENAI_", "AZURE_OPENAI_", "OLLAMA_", "HF_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    # One thread: a forked victim has none but its own.
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    # What keeps tests off the network stays in force.
    guards = {n: v for n, v in os.environ.items() if n.startswith("CLOSECALL_TEST_")}
    return {**kept, **guards, **single, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


# In the process that victims are forked from


def serve() -> None:
    """Fork a victim for every line of standard input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in ("closecall.cli", "numpy", "closecall.runs.evaluate"):
        importlib.import_module(name)
    # Small batches, so that a few rows give many moments to be killed at.
    importlib.import_module("closecall.runs.runner").BATCH_CASES = BATCH  # type: ignore[attr-defined]
    for line in sys.stdin:
        asked = json.loads(line)
        ended, modules = _fork(asked)
        answers.write(json.dumps(ended._asdict()) + "\n")
        answers.flush()
        for name in modules:
            if name not in sys.modules and name.partition(".")[0] not in _NOT_FORKED:
                with contextlib.suppress(Exception):
                    importlib.import_module(name)


def _fork(asked: dict[str, Any]) -> tuple[Ended, list[str]]:
    with tempfile.TemporaryFile() as typed, tempfile.TemporaryFile() as out, \
            tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as said:  # fmt: skip
        typed.write(asked["typed"].encode())
        typed.seek(0)
        start = time.monotonic()
        child = os.fork()
        if child == 0:
            _victim(asked, [file.fileno() for file in (typed, out, err)], said.fileno())
        code, hung = _wait(child, start, asked["kill"])
        seconds = time.monotonic() - start
        for file in (out, err, said):
            file.seek(0)
        told = json.loads(said.read() or b"{}")
        texts = (file.read().decode("utf-8", "backslashreplace") for file in (out, err))
        ended = Ended(code, *texts, told.get("steps", 0), seconds, hung)
        return ended, told.get("modules", [])


def _wait(child: int, start: float, kill: dict[str, Any]) -> tuple[int, bool]:
    """Wait for a victim, kill it when its time has come, and return how it ended."""
    due = start + kill["after"] if "after" in kill else None
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), False
        now = time.monotonic()
        if due is not None and now >= due:
            os.kill(child, kill["signal"])
            due = None
        if now - start > SECONDS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -signal.SIGKILL, True
        time.sleep(0.0005 if due is None else min(0.0005, max(0.0, due - now)))


def _victim(asked: dict[str, Any], streams: list[int], said: int) -> None:
    """Be the victim: run the command, and leave without going back to whoever forked."""
    code = 99
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1, closefd=False)
        os.chdir(asked["cwd"])
        os.environ.update(asked["env"])
        before = set(sys.modules)
        from closecall.cli import main

        from .hinder import hinder

        steps = Steps(asked["kill"])
        hinder(asked["hinder"])
        steps.watch()
        try:
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                main(asked["argv"])
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            code = 130  # it came when the command had ended, or had not begun
        steps.stop()
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        more = sorted(set(sys.modules) - before)
        os.pwrite(said, json.dumps({"steps": steps.taken, "modules": more}).encode(), 0)
    except BaseException:  # noqa: BLE001 - told, and counted as a crash
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


class Steps:
    """Counts steps, and kills this process at the one that was chosen."""

    def __init__(self, kill: Mapping[str, Any]) -> None:
        self.taken = 0
        self._at = kill.get("step", 0)
        self._signal = kill.get("signal", signal.SIGKILL)
        self._torn = kill.get("torn", False)
        self._on = False
        self._lock = threading.Lock()

    def watch(self) -> None:
        """Begin to count."""
        self._on = True
        sys.addaudithook(self._event)
        for name in ("write", "fsync", "ftruncate"):
            setattr(os, name, self._counted(name, getattr(os, name)))

    def stop(self) -> None:
        """Count no more."""
        self._on = False

    def _event(self, name: str, args: tuple[Any, ...]) -> None:
        if not self._on:
            return
        if name in _CHANGES or (name == "open" and _is_change(args)):
            self._take()

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(descriptor: int, *rest: Any) -> Any:
            if self._on and descriptor > 2:
                if name == "write" and self._torn and self.taken + 1 == self._at:
                    real(descriptor, bytes(rest[0])[: len(rest[0]) // 2])
                self._take()
            return real(descriptor, *rest)

        return step

    def _take(self) -> None:
        with self._lock:
            self.taken += 1
            mine = self.taken == self._at
        if mine:
            self._at = 0
            os.kill(os.getpid(), self._signal)


def _is_change(args: tuple[Any, ...]) -> bool:
    path, mode, flags = (*args, None, None, None)[:3]
    if isinstance(path, int) or str(path).startswith(("/dev/", "/proc/")):
        return False
    wants = isinstance(mode, str) and any(letter in mode for letter in "wax+")
    return wants or bool(isinstance(flags, int) and flags & _WRITING)
