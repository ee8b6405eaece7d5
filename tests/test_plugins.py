"""Embedders and metrics of other installed packages, found by entry point and by nothing else."""

import json
import sys

import pytest

from closecall import evaluate, load_embedder, load_metric
from closecall.cli import run as command_line
from closecall.errors import ConfigurationError, UnknownNameError, UsageError
from closecall.runs.resuming import resume
from closecall.runs.stored import load_run
from closecall.testing import HashEmbedder

SOURCE = '''
from closecall import Measured, MetricSpec
from closecall.testing import HashEmbedder


def words(rest, *, window, threads):
    """words, or words:DIMS."""
    return HashEmbedder(dims=int(rest or 64), model=f"words-{window}")


def nothing(rest, *, window, threads):
    return object()


def brief(case) -> bool:
    """At most two words."""
    if case.id == "2":
        raise RuntimeError("no luck")
    return len(case.response.split()) <= 2


def broken(cutoff=None):
    raise KeyError("somewhere")


def no_metric(cutoff=None):
    return object()


class Length:
    """Shorter is better."""

    DEFAULTS = {"most": "100"}

    def __init__(self, cutoff=None, most="100"):
        self.cutoff, self.most = cutoff, int(most)
        self.spec = MetricSpec(
            id="length" if self.most == 100 else f"length:most={self.most}",
            name="length", version="1", needs=("response",), default_cutoff=None, low=0.0,
            high=1.0, description="Room left.", options={"most": self.most},
        )

    def texts(self, case):
        return ()

    def measure(self, case, vectors):
        value = max(0.0, 1 - len(case.response) / self.most)
        return Measured(similarity=value, value=value, score=100 * value)
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package with plug-ins for this test: its code and its metadata on the path."""
    place = tmp_path / "site"
    (place / "plugged-1.0.dist-info").mkdir(parents=True)
    (place / "plugged_code.py").write_text(SOURCE, encoding="utf-8")
    (place / "plugged-1.0.dist-info" / "METADATA").write_text("Name: plugged\nVersion: 1.0\n")
    (place / "plugged-1.0.dist-info" / "entry_points.txt").write_text(
        "[closecall.embedders]\n"
        "words = plugged_code:words\nnothing = plugged_code:nothing\n"
        "gone = plugged_code:missing\nminilm = plugged_code:nothing\nonnx = plugged_code:nothing\n"
        "[closecall.metrics]\nlength = plugged_code:Length\nbleu = plugged_code:Length\n"
        "brief = plugged_code:brief\nbroken = plugged_code:broken\nodd = plugged_code:no_metric\n"
    )
    monkeypatch.syspath_prepend(str(place))
    yield place
    sys.modules.pop("plugged_code", None)


def test_an_embedder_is_found_by_its_name_and_told_the_rest_and_the_options(package):
    assert load_embedder("words").instrument.model == "words-chunk"
    embedder = load_embedder("words:32", window="truncate")
    assert (embedder.instrument.dims, embedder.instrument.model) == (32, "words-truncate")


def test_nothing_of_a_package_is_imported_or_searched_for_by_names_of_our_own(
    package, monkeypatch
):
    import importlib.metadata

    def refuse(**_):
        raise AssertionError("searched for plug-ins")

    monkeypatch.setattr(importlib.metadata, "entry_points", refuse)
    assert load_embedder("minilm").instrument.model == "all-MiniLM-L6-v2"
    assert load_metric("bleu").spec.version
    assert "plugged_code" not in sys.modules


def test_names_of_our_own_are_never_taken_over(package):
    assert load_embedder().instrument.model == "all-MiniLM-L6-v2"
    assert load_metric("bleu").spec.name == "bleu"


def test_a_metric_is_found_by_its_name_with_its_options(package):
    assert load_metric("length:most=10", 0.5).spec.id == "length:most=10"
    with pytest.raises(UsageError, match="length has no option 'least'; its options are most"):
        load_metric("length:least=3")


def test_both_work_on_the_command_line_and_when_a_run_goes_on(
    package, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.jsonl").write_text(json.dumps({"response": "abcde", "reference": "x"}) + "\n")
    asked = ["eval", "c.jsonl", "-m", "length:most=10", "--embedder", "words:16", "-q"]
    assert command_line([*asked, "--aef", "run", "--cutoff", "length:most=10=0.5"]) == 0
    header = load_run(tmp_path / "run").header
    assert (header.embedder, header.instrument.dims) == ("words:16", 16)
    assert len(resume(tmp_path / "run", cache=False)) == 1


def test_what_a_package_promises_and_does_not_keep_is_an_error_of_configuration(package):
    with pytest.raises(ConfigurationError, match=r"gone of the package plugged .*AttributeError"):
        load_embedder("gone")
    with pytest.raises(ConfigurationError, match="made a object, which is no embedder"):
        load_embedder("nothing:x")


def test_a_name_that_two_packages_bring_is_refused(package, tmp_path):
    other = package / "second-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Name: second\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[closecall.metrics]\nlength = elsewhere:Length\n")
    with pytest.raises(ConfigurationError, match=r"more than one package brings 'length'"):
        load_metric("length")


def test_an_unknown_name_lists_those_of_packages_too(package):
    with pytest.raises(UnknownNameError, match="Of other packages: gone, minilm, nothing"):
        load_embedder("wordz")
    with pytest.raises(UnknownNameError, match=r"Metrics: .*, length"):
        load_metric("lenght")


def test_a_function_is_a_metric_and_its_errors_cost_one_case(
    package, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": str(n), "response": "word " * n} for n in (1, 2, 3)]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ["eval", "c.jsonl", "-m", "brief", "--no-aef", "-q", "--format", "json"]
    assert command_line(asked) == 1
    told = json.loads(capsys.readouterr().out)
    assert [row["state"] for row in told["results"]] == ["passed", "error", "failed"]
    assert "RuntimeError: no luck" in told["results"][1]["error"]
    assert command_line([*asked, "--cutoff", "brief=0"]) == 11
    assert load_metric("brief").spec.description == "At most two words."
    with pytest.raises(UsageError, match="brief has no option"):
        load_metric("brief:most=3")


def test_a_metric_that_cannot_be_made_is_no_bug_of_closecall(package):
    with pytest.raises(ConfigurationError, match=r"broken of another package .*KeyError"):
        load_metric("broken")
    with pytest.raises(ConfigurationError, match="made a object, which is no metric"):
        load_metric("odd")


def test_a_plug_in_runs_in_evaluate(package):
    run = evaluate([{"response": "abc"}], "length", HashEmbedder(), cache=False)
    assert next(iter(run)).results[0].measurement.value == 0.97
