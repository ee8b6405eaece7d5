"""Examples in docstrings run, and every module says what it is for."""

import doctest
import importlib
import importlib.util
import pkgutil

import pytest

import closecall

HOSTED = {
    f"closecall.integrations.{host}"
    for host in ("deepeval", "inspect_ai", "ragas")
    if importlib.util.find_spec(host) is None
}
"""Modules for a package that is not installed here."""

if any(importlib.util.find_spec(name) is None for name in ("ray", "pyarrow")):
    HOSTED.add("closecall.ray")

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(closecall.__path__, "closecall.")
    if module.name != "closecall.__main__" and module.name not in HOSTED
)


def test_there_are_examples_to_run():
    finder = doctest.DocTestFinder()
    examples = [
        test
        for name in MODULES
        for test in finder.find(importlib.import_module(name))
        if test.examples
    ]
    assert len(examples) >= 2


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip()
    assert doctest.testmod(module).failed == 0
