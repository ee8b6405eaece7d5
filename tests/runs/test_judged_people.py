"""On answers that people judged: what a judge tells, and what its cutoff then does."""

import numpy as np

from closecall import Goal, evaluate, open_dataset
from closecall.calibration.curve import curve_of
from closecall.calibration.head.crossed import Training, crossed
from closecall.calibration.head.gain import gain
from closecall.calibration.inputs import labelled
from closecall.metrics.fitted.features import REFERENCES
from closecall.metrics.fitted.measure import FEATURES, JudgeFeatures
from closecall.metrics.registry import load_metrics
from closecall.records import Label, Measured
from closecall.runs.judging import SINGLES


def test_a_judge_of_answers_by_twelve_systems_tells_more_and_gets_no_better_cutoff(shared_data):
    names = SINGLES["references"]
    metrics = [JudgeFeatures(), *load_metrics(list(names))]
    cases = list(open_dataset(shared_data / "answers" / "nq301.jsonl"))
    rows = [
        (row.case, [result.measurement for result in row.results])
        for row in evaluate(cases, metrics, cache=False)
    ]
    assert all(isinstance(one, Measured) for _, found in rows for one in found)
    training = Training(
        np.array([[found[0].details[FEATURES][f.name] for f in REFERENCES] for _, found in rows]),
        np.array([case.label is Label.ACCEPT for case, _ in rows]),
        tuple(case.group for case, _ in rows),
    )
    singles = {
        name: np.array([found[at].value for _, found in rows]) for at, name in enumerate(names, 1)
    }
    logits = crossed(training, REFERENCES, "references", 0, "").logits

    def scored(values):
        return labelled(values, training.accept, training.groups, decimals=6)

    found = gain(
        scored(logits), {name: scored(one) for name, one in singles.items()}, Goal(max_far=0.1)
    )
    assert found.auc > max(0.83, found.best_auc)

    def at_the_limit(values):
        curve = curve_of(scored(values))
        return curve.true_accepts[curve.false_accepts <= 0.1 * curve.rejects][-1] / curve.accepts

    assert at_the_limit(logits) > max(map(at_the_limit, singles.values())) + 0.03
    # What is issued lies higher, where it is no better.
    assert found.judge < found.best
    assert not found.kept
    assert np.mean((logits > 0) == training.accept) > 0.78
