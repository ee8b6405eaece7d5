"""Lets the tests of this folder import its helper modules."""

import sys
from pathlib import Path

import scipy.special  # noqa: F401 - loaded here, not within the time hypothesis allows an example

sys.path.insert(0, str(Path(__file__).parent))
