"""Lets the tests of this folder import each other's helpers and the neighbour's tiny models."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "models"))
sys.path.insert(0, str(Path(__file__).parent))
