"""Every reader of files, given some damaged ones: each is read, or refused by name and place.

``benchmarks/reliability.py`` does the same thousands of times.
"""

import importlib
import os
import pkgutil

import pytest
from trials.inputs import HOSTILE, run

from trials import targets

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the trials use alarms and pipes")

ROUNDS = 8
ELSEWHERE = frozenset({"served", "hub"})
"""Modules whose targets ask a server on this machine, and are tried beside it."""

MODULES = sorted(
    name for _, name, _ in pkgutil.iter_modules(targets.__path__) if name not in ELSEWHERE
)
TARGETS = [
    pytest.param(target, id=f"{name}: {target.name}")
    for name in MODULES
    for target in importlib.import_module(f"trials.targets.{name}").TARGETS
]


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_input_is_read_or_refused(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (found,) = run([target], seed=10, rounds=ROUNDS)
    assert found.held == found.tried, "\n".join(found.failures)


def test_no_two_targets_have_a_name():
    names = [param.values[0].name for param in TARGETS]
    assert len(set(names)) == len(names)


def test_the_hostile_values_are_all_different():
    assert len({repr(value) for value in HOSTILE}) == len(HOSTILE)
