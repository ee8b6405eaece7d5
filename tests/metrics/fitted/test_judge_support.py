"""What a pair model says, as one of the scalars of a judge: weighed, versioned, and left out."""

import math
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[2] / "runs"))
from number_reader import NumberReader, put

from closecall.embedders.cached import CachedEmbedder
from closecall.errors import InstrumentMismatchError
from closecall.metrics.fitted.features import OF, VERSION, joined_version
from closecall.metrics.fitted.head import JudgeHead, flaw_of
from closecall.metrics.fitted.judge import FittedJudge
from closecall.metrics.fitted.measure import FEATURES, SUPPORT_VALUE, JudgeFeatures
from closecall.metrics.fitted.support import SURE, support_metric
from closecall.records import Case, Measured
from closecall.runs.runner import measured_batch
from closecall.testing import HashEmbedder

HEAD = JudgeHead(
    sides="references",
    version=joined_version("2+abcdef123456"),
    features=("align_recall", "answer_support"),
    means=(0.5, 0.0),
    sds=(0.25, 2.0),
    coefficients=(0.5, 1.5),
    intercept=0.25,
    penalty=0.1,
    trained="ab" * 32,
)
PLAIN = replace(
    HEAD, version=VERSION, features=("align_recall",), means=(0.5,), sds=(0.25,),
    coefficients=(0.5,),
)  # fmt: skip


def case(at, response, reference="The north gate has 12 bars", **more):
    return Case(id=f"{at}", response=response, references=(reference,), **more)


def measured(metric, *cases):
    return measured_batch([metric], cases, CachedEmbedder(HashEmbedder()))[0]


@pytest.fixture
def reader(monkeypatch, tmp_path):
    return put(monkeypatch, tmp_path, NumberReader())


def test_it_counts_by_its_log_odds_and_is_explained_in_words(reader):
    same, other = measured(
        FittedJudge(HEAD),
        case(1, "The north gate, it has 12 bars"),
        case(2, "The gate has 13 bars"),
    )
    odds = {0.98: math.log(0.98 / 0.02), 0.03: math.log(0.03 / 0.97)}
    for found, value in ((same, 0.98), (other, 0.03)):
        (told,) = (
            part for part in found.details["contributions"] if part["feature"] == "answer_support"
        )
        assert told["value"] == pytest.approx(odds[value], abs=1e-6)
        assert told["contribution"] == pytest.approx(1.5 * odds[value] / 2.0, abs=1e-5)
        assert told["words"].startswith("what the pair model makes of answer and reference")
    assert same.value > 0.9
    assert other.value < 0.2


def test_all_cases_of_a_batch_are_read_in_one_call(reader):
    cases = [case(at, f"The gate has {at} bars") for at in range(10, 40)]
    found = measured(FittedJudge(HEAD), *cases)
    assert all(isinstance(one, Measured) for one in found)
    assert [len(call) for call in reader.asked] == [30]


def test_one_that_it_cannot_read_is_not_judged_and_costs_no_other_its_number(
    monkeypatch, tmp_path
):
    put(monkeypatch, tmp_path, NumberReader(refuses="smudge"))
    good, bad = measured(FittedJudge(HEAD), case(1, "It has 12 bars"), case(2, "smudge 12"))
    assert isinstance(good, Measured)
    assert bad.reason.startswith("answer_support: the response ")
    # Without it the same case is judged.
    assert isinstance(measured(FittedJudge(PLAIN), case(2, "smudge 12"))[0], Measured)


@pytest.mark.usefixtures("reader")
def test_it_reads_any_language_since_the_labels_say_what_it_is_worth():
    german = case(1, "Das Tor hat nicht mit dem Hof und auch nicht mit der Wand 12 Riegel")
    assert isinstance(measured(FittedJudge(HEAD), german)[0], Measured)


@pytest.mark.parametrize("here", ["abcdef123457", None])
def test_another_pair_model_or_none_is_refused_and_a_judge_without_it_works(
    here, monkeypatch, tmp_path
):
    put(monkeypatch, tmp_path, None if here is None else NumberReader(here))
    found = "there is none here" if here is None else r"here is 2\+abcdef123457"
    with pytest.raises(InstrumentMismatchError, match=rf"2\+abcdef123456, and {found}") as said:
        FittedJudge(HEAD)
    assert "closecall calibrate --refresh" in str(said.value)
    assert flaw_of(HEAD) is None  # the file is sound all the same
    assert isinstance(measured(FittedJudge(PLAIN), case(1, "It has 12 bars"))[0], Measured)


def test_a_judge_without_it_is_what_it_was(reader):
    """Calibrations that were made before there was a pair model keep their identity."""
    spec = FittedJudge(PLAIN).spec
    assert spec.options == {"sides": "references"}
    assert spec.version.startswith("1+")
    measured(FittedJudge(PLAIN), case(1, "It has 12 bars"))
    assert reader.asked == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": VERSION}, "there is no 'answer_support'"),
        ({"version": joined_version("1").replace("1", "0", 1)}, "version: of the features"),
        ({"coefficients": (0.5, -1.5)}, "answer_support has the wrong sign"),
        ({"sides": "context"}, "there is no 'align_recall'"),
    ],
)
def test_a_head_that_does_not_go_with_its_version_is_flawed(change, said):
    assert said in flaw_of(replace(HEAD, **change))


@pytest.mark.usefixtures("reader")
def test_the_features_hold_its_log_odds_and_the_details_its_value():
    (found,) = measured(JudgeFeatures("references", support_metric("references")), case(1, "12"))
    assert list(found.details[FEATURES])[:2] == ["align_recall", "answer_support"]
    assert len(found.details[FEATURES]) == len(OF["references"]) + 1
    assert found.details[SUPPORT_VALUE] == 0.98


def test_what_is_as_good_as_certain_does_not_outweigh_all_else(monkeypatch, tmp_path):
    reader = put(monkeypatch, tmp_path, NumberReader())
    reader._one = lambda first, second: 1.0
    (found,) = measured(JudgeFeatures("references", support_metric("references")), case(1, "12"))
    assert found.details[FEATURES]["answer_support"] == pytest.approx(
        math.log((1 - SURE) / SURE), abs=1e-6
    )
