"""Training of the pair model: the same again, and from a checkpoint as if it had not stopped."""

from pathlib import Path

import pytest
import tiny_pair

pytest.importorskip("torch", reason="the extra 'torch' is not installed")
pytest.importorskip("transformers", reason="the extra 'torch' is not installed")

import numpy as np
import torch
from pair.calibrating import calibrated, figures
from pair.rows import Row
from pair.training import Coded, Plan, Trainer, batches, logits, rate_at
from transformers import AutoModelForSequenceClassification

RNG = np.random.default_rng(5)
CODED = Coded(
    ids=[[2, *RNG.integers(5, 12, size=n % 7 + 2).tolist(), 3] for n in range(60)],
    types=[[0] * (n % 7 + 4) for n in range(60)],
    labels=[float(n % 2) for n in range(60)],
)
PLAN = Plan(seed=1, epochs=2, tokens=64, rows=8, bucket=20)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    tiny_pair.write(folder)
    return folder / "trained"


def start(folder: Path):
    return AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )


def test_each_row_is_in_one_batch_of_an_epoch_and_none_is_too_large():
    for epoch in (0, 1):
        found = batches(CODED, PLAN, epoch)
        assert sorted(row for batch in found for row in batch) == list(range(60))
        for batch in found:
            assert len(batch) <= PLAN.rows
            assert len(batch) * max(len(CODED.ids[row]) for row in batch) <= PLAN.tokens
    assert batches(CODED, PLAN, 0) == batches(CODED, PLAN, 0)
    assert batches(CODED, PLAN, 0) != batches(CODED, PLAN, 1)


def test_stopped_and_resumed_it_ends_where_it_would_have_ended(trained, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    straight = Trainer(start(trained), CODED, PLAN, whole)
    steps = [step for step, _, _ in straight.run(every=3)]
    assert steps[-1] == straight.steps
    stopped = Trainer(start(trained), CODED, PLAN, parts)
    next(stopped.run(every=3))
    resumed = Trainer(start(trained), CODED, PLAN, parts)
    resumed.resume()
    assert resumed.done == 3
    assert [step for step, _, _ in resumed.run(every=3)] == steps[1:]
    assert np.array_equal(logits(straight.model, CODED), logits(resumed.model, CODED))


def test_word_embeddings_stay_and_the_rest_learns(trained, tmp_path):
    model = start(trained)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for _ in Trainer(model, CODED, PLAN, tmp_path).run():
        pass
    after = model.state_dict()
    words = "bert.embeddings.word_embeddings.weight"
    assert torch.equal(before[words], after[words])
    assert not torch.equal(before["classifier.weight"], after["classifier.weight"])


def test_the_rate_rises_and_falls_to_nothing_and_does_so_once_more():
    rates = [rate_at(PLAN, step, turn=40, steps=60) for step in range(1, 61)]
    assert rates.index(max(rates)) == 3  # a tenth of the first 40
    assert max(rates) == pytest.approx(PLAN.rate)
    assert rates[41] == pytest.approx(PLAN.rate)  # a tenth of the last 20
    assert rates[39] == rates[59] == 0
    assert min(rates) >= 0
    once = [rate_at(PLAN._replace(again=0), step, turn=40, steps=40) for step in range(1, 41)]
    assert once == rates[:40]


def test_a_checkpoint_of_another_run_is_refused(trained, tmp_path):
    next(Trainer(start(trained), CODED, PLAN, tmp_path).run(every=3))
    with pytest.raises(SystemExit, match="of another run"):
        Trainer(start(trained), CODED, PLAN._replace(seed=2), tmp_path).resume()


def test_calibration_is_the_one_that_loses_least():
    scipy = pytest.importorskip("scipy.optimize")
    rows = [Row("a", "b", bool(n % 3), "answers/x", "g") for n in range(90)]
    rows += [Row("a", "b", True, "made roles", "g")] * 10
    found = np.random.default_rng(0).normal(size=100) + [row.accept for row in rows]
    scale, offset = calibrated(rows, found)
    x, y = found[:90], np.array([row.accept for row in rows[:90]])
    ones, zeros = y.sum(), (~y).sum()
    target = np.where(y, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    weight = np.where(y, 0.5 / ones, 0.5 / zeros)

    def loss(line):
        z = line[0] * x + line[1]
        return (weight * (np.logaddexp(0, z) - target * z)).sum()

    theirs = scipy.minimize(loss, [1.0, 0.0], tol=1e-12).x
    assert np.allclose([scale, offset], theirs, atol=1e-4)


def test_figures_count_each_kind():
    rows = [Row("", "", True, "a", ""), Row("", "", False, "a", ""), Row("", "", True, "b", "")]
    assert figures(rows, np.array([2.0, -1.0, -3.0])) == {
        "all": {"n": 3, "right": 2, "auc": 0.5},
        "a": {"n": 2, "right": 2, "auc": 1.0},
        "b": {"n": 1, "right": 0},
    }
