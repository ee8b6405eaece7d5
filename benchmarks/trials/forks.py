"""Many processes at once for little: one interpreter loads what is needed and forks.

Each process runs one function of a module with its number and what all share, from one moment on,
and what it returns comes back; one that dies or hangs comes back as that.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent.parent


def side_by_side(
    module: str, name: str, count: int, shared: dict[str, Any], *, seconds: float = 600.0
) -> list[dict[str, Any]]:
    """Run ``module.name(number, shared)`` in so many processes; return what each says.

    Parameters
    ----------
    module, name
        The function; it returns a dict that JSON can hold.
    count, shared
        How many processes, and what each is given beside its number.
    seconds
        After which all are killed.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join([str(_HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        asked = json.dumps([module, name, count, shared, folder, seconds])
        subprocess.run(
            [sys.executable, "-c", "from trials.forks import main; main()"],
            input=asked, text=True, check=False, timeout=seconds + 60,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        found = []
        for number in range(count):
            said = Path(folder, f"{number}.json")
            found.append(
                json.loads(said.read_text()) if said.exists() else {"died": f"process {number}"}
            )
        return found


def main() -> None:
    """Fork, let all begin at once, and wait for each."""
    module, name, count, shared, folder, seconds = json.load(sys.stdin)
    work = getattr(importlib.import_module(module), name)
    ready, go = os.pipe()
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(ready, 1)  # ends when the parent closes the other end
            import signal

            signal.alarm(int(seconds))
            _one(work, number, shared, Path(folder))
            os._exit(0)
        children.append(child)
    os.close(ready)
    os.close(go)
    for child in children:
        os.waitpid(child, 0)


def _one(work: Any, number: int, shared: dict[str, Any], folder: Path) -> None:
    try:
        said = work(number, shared)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
        said = {
            "error": f"{type(error).__name__}: {error}",
            "trace": traceback.format_exc()[-1500:],
        }
    target = folder / f"{number}.json"
    target.with_suffix(".part").write_text(json.dumps(said))
    target.with_suffix(".part").replace(target)
