"""Without Ray installed, the one line that installs it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("missing", ["ray", "pyarrow"])
def test_what_is_missing_is_named_with_the_command_that_installs_it(missing):
    code = f"""
import sys, types
from importlib.machinery import ModuleSpec
for name in ("ray", "pyarrow"):
    there = types.ModuleType(name)
    there.__spec__ = ModuleSpec(name, None)
    sys.modules[name] = there
sys.modules[{missing!r}] = None
import closecall.ray
"""
    said = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )
    assert said.returncode == 1
    last = said.stderr.strip().splitlines()[-1]
    assert last.endswith(
        f"closecall.ray needs {missing}, which this environment lacks. Install with: pip install "
        "'closecall[ray]'"
    )
