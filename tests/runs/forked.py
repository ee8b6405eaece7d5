"""Processes that begin in milliseconds: forked from one that has loaded all that a script imports.

A process of its own for each start, as ``subprocess`` makes it, spends most of its time loading.
What is forked shares nothing with the ones before: the process it comes from runs no script.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path


class Forks:
    """Starts one script again and again, one process at a time; a context manager."""

    def __init__(self, script):
        self._script = str(script)

    def __enter__(self):
        if hasattr(os, "fork"):
            single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
            self._server = subprocess.Popen(
                [sys.executable, __file__, self._script],
                env=os.environ | single,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
            self._place = tempfile.TemporaryDirectory()
        return self

    def __exit__(self, *_):
        if hasattr(os, "fork"):
            self._server.communicate(timeout=60)
            self._place.cleanup()

    def start(self, *arguments):
        """Return what ``subprocess.Popen`` returns, as far as a test needs it."""
        words = list(map(str, arguments))
        if not hasattr(os, "fork"):
            command = [sys.executable, self._script, *words]
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pipes = [Path(self._place.name, name) for name in ("out", "err")]
        for pipe in pipes:
            pipe.unlink(missing_ok=True)
            os.mkfifo(pipe)
        self._server.stdin.write(json.dumps([words, *map(str, pipes)]) + "\n")
        self._server.stdin.flush()
        return Started(int(self._server.stdout.readline()), pipes, self._server.stdout)


class Started:
    """One process: like ``subprocess.Popen``."""

    def __init__(self, pid, pipes, ends):
        self.pid, self.returncode, self._ends = pid, None, ends
        self.stdout, self.stderr = (pipe.open("rb") for pipe in pipes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wait()
        self.stdout.close()
        self.stderr.close()

    def kill(self):
        with contextlib.suppress(ProcessLookupError):  # it came to its end
            os.kill(self.pid, signal.SIGKILL)

    def poll(self):
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return self.wait()
        return None

    def wait(self):
        if self.returncode is None:
            self.returncode = int(self._ends.readline())
        return self.returncode


def _serve(script):
    """Load a script, and fork for each line of standard input; say the process, then its end."""
    sys.path.insert(0, str(Path(script).parent))
    runpy.run_path(script, run_name="loaded")
    for line in sys.stdin:
        words, *pipes = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(script, words, pipes)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _run(script, words, pipes):
    """Be the process, and leave without going back to what forked it."""
    code = 1
    try:
        for number, pipe in zip((1, 2), pipes, strict=True):
            os.dup2(os.open(pipe, os.O_WRONLY), number)
        sys.argv = [script, *words]
        runpy.run_path(script, run_name="__main__")
        code = 0
    except BaseException:  # noqa: BLE001 - told where the test reads it
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
