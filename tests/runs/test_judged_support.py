"""A judge that weighs what a pair model says: fitted, kept in its file, used, and made again."""

import functools

import msgspec
import pytest
from judged_rows import Quick, made, rows
from number_reader import NumberReader, put

from closecall import evaluate, load_calibration, refresh, save_calibration
from closecall.calibration.head import judge as fitting
from closecall.calibration.records import Infeasible
from closecall.errors import CalibrationFileError, InstrumentMismatchError, UsageError
from closecall.report import calibration_judge
from closecall.runs.judging import Judging


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    """The error of a gain, which is not the matter here, from 50 draws instead of 500."""
    monkeypatch.setattr(fitting, "gain", functools.partial(fitting.gain, resamples=50))


@pytest.fixture
def reader(monkeypatch, tmp_path):
    return put(monkeypatch, tmp_path, NumberReader())


@pytest.fixture
def calibration(reader):
    found = made(metric="fitted_judge")
    assert not isinstance(found, Infeasible), found
    return found


def test_by_default_it_is_weighed_and_stands_in_the_identity(calibration):
    head = calibration.judge.head
    assert head.features[1] == "answer_support"
    assert head.support == "2+abcdef123456"
    assert dict(zip(head.features, head.coefficients, strict=True))["answer_support"] > 0.5
    assert calibration.metric.id == "fitted_judge"
    assert calibration.metric.version.startswith("1+support:2+abcdef123456+")
    # Alone it is one more score that the judge has to beat.
    assert calibration.judge.gain.tried == 7


def test_the_report_says_whether_it_is_among_the_features(calibration):
    assert "the pair model's word among them, fitted to 320 labels" in lines(calibration)[0]
    off = made(metric="fitted_judge:support=false")
    assert "references, fitted to 320 labels" in lines(off)[0]


def lines(found):
    return list(calibration_judge.lines(found))


def test_each_pair_is_read_once_whoever_asks_for_it(reader, calibration):
    assert calibration.data.used == 320
    assert len(reader.pairs) == len(set(reader.pairs)) <= 320


def test_switched_off_the_judge_is_the_one_there_was_before(reader, monkeypatch, tmp_path):
    off = made(metric="fitted_judge:support=false")
    assert reader.asked == []
    assert off.judge.head.support is None
    assert off.metric.version.startswith("1+")
    put(monkeypatch, tmp_path, None)
    assert msgspec.json.encode(made(metric="fitted_judge").judge) == msgspec.json.encode(off.judge)
    run = evaluate(rows(20, seed=9), embedder=Quick(), calibration=off, cache=False)
    assert run.cases.unmeasured == 0


def test_a_run_reads_its_pairs_and_decides_by_them(calibration, reader, tmp_path):
    save_calibration(calibration, tmp_path / "judge.json")
    again = load_calibration(tmp_path / "judge.json")
    assert again == calibration
    reader.asked.clear()
    fresh = rows(60, seed=9)
    run = evaluate(fresh, embedder=Quick(), calibration=tmp_path / "judge.json", cache=False)
    assert [len(call) for call in reader.asked] == [len({r["response"] for r in fresh})]
    for row in run:
        told = row.results[0].measurement.details["contributions"]
        assert any(part["feature"] == "answer_support" for part in told)


def test_with_another_pair_model_it_is_refused_and_fitted_anew_from_its_own_texts(
    calibration, monkeypatch, tmp_path
):
    save_calibration(calibration, tmp_path / "judge.json")
    put(monkeypatch, tmp_path, NumberReader("fedcba654321"))
    found = load_calibration(tmp_path / "judge.json")  # it can be read and shown
    with pytest.raises(InstrumentMismatchError, match="--refresh"):
        evaluate(rows(4), embedder=Quick(), calibration=tmp_path / "judge.json", cache=False)
    after = refresh(found, Quick(), cache=False).after
    assert after.judge.head.support == "2+fedcba654321"
    assert after.metric.version != found.metric.version
    assert evaluate(rows(4), embedder=Quick(), calibration=after, cache=False).cases.total == 4


def test_a_refresh_keeps_it_out_where_it_was_out(reader):
    off = made(metric="fitted_judge:support=false")
    assert refresh(off, Quick(), cache=False).after.judge == off.judge
    assert reader.asked == []


def test_a_file_whose_version_was_edited_is_refused(calibration, tmp_path):
    path = tmp_path / "judge.json"
    save_calibration(calibration, path)
    text = path.read_text("utf-8").replace("1+support:2+abcdef123456", "1+support:2+abcdef123457")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CalibrationFileError, match=r"digest|version"):
        load_calibration(path)


@pytest.mark.parametrize(
    ("name", "sides", "support"),
    [
        ("fitted_judge", None, None),
        ("embed_answer_similarity", None, None),
        ("fitted_judge:support=false", None, False),
        ("fitted_judge:support=true:sides=context", "context", True),
        (" fitted_judge:sides=references ", "references", None),
    ],
)
def test_what_a_judge_may_be_asked_for(name, sides, support):
    from judged_rows import GOAL

    asked = Judging.of(True, name, GOAL)
    assert (asked.sides, asked.support) == (sides, support)


@pytest.mark.parametrize(
    "name",
    [
        "fitted_judge:support=maybe", "fitted_judge:colour=red", "fitted_judge:sides=both",
        "fitted_judge:support=true:support=true", "token_f1:support=false",
    ],
)  # fmt: skip
def test_what_it_may_not(name):
    with pytest.raises(UsageError, match="fitted_judge:support=false"):
        made(metric=name)
