"""What a figure depends on besides the code: the machine and the versions."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    "onnxruntime", "tokenizers", "numpy", "torch", "sentence-transformers", "transformers",
    "fastembed",
)  # fmt: skip


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def facts() -> dict[str, Any]:
    """Return CPU, cores, load, system and versions; a package that is missing is None."""
    from closecall import __version__

    versions: dict[str, str | None] = {"closecall": __version__}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "cpu": _cpu(),
        "cores": cores(),
        "load_1min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
    }


def describe(found: dict[str, Any]) -> str:
    """Return the facts as two lines."""
    versions = [f"{name} {number}" for name, number in found["versions"].items() if number]
    load = "" if found["load_1min"] is None else f", load {found['load_1min']} before the run"
    return (
        f"{found['cpu']}, {found['cores']} cores{load}; {found['system']}, "
        f"Python {found['python']}\n{', '.join(versions)}"
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown CPU"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    wide = next((flag for flag in ("avx512f", "avx2", "avx") if flag in flags), "no AVX")
    return f"{names[0] if names else platform.machine()} ({wide})"
