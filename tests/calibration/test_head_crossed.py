"""No row is scored by a head that has seen its group, and the same rows give the same head."""

import numpy as np
import pytest
from made_features import FEATURES, normal_rows
from sklearn.metrics import roc_auc_score

from closecall.calibration.head import crossed as module
from closecall.calibration.head.crossed import Training, crossed, fit_head, logits_of, parted
from closecall.metrics.fitted.features import REFERENCES

MIDDLE = REFERENCES[:14]


def some(rows, count=14):
    return rows._replace(values=rows.values[:, :count])


def test_a_group_is_in_one_part_and_parts_hold_about_the_same():
    rows = normal_rows(400, np.random.default_rng(0), a_group=4, rejects=0.25)
    part = parted(rows.groups, rows.accept, 5, 0, "judge")
    assert set(part.tolist()) == set(range(5))
    for name in set(rows.groups):
        assert len({part[at] for at, own in enumerate(rows.groups) if own == name}) == 1
    rejects = np.bincount(part[~rows.accept])
    assert rejects.max() - rejects.min() <= 4
    assert (parted(rows.groups, rows.accept, 5, 1, "judge") != part).any()
    assert (parted(rows.groups, rows.accept, 5, 0, "penalty") != part).any()


def test_the_order_of_rows_changes_neither_the_scores_nor_the_head():
    rows = some(normal_rows(300, np.random.default_rng(1), a_group=3))
    turned = np.random.default_rng(2).permutation(300)
    other = Training(
        rows.values[turned], rows.accept[turned], tuple(rows.groups[at] for at in turned)
    )
    one = crossed(rows, MIDDLE, "references", 0, "")
    two = crossed(other, MIDDLE, "references", 0, "")
    assert np.abs(one.logits[turned] - two.logits).max() < 1e-5
    assert one.penalties == two.penalties
    assert fit_head(rows, MIDDLE, "references", 0, "") == fit_head(
        other, MIDDLE, "references", 0, ""
    )


def test_each_score_is_that_of_a_head_fitted_without_the_group(monkeypatch):
    rows = some(normal_rows(300, np.random.default_rng(3), a_group=3))
    seen = []
    real = module.fit_head

    def noted(training, *rest):
        seen.append((set(training.groups), real(training, *rest)))
        return seen[-1][1]

    monkeypatch.setattr(module, "fit_head", noted)
    found = crossed(rows, MIDDLE, "references", 0, "")
    assert len(seen) == 5
    for at, name in enumerate(rows.groups):
        (head,) = (head for groups, head in seen if name not in groups)
        (own,) = logits_of(head, rows.values[at : at + 1])
        assert found.logits[at] == pytest.approx(own, abs=1e-9)


def test_features_that_only_name_the_group_gain_nothing():
    """Rows of a group are alike and have one label: whoever has seen the group knows the label."""
    rng = np.random.default_rng(4)
    names = np.arange(90)
    labels = rng.permutation(np.repeat([False, True], 45))
    groups = np.repeat(names, 5)
    values = rng.normal(size=(90, FEATURES))[groups] + 0.05 * rng.normal(size=(450, FEATURES))
    rows = Training(values, labels[groups], tuple(f"g{at}" for at in groups))
    honest = crossed(rows, REFERENCES, "references", 0, "").logits
    leaky = crossed(
        rows._replace(groups=tuple(map(str, range(450)))), REFERENCES, "references", 0, ""
    ).logits
    assert roc_auc_score(rows.accept, leaky) > 0.7
    assert abs(roc_auc_score(rows.accept, honest) - 0.5) < 0.17


def test_a_feature_that_is_the_same_everywhere_counts_for_nothing():
    rows = some(normal_rows(300, np.random.default_rng(5)))
    rows.values[:, 2] = 0.25
    head = fit_head(rows, MIDDLE, "references", 0, "")
    assert (head.means[2], head.sds[2], head.coefficients[2]) == (0.25, 1.0, 0.0)
    assert head.penalty in module.PENALTIES
    assert all(round(value, 6) == value for value in head.coefficients)


def test_the_penalty_is_the_one_with_the_least_loss_on_groups_held_out():
    """Noise asks for a strong penalty, a clear signal for a weak one."""
    rng = np.random.default_rng(6)
    noise = Training(
        rng.normal(size=(200, 14)), rng.random(200) < 0.5, tuple(map(str, range(200)))
    )
    clear = some(normal_rows(600, rng, shift=3 * np.eye(FEATURES)[0]))
    assert fit_head(noise, MIDDLE, "references", 0, "").penalty == 0.03
    assert fit_head(clear, MIDDLE, "references", 0, "").penalty > 0.1
