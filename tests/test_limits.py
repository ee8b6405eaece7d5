"""The table of limits: each figure in it is that of the source, and no limit is missing."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "closecall"
UNITS = {
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "Ki": 1 << 10, "Mi": 1 << 20,
}  # fmt: skip
NAMED_LIKE_ONE = re.compile(r"(MAX|MOST|LIMIT|LONGEST)(_[A-Z_]+)?")

OF_NO_INPUT = frozenset(
    {
        # How much is shown, listed or remembered; the rest is counted.
        "calibration.evidence.slicing.MOST_VALUES", "cli.cassette.MOST_CHANGES",
        "datasets._layout.MOST_RENAMED", "datasets._rows.MOST_COUNTED",
        "datasets._survey.MAX_COLUMNS", "embedders.checked.MAX_REASON", "gates.tally.MAX_REASONS",
        "metrics.guards.base.MAX_QUOTE", "metrics.guards.base.MAX_SPANS",
        "metrics.judge.reading.MAX_OBJECTS", "metrics.judge.reading.MAX_QUOTE",
        "metrics.judge.reading.MAX_REASON", "metrics.judge.reading.MAX_THOUGHTS",
        "metrics.judge.votes.MAX_VOTE_REASON", "models.pair_labels.MOST",
        "pytest_plugin.marked.MOST_ID", "report.charts.distributions.MOST_BINS",
        "report.charts.history.MOST_NAMES", "report.html.history_charts.MOST_TICKS",
        "report.html.history_charts.MOST_WRITTEN", "report.overview.MAX_REASONS",
        "report.slices.MOST_FIELDS", "report.slices.MOST_NOTED", "report.junit.MOST",
        "runs.gate_lines.MAX_CODE", "runs.gate_lines.MAX_SHOWN", "runs.kept_metadata.MOST_DEPTH",
        "runs.kept_metadata.MOST_VALUE", "runs.lines.MAX_SOURCE", "runs.sound.MAX_PLAIN",
        "runs.summary.MAX_REASONS", "subjects.agreement.MOST_FLAKY", "cassettes.nearest.MOST",
        "runs.held.MOST_CASES", "runs.held.MOST_BYTES", "runs.held.MOST_ODD",
        # Parts of a method, with their source beside them.
        "calibration.drift.far_monitor.MOST_AT_RISK", "calibration.drift.profile.MOST_VALUES",
        "calibration.records.MOST_DECIMALS", "gates.intervals.MOST_BETS", "gates.needed.MOST",
        "metrics.alignment.weights.LONGEST_QUESTION", "metrics.alignment.windows.MOST",
        "metrics.alignment.words.MOST_WORDS", "metrics.guards.polarity.MOST",
        "metrics.pairs.tokenising.MOST_OVERLAP", "metrics.support.context.MOST_SENTENCES",
        "metrics.support.occlusion.MOST", "retrieval.randomisation.MOST_EXACT",
        "retrieval.randomisation.MOST_WHOLE", "runs.comparing.compare.MOST_ALPHA",
        # Defaults and ranges of single options, which --help or the error tells.
        "cli.label.MOST_NAME", "cli.plan.MOST", "stress.making.MOST", "index.building.MAX_SEED",
        "embedders.isotropy.file.MAX_DIMS", "metrics.judge.metric.MOST_HEAT",
        "metrics.judge.metric.MOST_TOKENS", "metrics.lexical.chrf.MOST_BETA",
        "metrics.lexical.chrf.MOST_ORDER", "cli.signing.MAX_PASSPHRASE",
        # How often something is tried again, or how many ask at once.
        "cache.vectors.MAX_REPLACEMENTS", "embedders.checked.MAX_ROUNDS",
        "embedders.remote.asking.MAX_REFUSED", "labelling.web.serving.LONGEST",
        # The same limit under another name, for another reader or writer.
        "embedders.st.files.MOST_BYTES", "models.static_files.MAX_CONFIG",
        "models.safetensors_file.MAX_NAME", "runs.values.MAX_CASE_ID",
        "signing.envelope.MAX_SIGNATURE", "signing.envelope.MAX_ENVELOPE",
    }
)  # fmt: skip
"""Constants named like a limit that refuse no input of a person's."""


def rows():
    lines = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1:]]


def figure(text):
    """Return the first number of a cell, in bytes or characters or seconds where it has a unit."""
    found = re.match(r"([0-9][0-9,]*(?:\.[0-9]+)?)(?: ([A-Za-z]+))?", text)
    assert found, text
    return float(found[1].replace(",", "")) * UNITS.get(found[2] or "", 1)


GIVEN = [(row[0], row[1], row[4].strip("`")) for row in rows() if row[4]]


@pytest.mark.parametrize(("what", "limit", "place"), GIVEN, ids=[place for *_, place in GIVEN])
def test_a_limit_is_what_the_table_says(what, limit, place):
    module, _, name = place.rpartition(".")
    if module.startswith("ray."):
        pytest.importorskip("ray", reason="Ray is not installed: closecall[ray]")
    assert figure(limit) == float(getattr(importlib.import_module(f"closecall.{module}"), name)), (
        what
    )


def test_each_row_says_what_why_or_what_happens():
    for row in rows():
        assert len(row) == 5
        if not row[0].startswith("**"):
            assert row[1], row
            assert row[2] or row[3], row


def test_no_limit_is_missing():
    named = {place for *_, place in GIVEN}
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(
                targets[0], ast.Name
            ):
                continue
            if (
                NAMED_LIKE_ONE.fullmatch(targets[0].id)
                and not isinstance(getattr(node.value, "value", 0), str)
                and isinstance(node.value, ast.Constant | ast.BinOp | ast.Call)
            ):
                found.add(f"{module}.{targets[0].id}")
    missing = found - named - OF_NO_INPUT
    assert not missing, f"say in docs/limits.md, or in OF_NO_INPUT: {sorted(missing)}"
    assert not (OF_NO_INPUT - found), f"no longer there: {sorted(OF_NO_INPUT - found)}"


def test_limits_that_are_no_constants_are_as_the_table_says():
    import sys

    from closecall.datasets import _yaml_file

    limits = {row[0]: row[1] for row in rows()}
    assert figure(limits["Digits of a JSON number"]) == sys.int_info.default_max_str_digits
    told = limits["Values that YAML aliases add"]
    assert (
        told == f"{_yaml_file._EXPANSION_FLOOR:,}, and {_yaml_file._EXPANSION} times those written"
    )
