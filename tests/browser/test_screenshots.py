"""The README's pictures can be made again from the packaged demo."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.loopback]

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["report-cases.png", "report-cutoff.png", "report-overview.png"]


@pytest.mark.usefixtures("browser")
def test_the_script_makes_every_picture_of_the_readme(tmp_path):
    made = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "screenshots.py"), "--out", str(tmp_path)],
        check=False, capture_output=True, encoding="utf-8", timeout=300, cwd=tmp_path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    pictures = sorted(tmp_path.glob("*.png"))
    assert [one.name for one in pictures] == NAMES
    for picture in pictures:
        data = picture.read_bytes()
        assert struct.unpack(">II", data[16:24]) == (1280, 900)
        assert 20_000 < len(data) < 250_000
