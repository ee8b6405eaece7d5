"""What is refused, one test a code: no number that looks like a result, and its own exit code."""

import json

import msgspec
import numpy as np
import pytest
from made_cases import answers

from closecall import Case, calibrate, evaluate
from closecall.calibration import (
    Calibration,
    Calibrator,
    Infeasible,
    Reason,
    fit_cutoff,
    load_calibration,
    save_calibration,
)
from closecall.calibration.comparing.comparison import compare_models
from closecall.calibration.goals import Goal
from closecall.calibration.inputs import labelled
from closecall.datasets import cases_digest
from closecall.embedders.base import Counted
from closecall.errors import (
    CalibrationFileError,
    DataError,
    InstrumentMismatchError,
    NoCutoffError,
    NonFiniteError,
    UsageError,
)
from closecall.instrument import Instrument
from closecall.metrics.base import MetricSpec
from closecall.records import Label, Measured, Role
from closecall.testing import HashEmbedder

METRIC = "semantic_similarity"


class Altered:
    """The words embedder with its identity, its texts or its vectors changed on the way."""

    def __init__(self, texts=str, vectors=np.asarray, **identity):
        self._inner = HashEmbedder()
        self._texts, self._vectors = texts, vectors
        self.instrument = msgspec.structs.replace(self._inner.instrument, **identity)

    def embed(self, texts, role=Role.TEXT):
        return self.embed_counted(texts, role).vectors

    def embed_counted(self, texts, role=Role.TEXT):
        found = self._inner.embed_counted([self._texts(text) for text in texts], role)
        return Counted(self._vectors(found.vectors), found.tokens)


class Own:
    """A metric of one's own: what the response says in its last word."""

    cutoff = None

    def __init__(self, version="1", sign=1.0, fitted_on=()):
        self._sign = sign
        self.spec = MetricSpec(
            id="own", name="own", version=version, needs=("response",), default_cutoff=None,
            low=None, high=None, description="The number at the end.", fitted_on=fitted_on,
        )  # fmt: skip

    def texts(self, case):
        return ()

    def measure(self, case, vectors):
        value = self._sign * float(case.response.split()[-1])
        return Measured(similarity=value, value=value, score=None)


def told(rejects=80, accepts=80, gap=3.0, **fields):
    """Cases whose response says what ``Own`` measures."""
    rng = np.random.default_rng(4)
    labels = np.arange(rejects + accepts) >= rejects
    scores = np.round(rng.normal(size=len(labels)) + gap * labels, 4)
    return [
        Case(
            id=f"t{at}",
            input=f"Question {at}?",
            response=f"it is {score}",
            label=Label.ACCEPT if label else Label.REJECT,
            **fields,
        )
        for at, (score, label) in enumerate(zip(scores.tolist(), labels.tolist(), strict=True))
    ]


def calibrated(cases, metric=METRIC, goal=None, embedder=None, **options):
    return calibrate(
        cases,
        metric,
        embedder or HashEmbedder(),
        goal or Goal(max_far=0.1),
        cache=False,
        **options,
    )


@pytest.fixture(scope="module")
def cutoff(tmp_path_factory):
    """A calibration in a file, and the cases it is of."""
    path = tmp_path_factory.mktemp("cutoff") / "cutoff.json"
    cases = answers(80, 80)
    save_calibration(calibrated(cases), path)
    return path, cases


def run(cutoff, embedder=None, metrics=None, **options):
    path, cases = cutoff
    return evaluate(
        cases, metrics, embedder or HashEmbedder(), calibration=path, cache=False, **options
    )


def no_cutoff(found, reason):
    assert isinstance(found, Infeasible)
    assert found.reason is reason
    assert found.message
    assert found.advice
    # Nothing in it could be taken for a cutoff or an error rate of one.
    assert not {"value", "counts", "false_accept_rate"} & set(msgspec.structs.asdict(found))
    return found


# --- R1 ------------------------------------------------------------------------------------------

CHANGES = {
    "kind": "onnx", "model": "other-words", "provider": "api", "revision": "abc",
    "weights": "0" * 64, "tokenizer": "1" * 64, "pooling": "cls", "normalize": False,
    "prefixes": {"query": "query: "}, "max_tokens": 512, "precision": "fp16",
    "window": "truncate", "overlap": 16, "options": {"truncate_dim": "32"},
}  # fmt: skip


def test_r1_an_unchanged_instrument_is_let_through(cutoff):
    assert run(cutoff).cases.total == 160
    assert run(cutoff, Altered()).cases.total == 160


@pytest.mark.parametrize("field", CHANGES)
def test_r1_any_change_of_the_instrument_is_refused(cutoff, field):
    with pytest.raises(InstrumentMismatchError) as caught:
        run(cutoff, Altered(**{field: CHANGES[field]}))
    assert caught.value.exit_code == 6
    assert field in str(caught.value)
    assert "--refresh" in str(caught.value) or "refresh(" in str(caught.value)


def test_r1_every_field_of_an_instrument_is_among_the_changes():
    assert set(CHANGES) | {"dims"} == set(Instrument.__struct_fields__)


def test_r1_another_width_is_refused(cutoff):
    with pytest.raises(InstrumentMismatchError, match="dims 64 then, 32 now"):
        run(cutoff, HashEmbedder(dims=32))


@pytest.mark.parametrize(
    "change",
    [
        {"texts": lambda text: f"query: {text}"},
        {"texts": lambda text: " ".join(text.split()[:8])},
        {"vectors": lambda rows: np.roll(rows, 1, axis=1)},
    ],
    ids=["prefix", "truncation", "other vectors"],
)
def test_r1_an_embedder_that_only_calls_itself_the_same_is_refused(cutoff, change):
    with pytest.raises(
        InstrumentMismatchError, match="called the same and no longer is"
    ) as caught:
        run(cutoff, Altered(**change))
    assert caught.value.exit_code == 6


# --- R2 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_r2_a_score_that_is_no_number_is_refused(bad):
    scores = np.linspace(0, 1, 80)
    scores[7] = bad
    labels = np.arange(80) >= 40
    for fit in (
        lambda: fit_cutoff(scores, labels, max_far=0.1),
        lambda: Calibrator(max_far=0.1).fit(scores, labels),
        lambda: Calibrator(max_far=0.1).fit(np.linspace(0, 1, 80), labels).predict([bad]),
    ):
        with pytest.raises(NonFiniteError) as caught:
            fit()
        assert caught.value.exit_code == 4


class Failing(Altered):
    """Gives a vector that is none for texts with a certain word."""

    def __init__(self, word, row):
        super().__init__()
        self._word, self._row = word, row

    def embed_counted(self, texts, role=Role.TEXT):
        found = super().embed_counted(texts, role)
        vectors = found.vectors.copy()
        for at, text in enumerate(texts):
            if self._word in text.split():
                vectors[at] = self._row
        return Counted(vectors, found.tokens)


@pytest.mark.parametrize(
    ("row", "reason"), [(0.0, "zero vector"), (np.nan, "NaN"), (np.inf, "NaN")]
)
def test_r2_a_vector_without_a_direction_leaves_its_answer_unmeasured(row, reason):
    cases = answers(80, 80)
    found = calibrated(cases, embedder=Failing("variant3", row))
    (why,) = found.data.unmeasured
    assert reason in why
    assert found.data.unmeasured[why] == 1
    assert "answer-3" not in found.sample.ids
    assert found.data.used == 159


@pytest.mark.parametrize("text", ["", " ", "\n\t\u00a0"])
def test_r2_a_blank_answer_is_unmeasured_and_never_replaced(text):
    cases = answers(80, 80)
    cases[3] = msgspec.structs.replace(cases[3], response=text)
    found = calibrated(cases)
    assert sum(found.data.unmeasured.values()) == 1
    assert "answer-3" not in found.sample.ids


def test_r2_when_nothing_can_be_measured_that_is_an_error():
    cases = [msgspec.structs.replace(case, response=" ") for case in answers(20, 20)]
    with pytest.raises(DataError, match="none of the labelled rows could be measured"):
        calibrated(cases)


# --- R3, R4 --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rejects", "accepts"), [(9, 200), (200, 9), (0, 200), (200, 0)])
def test_r3_fewer_than_ten_of_a_class_decide_nothing(rejects, accepts):
    for goal in (Goal(max_far=0.5), Goal(objective="accuracy")):
        no_cutoff(calibrated(told(rejects, accepts), Own(), goal), Reason.TOO_FEW_LABELS)


def test_r4_a_promise_that_the_labels_cannot_back():
    cases = told(58, 80)
    found = no_cutoff(calibrated(cases, Own(), Goal(max_far=0.05)), Reason.PROMISE_OUT_OF_REACH)
    assert found.more_rejects == 1
    assert isinstance(calibrated(told(59, 80), Own(), Goal(max_far=0.05)), Calibration)


def test_r4_the_estimator_raises_when_asked_to_decide():
    scores, labels = np.linspace(0, 1, 80), np.arange(80) >= 40
    fitted = Calibrator(max_far=0.01).fit(scores, labels)
    with pytest.raises(NoCutoffError) as caught:
        fitted.predict(scores)
    assert caught.value.exit_code == 7


# --- R5, R6 --------------------------------------------------------------------------------------


def test_r5_no_promise_from_labels_that_were_picked_by_score():
    cases = told()
    picked = [
        msgspec.structs.replace(case, metadata={"sampling": "active"}) if at % 2 else case
        for at, case in enumerate(cases)
    ]
    with pytest.raises(DataError, match="80 of 160 labels say sampling: active") as caught:
        calibrated(picked, Own())
    assert caught.value.exit_code == 4
    assert isinstance(calibrated(picked, Own(), Goal(objective="f1")), Calibration)
    without = calibrated(picked, Own(), leave_out_active=True)
    assert without.data.used == 80
    assert {case.id for at, case in enumerate(picked) if at % 2}.isdisjoint(without.sample.ids)


def test_r6_no_promise_from_the_rows_that_a_metric_was_fitted_on():
    cases = told()
    fitted = Own(fitted_on=(cases_digest(cases),))
    with pytest.raises(DataError, match="own was fitted on these very cases") as caught:
        calibrated(cases, fitted)
    assert caught.value.exit_code == 4
    assert isinstance(calibrated(told(gap=3.1), fitted), Calibration)


# --- R7, R8 --------------------------------------------------------------------------------------


def test_r7_scores_that_are_all_the_same():
    cases = [msgspec.structs.replace(case, response="it is 0.5") for case in told()]
    no_cutoff(calibrated(cases, Own()), Reason.CONSTANT_SCORES)


def test_r8_scores_that_run_the_wrong_way():
    no_cutoff(calibrated(told(), Own(sign=-1.0)), Reason.INVERTED_SCORES)


# --- R9 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["rule"].update(value=0.0), "edited after it was written"),
        (lambda d: d.update(schema="closecall-calibration/9"), "schema"),
    ],
    ids=["edited", "another schema"],
)
def test_r9_a_file_that_was_edited_or_is_of_another_version(cutoff, tmp_path, change, words):
    document = json.loads(cutoff[0].read_text(encoding="utf-8"))
    change(document)
    path = tmp_path / "cutoff.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(CalibrationFileError, match=words) as caught:
        run((path, cutoff[1]))
    assert caught.value.exit_code == 4


# --- R10 -----------------------------------------------------------------------------------------


def test_r10_scores_of_two_instruments_are_never_compared_in_a_run(cutoff):
    found = run(cutoff, HashEmbedder(model="other"), uncalibrated=True)
    assert found.watched == ()
    assert found.uncalibrated
    assert found.exit_code != 0
    assert run(cutoff).watched


def test_r10_two_models_are_compared_by_what_each_does_with_its_own_scores():
    rng = np.random.default_rng(0)
    labels = np.arange(200) >= 100
    one = rng.normal(size=200) + 3 * labels
    other = rng.normal(size=200) + 2 * labels
    a = labelled(one, labels, decimals=6)
    plain = compare_models(a, labelled(other, labels, decimals=None), Goal(max_far=0.1))
    # On a scale of its own, a thousand times as wide: nothing changes.
    scaled = compare_models(
        a, labelled(1000 * other - 7, labels, decimals=None), Goal(max_far=0.1)
    )
    assert scaled == plain
    moved = labels.copy()
    moved[[0, 199]] = moved[[199, 0]]
    for b in (labelled(other[:150], labels[:150], decimals=6), labelled(other, moved, decimals=6)):
        with pytest.raises(DataError, match="same answers"):
            compare_models(a, b, Goal(max_far=0.1))


# --- R11, R12 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["embed_answer_similarity", "embed_response_context"])
def test_r11_a_cutoff_of_another_metric(cutoff, metric):
    with pytest.raises(InstrumentMismatchError, match=METRIC) as caught:
        run(cutoff, metrics=metric)
    assert caught.value.exit_code == 6
    assert metric in str(caught.value)
    with pytest.raises(InstrumentMismatchError):
        run(cutoff, metrics=metric, uncalibrated=True)


def test_r12_a_metric_of_another_version(tmp_path):
    cases, path = told(), tmp_path / "cutoff.json"
    save_calibration(calibrated(cases, Own()), path)
    assert evaluate(cases, Own(), HashEmbedder(), calibration=path, cache=False).cases.total == 160
    with pytest.raises(InstrumentMismatchError, match="version 1 of own, here is 2") as caught:
        evaluate(cases, Own(version="2"), HashEmbedder(), calibration=path, cache=False)
    assert caught.value.exit_code == 6


# --- no way around -------------------------------------------------------------------------------


def test_there_is_no_way_to_force_a_cutoff_on_something_else(cutoff):
    with pytest.raises(TypeError):
        run(cutoff, HashEmbedder(model="other"), force=True)
    with pytest.raises(UsageError, match="uncalibrated is about calibrations"):
        evaluate(cutoff[1], METRIC, HashEmbedder(), uncalibrated=True, cache=False)
    found = run(cutoff, HashEmbedder(model="other"), uncalibrated=True)
    assert found.uncalibrated
    assert found.exit_code != 0
    assert load_calibration(cutoff[0]).instrument.model == "hash-words"
