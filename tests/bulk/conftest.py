"""Lets the tests of this folder import its helper modules, and those of runs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))
