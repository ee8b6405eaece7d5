"""The judge: its number is the sum of what it shows, and it comes from a calibration only."""

import json
import math

import pytest
from msgspec.structs import replace

from closecall import load_metric
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import CalibrationFileError, UsageError
from closecall.metrics.fitted.features import VERSION
from closecall.metrics.fitted.head import JudgeHead, flaw_of
from closecall.metrics.fitted.judge import SHOWN, FittedJudge
from closecall.records import Case, Measured, Unmeasured
from closecall.testing import HashEmbedder

HEAD = JudgeHead(
    sides="references",
    version=VERSION,
    features=(
        "align_recall", "characters_recall", "token_f1", "names_differ", "numbers_differ",
        "response_length",
    ),
    means=(0.5, 0.4, 0.3, 0.1, 0.2, 2.0),
    sds=(0.25, 0.3, 0.2, 0.3, 0.4, 0.5),
    coefficients=(1.5, 0.5, 0.25, -0.5, -1.0, -0.25),
    intercept=0.75,
    penalty=0.1,
    trained="ab" * 32,
)  # fmt: skip


def measured(response, reference="Nine oak barrels roll downhill", head=HEAD):
    judge = FittedJudge(head)
    case = Case(id="1", response=response, references=(reference,))
    keys = judge.texts(case)
    return judge.measure(case, CachedEmbedder(HashEmbedder()).fetch(keys))


def test_the_number_is_the_logistic_of_all_that_is_shown():
    found = measured("Nine oak barrels roll uphill")
    assert isinstance(found, Measured)
    shown, details = found.details["contributions"], found.details
    total = details["bias"] + sum(part["contribution"] for part in shown) + details["others"]
    assert total == pytest.approx(details["logit"], abs=1e-5)
    assert found.value == pytest.approx(1 / (1 + math.exp(-total)), abs=1e-5)
    assert found.score == pytest.approx(100 * found.value)
    assert len(shown) == SHOWN
    sizes = [abs(part["contribution"]) for part in shown]
    assert sizes == sorted(sizes, reverse=True)
    json.dumps(details, allow_nan=False)


def test_a_contribution_is_the_coefficient_times_how_far_from_the_mean():
    parts = {p["feature"]: p for p in measured("Four oak barrels roll").details["contributions"]}
    wrong = parts["numbers_differ"]
    assert wrong["value"] == 1
    assert wrong["contribution"] == pytest.approx(-1.0 * (1 - 0.2) / 0.4)
    assert wrong["words"] == "a number of the reference is missing or contradicted"


def test_the_explanation_says_what_speaks_for_it_and_what_against():
    said = measured("Four oak barrels roll downhill").details["explanation"]
    assert "against: a number of the reference is missing or contradicted (-2.00)" in said
    assert said.startswith("for: ")


def test_another_number_lowers_it():
    other, same = (
        measured("Four oak barrels roll downhill"),
        measured("Nine oak barrels roll downhill"),
    )
    assert other.details["logit"] < same.details["logit"] - 2.5


def test_its_version_moves_with_every_number_of_its_head():
    one = FittedJudge(HEAD).spec
    assert (one.id, one.name) == ("fitted_judge", "fitted_judge")
    assert one.fitted_on == (HEAD.trained,)
    assert one.default_cutoff is None
    assert FittedJudge(replace(HEAD)).spec == one
    for change in ({"intercept": 0.750001}, {"means": (0.500001, *HEAD.means[1:])}):
        assert FittedJudge(replace(HEAD, **change)).spec.version != one.version
    other = replace(
        HEAD, sides="context", features=("token_precision",), means=(0.5,), sds=(1.0,),
        coefficients=(1.0,),
    )  # fmt: skip
    assert FittedJudge(other).spec.id == "fitted_judge:sides=context"
    assert FittedJudge(other).spec.needs == ("context", "response")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": "0"}, "version: of the features '0'"),
        ({"features": ("charm", *HEAD.features[1:])}, "there is no 'charm'"),
        ({"coefficients": (-1.5, *HEAD.coefficients[1:])}, "align_recall has the wrong sign"),
    ],
)
def test_a_head_for_other_features_is_refused(change, said):
    head = replace(HEAD, **change)
    assert said in flaw_of(head)
    with pytest.raises(CalibrationFileError, match="fit it anew"):
        FittedJudge(head)


@pytest.mark.parametrize(
    "change",
    [
        {"means": (0.5,)},
        {"sds": (0.0, *HEAD.sds[1:])},
        {"intercept": math.inf},
        {"features": ("align_recall",) * 6},
        {"penalty": 0.0},
    ],
)
def test_a_head_that_is_nonsense_cannot_be_made(change):
    fields = {name: getattr(HEAD, name) for name in HEAD.__struct_fields__}
    with pytest.raises(ValueError, match=r"judge\.head"):
        JudgeHead(**{**fields, **change})


@pytest.mark.parametrize("name", ["fitted_judge", "fitted_judge:sides=context"])
def test_its_name_alone_says_where_it_comes_from(name):
    with pytest.raises(UsageError, match=r"calibrate FILE --judge.*--calibration"):
        load_metric(name)


def test_what_is_missing_is_not_judged():
    case = Case(id="1", response="Nine", references=())
    assert FittedJudge(HEAD).measure(case, {}) == Unmeasured("the case's reference is missing")
