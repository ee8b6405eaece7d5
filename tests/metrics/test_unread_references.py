"""A reference in a script the model does not know is no reason to leave the case unmeasured."""

import numpy as np
import pytest

from closecall import AnswerSimilarity, Case, EmbeddingSimilarity, evaluate
from closecall.embedders.base import Embedded, Failure, TextKey
from closecall.records import Measured, Unmeasured

READ = Embedded(np.array([1.0, 0.0], dtype=np.float32))
OTHER = Embedded(np.array([0.6, 0.8], dtype=np.float32))
UNREAD = Failure("the model knows no word or sign of it", unreadable=True)
FAILED = Failure("the provider did not answer")
METRICS = [AnswerSimilarity(), EmbeddingSimilarity(), EmbeddingSimilarity(references="mean")]


def measure(metric, **references):
    case = Case(id="1", response="answer", references=tuple(references))
    vectors = {TextKey(text): outcome for text, outcome in references.items()}
    return metric.measure(case, vectors | {TextKey("answer"): READ})


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.spec.id)
def test_the_readable_ones_are_compared_and_the_others_named(metric):
    found = measure(metric, a=UNREAD, b=OTHER, c=UNREAD)
    assert isinstance(found, Measured)
    assert found.similarity == pytest.approx(0.6)
    assert found.details["unreadReferences"] == [0, 2]
    assert (found.details["references"], found.details["bestReference"]) == (1, 1)
    assert "unreadReferences" not in measure(metric, a=READ, b=OTHER).details


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.spec.id)
def test_none_readable_or_a_failure_is_not_measured(metric):
    for outcomes in ({"a": UNREAD, "b": UNREAD}, {"a": READ, "b": FAILED}):
        assert isinstance(measure(metric, **outcomes), Unmeasured)


def test_with_the_bundled_model():
    cases = [
        {
            "response": "The capital is Athens.",
            "references": ["Athens", "\u0e40\u0e2d\u0e40\u0e18\u0e19\u0e2a\u0e4c"],
        },
        {
            "response": "The capital is Athens.",
            "references": ["\u0e40\u0e2d\u0e40\u0e18\u0e19\u0e2a\u0e4c"],
        },
    ]
    one, two = evaluate(cases, cache=False)
    assert one.results[0].measurement.details["unreadReferences"] == [1]
    assert isinstance(two.results[0].measurement, Unmeasured)
