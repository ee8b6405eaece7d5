"""Whether faiss, onnxruntime and torch bear each other in one process.

Each brings an OpenMP runtime of its own. On some systems two of them in one process end it, or
wait for each other, depending on which came first; so it is tried in processes of their own.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence

MODULES = ("onnxruntime", "faiss", "torch")
TIMEOUT_S = 120

_LAST = 300
_PROGRAM = """
import importlib, sys
loaded = {name: importlib.import_module(name) for name in sys.argv[1:]}
import numpy as np
rows = np.random.default_rng(0).standard_normal((4096, 64), dtype=np.float32)
for _ in range(2):
    if "torch" in loaded:
        torch = loaded["torch"]
        product = torch.from_numpy(rows) @ torch.from_numpy(rows[:64]).T
        assert tuple(product.shape) == (4096, 64)
    index = loaded["faiss"].IndexFlatL2(64)
    index.add(rows)
    _, found = index.search(rows[:64], 1)
    assert (found[:, 0] == np.arange(64)).all()
"""


def runtimes_side_by_side(modules: Sequence[str] = MODULES) -> str:
    """Load what is installed of these in both orders, each in a new process, and make it compute.

    Returns
    -------
    str
        What was tried.

    Raises
    ------
    RuntimeError
        faiss is missing, or a process failed, was ended or did not finish; says which order.
    """
    here = [name for name in modules if importlib.util.find_spec(name) is not None]
    if "faiss" not in here:
        raise RuntimeError("faiss is not installed; install it with: pip install faiss-cpu")
    for order in (here, here[::-1]):
        _try(order)
    return f"{', '.join(here)} loaded in one process in both orders, each with a search"


def _try(order: Sequence[str]) -> None:
    said = ", then ".join(order)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM, *order],
            check=False,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "PYTHONFAULTHANDLER": "1"},
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"{said}: a search did not end in {TIMEOUT_S} s") from error
    except OSError as error:
        raise RuntimeError(f"{said}: no process could be started: {error.strerror}") from error
    if done.returncode:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit {done.returncode}"
        lines = done.stderr.strip().splitlines()
        last = f": {lines[-1][:_LAST]}" if lines and done.returncode > 0 else ""
        raise RuntimeError(f"{said} in one process ended with {how}{last}")
