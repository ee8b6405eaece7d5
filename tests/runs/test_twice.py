"""Fast runs: integers where they settle it, float32 where they do not, and it is said."""

import json

import msgspec
import numpy as np
import pytest

from closecall import AnswerSimilarity, Case
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import ConfigurationError, UsageError
from closecall.fast.noise import MetricNoise, recorded_noise
from closecall.instrument import Instrument
from closecall.records import Measured
from closecall.runs.evaluate import evaluate
from closecall.runs.resuming import resume
from closecall.runs.twice import Twice

METRIC = "embed_answer_similarity"
BAND = 2.0


class Angles:
    """Puts a text that is a number at that cosine from the reference ``0``."""

    def __init__(self, name, off):
        self.instrument = Instrument(kind="test", model=name, provider="local", dims=2)
        self.off = off

    def embed(self, texts, role=None):
        cosines = [1.0 if text == "reference" else float(text) + self.off for text in texts]
        return np.array([[c, (1 - c * c) ** 0.5] for c in cosines], dtype=np.float32)


def twice(off=0.01):
    noise = MetricNoise(
        band=BAND, pairs=1, median=0, p99=0, largest=1, tested=1, cutoffs=1, flips=0, flip_bound=1
    )
    twin = CachedEmbedder(Angles("twin", off))
    return Twice(twin, {METRIC: noise}, {METRIC: (70.0,)}), CachedEmbedder(Angles("exact", 0.0))


def cases(*cosines):
    return [
        Case(id=f"{at}", response=f"{cosine}", references=("reference",))
        for at, cosine in enumerate(cosines)
    ]


def measured(one):
    return one.value, one.details.get("precision")


def test_only_cases_near_the_cutoff_are_computed_again():
    measure, exact = twice()
    (found,) = measure([AnswerSimilarity()], cases(0.5, 0.695, 0.9), exact)
    assert [measured(one) for one in found] == [
        (pytest.approx(51, abs=1e-3), "int8"),
        (pytest.approx(69.5, abs=1e-3), None),
        (pytest.approx(91, abs=1e-3), "int8"),
    ]
    counts = measure.counts
    assert (counts.cases, counts.again) == (3, 1)
    assert counts.largest[METRIC] == pytest.approx(1.0, abs=1e-3)
    assert "1 of 3 cases" in counts.words


def test_the_verdict_of_a_case_in_the_band_is_float32s():
    measure, exact = twice(off=0.01)
    (found,) = measure([AnswerSimilarity()], cases(0.695), exact)
    assert found[0].value < 70  # in integers it was 70.5


def test_what_integers_cannot_measure_is_measured_in_float32():
    measure, exact = twice(off=float("nan"))
    (found,) = measure([AnswerSimilarity()], cases(0.5), exact)
    assert isinstance(found[0], Measured)
    assert measured(found[0]) == (pytest.approx(50, abs=1e-3), None)


def test_a_case_without_a_response_stays_unmeasured():
    measure, exact = twice()
    (found,) = measure([AnswerSimilarity()], [Case(id="x", references=("reference",))], exact)
    assert not isinstance(found[0], Measured)


def test_a_score_that_moves_further_than_the_band_ends_the_run():
    measure, exact = twice(off=0.05)
    with pytest.raises(ConfigurationError, match=r"moved by 5\.0000"):
        measure([AnswerSimilarity()], cases(0.66), exact)


ROWS = [
    {"id": "a", "response": "Refunds take five working days.", "reference": "Five days."},
    {"id": "b", "response": "The moon is far away.", "reference": "Parcels arrive in a week."},
    {"id": "c", "response": "Delivery costs 5 euros.", "reference": "Shipping is 5 EUR."},
    {"id": "d", "response": "We ship to Norway.", "reference": "Norway is delivered to."},
]


def test_a_fast_run_decides_as_a_plain_one_and_says_who_measured(tmp_path):
    pytest.importorskip("onnx", reason="the twin is made with onnx")
    plain = evaluate(ROWS, METRIC, cache=False)
    fast = evaluate(ROWS, METRIC, cache=False, fast=True, aef=tmp_path / "run")
    assert [row.state for row in fast] == [row.state for row in plain]
    assert fast.recomputed.cases == len(ROWS)
    assert fast.header.instrument_digest != plain.header.instrument_digest
    assert fast.header.definition_digest != plain.header.definition_digest
    told = [row.results[0].measurement.details.get("precision") for row in fast]
    assert told.count("int8") == len(ROWS) - fast.recomputed.again
    bands = recorded_noise().metrics[METRIC]
    for own, other in zip(fast, plain, strict=True):
        off = own.results[0].measurement.value - other.results[0].measurement.value
        assert abs(off) <= bands.band


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "alignment_f1"}, "not known"),
        ({"metrics": "answer_alignment", "cutoffs": {"answer_alignment": 0.6}}, "not known"),
    ],
)
def test_what_is_not_known_in_integers_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        evaluate(ROWS, cache=False, fast=True, **options)


def test_another_embedder_is_refused():
    with pytest.raises(UsageError, match="bundled model"):
        evaluate(ROWS, METRIC, Angles("mine", 0), cache=False, fast=True)


def test_a_fast_run_goes_on_as_one_and_counts_as_one(tmp_path, monkeypatch):
    pytest.importorskip("onnx", reason="the twin is made with onnx")
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 2)
    source = tmp_path / "cases.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    scores = [row.results[0].measurement.value for row in evaluate(ROWS, METRIC, cache=False)]
    # Of each half one case lies at the cutoff, and is measured twice.
    near = {METRIC: (scores[0] + scores[2]) / 2}
    band = abs(scores[0] - scores[2]) / 2 + 3
    record = recorded_noise()
    wide = msgspec.structs.replace(record.metrics[METRIC], band=band)
    changed = msgspec.structs.replace(record, metrics={**record.metrics, METRIC: wide})
    monkeypatch.setattr("closecall.runs.twice.recorded_noise", lambda: changed)

    class StopError(Exception):
        pass

    def stop(done, _total):
        if done:
            raise StopError

    asked = {"cutoffs": near, "cache": False, "fast": True}
    with pytest.raises(StopError):
        evaluate(source, METRIC, aef=tmp_path / "run", progress=stop, **asked)
    went_on = resume(tmp_path / "run", cache=False)
    assert went_on.header.asked["fast"] is True
    assert went_on.header.instrument.precision == "int8, fp32 near cutoffs"
    assert went_on.cases.total == len(ROWS)
    at_once = evaluate(source, METRIC, aef=tmp_path / "other", **asked).recomputed
    assert went_on.recomputed.cases == at_once.cases == len(ROWS)
    assert (
        went_on.recomputed.again
        == at_once.again
        == sum(abs(score - near[METRIC]) < band for score in scores)
    )
