"""The names people import: one sorted list, each of them there, each loaded on first use."""

import importlib
import subprocess
import sys
from importlib.resources import files

import pytest

import closecall
from closecall import _HOMES, errors


def test_the_public_list_is_sorted_and_names_nothing_twice():
    assert list(closecall.__all__) == sorted(set(closecall.__all__))


def test_the_public_list_is_what_resolves():
    lazy = {name for names in _HOMES.values() for name in names}
    assert set(closecall.__all__) == lazy | {"__version__"}
    for module, names in _HOMES.items():
        for name in names:
            assert getattr(closecall, name) is getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", closecall.__all__)
def test_every_public_name_says_what_it_is(name):
    if name != "__version__":
        assert getattr(closecall, name).__doc__


def test_type_checkers_see_the_names_that_exist():
    source = files("closecall").joinpath("__init__.py").read_text(encoding="utf-8")
    block = source[source.index("if TYPE_CHECKING:") : source.index("_HOMES = {")]
    for name in set(closecall.__all__) - {"__version__"}:
        assert f" {name}" in block.replace(",", " ,"), name


def test_dir_lists_the_public_names():
    assert set(closecall.__all__) <= set(dir(closecall))


def test_a_name_that_is_not_there_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match="module 'closecall' has no attribute 'evalute'"):
        _ = closecall.evalute
    with pytest.raises(ImportError):
        from closecall import evalute  # noqa: F401


def test_the_five_names_of_the_first_example_import_together():
    code = "from closecall import evaluate, AnswerSimilarity, Case, load_embedder; from closecall import *"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)


def test_the_package_says_that_it_is_typed():
    assert files("closecall").joinpath("py.typed").is_file()


def test_every_deliberate_error_is_a_closecall_error_with_an_exit_code_of_its_kind():
    kinds = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert len(kinds) > 10
    for kind in kinds:
        assert issubclass(kind, closecall.ClosecallError)
        assert kind.exit_code in {1, 2, 3, 4, 5, 6, 7, 8, 13}
    assert issubclass(errors.UsageError, ValueError)
    assert issubclass(errors.UnknownNameError, LookupError)
    assert issubclass(errors.DataError, ValueError)


def test_evaluate_is_what_the_command_line_calls(monkeypatch, tmp_path):
    from closecall.cli import run
    from closecall.runs import evaluate as module

    called = []
    kept = module.evaluate

    def watched(*args, **options):
        called.append((args, options))
        return kept(*args, **options)

    monkeypatch.setattr(module, "evaluate", watched)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.jsonl").write_text('{"response": "a", "reference": "a"}\n', encoding="utf-8")
    assert run(["eval", "c.jsonl", "--no-aef", "-q"]) == 0
    ((args, _),) = called
    assert args == ("c.jsonl", None, None)
