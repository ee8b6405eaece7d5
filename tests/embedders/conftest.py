"""Lets the tests of this folder import the tiny models of their neighbour."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "models"))
