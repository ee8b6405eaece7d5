"""A file whose digest fits and whose parts contradict each other is refused, by the member."""

import json

import msgspec
import numpy as np
import pytest
from made_cases import answers, made, scored, usual
from made_scores import normal_scores

from closecall import calibrate, refresh
from closecall.calibration import Costs, load_calibration, save_calibration
from closecall.calibration.artefact import Calibration
from closecall.calibration.goals import Goal
from closecall.calibration.store import _digest
from closecall.calibration.trust import flaws
from closecall.errors import CalibrationFileError
from closecall.testing import HashEmbedder

PAIRS = {"group": [f"q{at // 2}" for at in range(300)]}
COSTS = Costs(false_accept=5, false_reject=1)
GOALS = {
    "far": Goal(max_far=0.1),
    "far strict": Goal(max_far=0.1, where="strict"),
    "far loose unrounded": Goal(max_far=0.1, where="loose", decimals=None),
    "far looks": Goal(max_far=0.2, looks=4, confidence=0.9),
    "far coarse": Goal(max_far=0.1, decimals=2),
    "frr": Goal(max_frr=0.1, seed=7),
    "far average": Goal(max_far=0.05, guarantee="average"),
    "far approximate": Goal(max_far=0.1, guarantee="approximate"),
    "two": Goal(max_far=0.1, max_frr=0.1),
    "two unrounded": Goal(max_far=0.2, max_frr=0.2, decimals=None),
    "costs": Goal(costs=COSTS),
    "costs base rate": Goal(costs=Costs(false_accept=3, false_reject=2, base_rate=0.3)),
    "costs empirical": Goal(costs=COSTS, estimator="empirical"),
    "costs bagged": Goal(costs=COSTS, estimator="bagged", seed=3),
    "costs platt": Goal(costs=COSTS, estimator="platt", decimals=None),
    "f1": Goal(objective="f1"),
    "youden": Goal(objective="youden", seed=2**70),
    "accuracy": Goal(objective="accuracy", decimals=None),
}


def measured(grouped, n=150):
    scores, labels = normal_scores(n, n, 3, gap=2.5)
    fields = {"group": [f"q{at // 2}" for at in range(2 * n)]} if grouped else {}
    return scored(scores, labels, **fields)


# --- what was built is let through ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "grouped"),
    # An approximate guarantee is for groups.
    [(goal, grouped) for goal in GOALS for grouped in (False, True)
     if grouped or goal != "far approximate"],
)  # fmt: skip
def test_a_file_that_was_built_is_read(tmp_path, goal, grouped):
    found = made(measured(grouped), GOALS[goal])
    assert isinstance(found, Calibration), found
    save_calibration(found, tmp_path / "c.json")
    assert load_calibration(tmp_path / "c.json") == found


@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
@pytest.mark.parametrize("goal", ["far", "frr", "two", "costs", "f1"])
def test_so_is_one_with_rows_set_aside(tmp_path, goal, grouped):
    found = made(measured(grouped, n=400), GOALS[goal])
    assert found.locked is not None
    save_calibration(found, tmp_path / "c.json")
    assert load_calibration(tmp_path / "c.json") == found


@pytest.mark.parametrize(
    "goal", [Goal(max_far=0.1), Goal(costs=COSTS), Goal(max_far=0.2, max_frr=0.2)],
    ids=["far", "costs", "two"],
)  # fmt: skip
def test_so_is_one_that_was_made_again(tmp_path, goal):
    path = tmp_path / "c.json"
    first = calibrate(
        answers(100, 100, each=2), "semantic_similarity", HashEmbedder(), goal, cache=False
    )
    save_calibration(first, path)
    again = refresh(load_calibration(path), HashEmbedder(dims=96), cache=False).after
    assert isinstance(again, Calibration)
    save_calibration(again, path)
    assert load_calibration(path) == again


def test_last_digits_of_another_machine_are_no_contradiction():
    found = made(measured(grouped=False), GOALS["far"])
    bound = found.rule.evidence.upper_bound
    evidence = msgspec.structs.replace(found.rule.evidence, upper_bound=bound * (1 + 1e-10))
    rule = msgspec.structs.replace(found.rule, evidence=evidence)
    assert list(flaws(msgspec.structs.replace(found, rule=rule))) == []


# --- what contradicts itself is not --------------------------------------------------------------


@pytest.fixture(scope="module")
def one():
    return text_of(made(usual(**PAIRS), Goal(max_far=0.1)))


@pytest.fixture(scope="module")
def two():
    return text_of(made(usual(), Goal(max_far=0.1, max_frr=0.1)))


@pytest.fixture(scope="module")
def locked():
    return text_of(made(usual(400, 400), Goal(max_far=0.1)))


def text_of(calibration):
    return msgspec.json.encode(calibration)


def refused(content, folder, change):
    """The message for a file that was changed and whose digest was made to fit."""
    document = json.loads(content)
    change(document)
    document["digest"] = _digest(document)
    path = folder / "c.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(CalibrationFileError) as caught:
        load_calibration(path)
    assert caught.value.exit_code == 4
    message = str(caught.value)
    assert len(message) < 600 + len(str(path))
    return message.removeprefix(f"{path}: ")


def moved(document):
    """Another cutoff, with a gap and counts that suit it: the lowest score."""
    scores, rule = document["sample"]["scores"], document["rule"]
    low = min(scores)
    rule.update(value=low, gap={"low": None, "high": low})


def put(*path):
    """A change that puts the last of ``path`` at the place named by the others."""
    *steps, last, value = path

    def change(document):
        for step in steps:
            document = document[step]
        document[last] = value

    return change


def add(*path):
    """The same, by which a number grows."""
    *steps, last, by = path

    def change(document):
        for step in steps:
            document = document[step]
        document[last] += by

    return change


@pytest.mark.parametrize(
    ("change", "member"),
    [
        (moved, "rule."),
        (add("rule", "value", 1e-4), "rule.value"),
        (add("rule", "counts", "false_accepts", 1), "rule.counts.false_accepts"),
        (put("rule", "evidence", "limit", 0.01), "rule.evidence.limit"),
        (put("goal", "max_far", 0.2), "rule."),
        (put("goal", "max_far", 0.0001), "rule: the labels in the file give no cutoff"),
        (put("goal", "max_far", 7.0), "goal, sample or rule"),
        (put("goal", "confidence", -1.0), "goal, sample or rule"),
        (put("goal", "seed", -1), "goal, sample or rule"),
        (put("goal", "decimals", 10**30), "goal, sample or rule"),
        (put("goal", "looks", 10**400), "goal, sample or rule"),
        (lambda d: d["sample"].update(accept=d["sample"]["accept"][::-1]), "rule"),
        (lambda d: d["sample"].update(accept="a" * 300), "data.accepts"),
        (lambda d: d["sample"].update(scores=[0.5] * 300), "rule: the labels"),
        (put("instrument_digest", "0" * 64), "instrument_digest: is not that of the instrument"),
        (put("instrument", "model", "another"), "instrument_digest"),
        (put("window", "sideways"), "window: is not that of the instrument"),
        (add("data", "used", 1), "data.used: says 301, and the rows in the file are 300"),
        (add("data", "accepts", -1), "data.accepts"),
        (add("data", "rejects", 1), "data.rejects"),
        (put("data", "groups", None), "data.groups"),
        (add("data", "locked", 5), "data.locked"),
        (put("sample", "locked", [0, 1]), "data.used"),
        (put("close_calls", []), "close_calls: is not what the rest"),
        (add("close_calls", 0, "high", 0.5), "close_calls[0].high"),
        (put("metric", "id", " "), "metric.id: is blank"),
        (put("metric", "id", "x" * 500_000), "metric.id: 500,000 characters"),
        (put("embedder", ""), "embedder: is blank"),
        (put("metric", "low", 200.0), "metric.low"),
        (put("created", "yesterday"), "created: not a time"),
        (put("tried", 0), "tried"),
        (put("canaries", "pair_scores", {}), "canaries.pair_scores"),
        (lambda d: d["canaries"]["norms"].update({"hours": 9.0}) or _any_norm(d), "canaries.norms"),
        (lambda d: d["canaries"]["unmeasured"].update(more="no"), "canaries: norms and unmeasured"),
    ],
    ids=lambda value: value.split(":")[0] if isinstance(value, str) else "",
)  # fmt: skip
def test_parts_that_contradict_each_other_are_named(one, tmp_path, change, member):
    assert refused(one, tmp_path, change).startswith(member)


def _any_norm(document):
    norms = document["canaries"]["norms"]
    norms.pop("hours")
    norms[next(iter(norms))] *= 1.5


@pytest.mark.parametrize(
    ("change", "member"),
    [
        (add("rule", "unsure_accepts", 1), "rule.unsure_accepts"),
        (add("rule", "reject", "counts", "false_rejects", 1), "rule.reject.counts.false_rejects"),
        (lambda d: d.update(rule=d["rule"]["accept"] | {"type": "one"}), "rule."),
        (lambda d: d["close_calls"].pop(), "close_calls"),
    ],
    ids=["unsure", "reject", "one of two", "band"],
)
def test_so_are_those_of_two_cutoffs(two, tmp_path, change, member):
    assert refused(two, tmp_path, change).startswith(member)


@pytest.mark.parametrize(
    ("change", "member"),
    [
        (add("locked", "counts", "false_accepts", 1), "locked.counts.false_accepts"),
        (put("locked", None), "locked: the test and the rows"),
        (put("locked", "uses", 0), "goal, sample or rule"),
        (lambda d: d["sample"]["locked"].pop(), "data.used"),
    ],
    ids=["count", "gone", "uses", "one less"],
)
def test_so_are_those_of_the_test_on_rows_set_aside(locked, tmp_path, change, member):
    assert refused(locked, tmp_path, change).startswith(member)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("rule", "counts", "false_accepts", -1), "none is below 0"),
        (put("rule", "evidence", "n", -1), "at least 0"),
        (put("rule", "evidence", "observed", -1), "at least 0"),
        (put("rule", "evidence", "limit", 1.0), "limit: 1.0"),
        (put("rule", "evidence", "delta", 0.0), "delta: 0.0"),
        (put("rule", "decimals", 16), "decimals: allowed are 0 to 15"),
        (put("rule", "decimals", 10**300), "decimals"),
        (put("rule", "decimals", -1), "decimals: allowed are 0 to 15"),
        (put("close_calls", 0, "low", 2.0), "a band from 2.0"),
        (put("close_calls", 0, "noise", -0.1), "at least 0"),
        (put("close_calls", 0, "count", 1000), "1000 of 300"),
        (put("slicer", "length_edges", [9, 5, 7]), "do not ascend"),
        (put("slicer", "length_edges", [-9, 5, 7]), "do not ascend"),
        (put("sample", "lengths", [-1] * 300), "sample.lengths"),
        (put("sample", "references", [-1] * 300), "sample.references"),
        (put("sample", "locked", [3, 3]), "sample.locked: each row once"),
        (put("canaries", "eps_self", 3.0), "eps_self: 3.0"),
        (put("canaries", "eps_pair", -1.0), "eps_pair: -1.0"),
        (put("canaries", "dims", 0), "at least one number"),
        (put("canaries", "dims", -64), "at least one number"),
        (lambda d: d["canaries"].update(norms={}, vectors=""), "at least one canary"),
        (lambda d: d["canaries"]["norms"].update(dict.fromkeys(d["canaries"]["norms"], 0.0)),
         "norms: every length"),
        (lambda d: d["canaries"].update(vectors=nan_vectors(d["canaries"])), "every number"),
        (lambda d: d["canaries"]["pair_scores"].update(dict.fromkeys(d["canaries"]["pair_scores"],
         7.0)), "pair_scores"),
    ],
    ids=range(24),
)  # fmt: skip
def test_values_out_of_range_are_named(one, tmp_path, change, words):
    message = refused(one, tmp_path, change)
    assert message.startswith("not a calibration: ")
    assert words in message or "out of range" in message
    assert "`$." in message


def nan_vectors(record):
    import base64

    rows = np.full(record["dims"] * len(record["norms"]), np.nan, dtype="<f4")
    return base64.b64encode(rows.tobytes()).decode("ascii")


def test_a_zero_vector_has_no_direction(one, tmp_path):
    import base64

    def change(document):
        record = document["canaries"]
        rows = np.zeros(record["dims"] * len(record["norms"]), dtype="<f4")
        record["vectors"] = base64.b64encode(rows.tobytes()).decode("ascii")

    assert refused(one, tmp_path, change).startswith("canaries.")


@pytest.mark.parametrize(
    "change",
    [
        put("goal", "where", "x" * 500_000),
        put("goal", "guarantee", "x' - at `" * 50_000),
        put("rule", "type", "x" * 500_000),
        put("schema", "x" * 500_000),
        lambda d: d["rule"].update({"x" * 500_000: 1}) or d["rule"].update(value="high"),
        lambda d: d["canaries"]["norms"].update({"y" * 500_000: "high"}),
        lambda d: d["canaries"]["pair_scores"].update({"y" * 500_000: 0.5}),
        put("created", "x" * 500_000),
    ],
    ids=["where", "guarantee", "type", "schema", "key", "name", "pair", "created"],
)
def test_what_a_file_holds_is_not_printed_at_length(one, tmp_path, change):
    message = refused(one, tmp_path, change)
    assert not any(mark * 90 in message for mark in "xy")


def test_a_key_that_stands_twice_is_cut_short(tmp_path):
    key = "k" * 10_000
    path = tmp_path / "c.json"
    path.write_text(f'{{"{key}": 1, "{key}": 2}}', encoding="utf-8")
    with pytest.raises(CalibrationFileError, match="the key stands twice") as caught:
        load_calibration(path)
    assert len(str(caught.value)) < 400 + len(str(path))
