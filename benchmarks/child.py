"""A command as a fresh process, and what it took: wall and CPU seconds and peak memory.

``measured`` starts it through a small process of its own (this file), because the peak that a
system reports for a child is at least what its parent held when it was started.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Spent(NamedTuple):
    """What a process took. ``started`` is the clock (``time.time``) just before it began."""

    code: int
    started: float
    wall_s: float
    cpu_s: float
    peak_mb: float
    said: str


class ChildError(Exception):
    """A process ended with an exit code that it should not have."""


def measured(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    codes: Sequence[int] = (0,),
) -> Spent:
    """Run a command to its end; its standard output is thrown away.

    Raises
    ------
    ChildError
        It ended with a code that is not among ``codes``; the message has the end of what it said.
    """
    # The launcher starts with nothing but the standard library; its child has env as it is.
    done = subprocess.run(
        [sys.executable, "-I", "-S", __file__, *argv],
        check=True, capture_output=True, text=True, env=env, cwd=cwd,
    )  # fmt: skip
    spent = Spent(**json.loads(done.stdout))
    if spent.code not in codes:
        shown = " ".join(argv)
        raise ChildError(f"exit code {spent.code}: {shown}\n{spent.said}")
    return spent


def _launch(argv: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as said:
        clock, start = time.time(), time.perf_counter()
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")[-2000:]
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "code": child.returncode,
        "started": clock,
        "wall_s": wall,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss * unit / 1e6,
        "said": text,
    }


if __name__ == "__main__":
    print(json.dumps(_launch(sys.argv[1:])))
