"""``calibrate --judge``: what it prints, what it writes, and what is decided with it."""

import functools
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))
from judged_rows import CANARIES, rows

from closecall import load_calibration
from closecall.calibration.head import judge

OUT = Path("judge.json")
MADE = []


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _canaries_once(monkeypatch):
    monkeypatch.setattr("closecall.runs.calibrate.record_canaries", CANARIES)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    """The error of a gain, which is not the matter here, from 50 draws instead of 500."""
    monkeypatch.setattr(judge, "gain", functools.partial(judge.gain, resamples=50))


@pytest.fixture
def calibrate(cli, write, cache):
    def call(*args, cases=None):
        path = write(*(rows() if cases is None else cases))
        # The rows are made of words without a sentence, which say nothing to a pair model.
        plain = (
            ("-m", "fitted_judge:support=false") if "--judge" in " ".join(map(str, args)) else ()
        )
        return cli("calibrate", path, "--max-far", "0.2", *plain, *args, "--cache-dir", cache)

    return call


@pytest.fixture
def judged(calibrate):
    """What the command said when it wrote ``OUT``; fitted once for all that ask for it."""
    if not MADE:
        said = calibrate("--judge", "-o", OUT)
        assert said.code == 0, said
        MADE.append((said, OUT.read_bytes()))
    said, content = MADE[0]
    OUT.write_bytes(content)
    return said


def test_it_says_why_it_was_kept_what_it_goes_by_and_that_it_is_not_proved(judged):
    said = judged
    found = load_calibration(OUT)
    out = " ".join(said.out.split())
    assert said.out.startswith(f"Cutoff {found.accept_cutoff.value:.10g} on fitted_judge(")
    assert "Approximate guarantee: at most 20% of wrong answers are accepted." in out
    assert "Judge: 14 features of response and references, fitted to 320 labels" in out
    gain, counts = found.judge.gain, found.accept_cutoff.counts
    assert (
        "Kept: at the cutoff each would get from these 320 labels for at most 20% of wrong answers "
        f"accepted, it accepts {counts.true_accepts / counts.accepts:.1%} of good ones, "
        f"{gain.single} alone {gain.best:.1%}; +" in out
    )
    assert "more than one standard error of" in out
    assert f"the promise is approximate for the judge and exact for {gain.single}." in out
    assert "a number of the reference is missing or contradicted (-" in out
    same = counts.true_accepts + counts.true_rejects
    assert f"what the person said of {same} of 320 labelled answers" in out
    assert "Not proved, because the labels that chose the cutoff trained the judge too" in out
    assert "a judge is kept the more easily the more its cutoff lets through" in out
    assert "Proof:" not in out


def test_a_run_decides_and_explains_with_the_file_alone(judged, cli, write, cache):
    answers = write(*rows(12, seed=5), name="answers.jsonl")
    said = cli("eval", answers, "--calibration", OUT, "--format", "json", "--cache-dir", cache)
    assert said.code in (0, 1), said
    assert "fitted_judge" in said.out
    assert '"contributions"' in said.out
    one = rows(1, seed=6)[0]
    scored = cli("score", one["reference"], one["reference"], "--calibration", OUT, "--json")
    assert scored.code == 0, scored
    assert "fitted_judge" in scored.out
    assert scored.json["calibrated"] is True
    alone = cli("eval", answers, "-m", "fitted_judge")
    assert alone.code == 2
    assert "calibrate FILE --judge" in alone.err


def test_it_is_made_again_from_its_own_texts(judged, cli, cache):
    said = cli("calibrate", "--refresh", OUT, "--cache-dir", cache)
    assert said.code == 0, said
    assert "0 of 320 labelled answers are decided otherwise now." in " ".join(said.out.split())
    assert load_calibration(OUT).judge.head.features


def test_with_half_to_train_it_is_proved(calibrate):
    said = calibrate("--judge-split", "--no-lock", "-o", OUT, cases=rows(760))
    assert said.code == 0, said
    out = " ".join(said.out.split())
    assert "Proof: this procedure breaks that promise" in out
    trained = len(load_calibration(OUT).sample.trained)
    assert f"760 rows: {trained} to train the judge, {760 - trained} used." in out
    assert "none of which trained it" in out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--judge", "--judge-split"), "--judge and --judge-split exclude each other"),
        (("--judge", "-m", "token_f1"), "cannot be fitted for token_f1"),
        (("--judge", "--guarantee", "average"), "approximate of itself"),
        (("-m", "fitted_judge"), "calibrate FILE --judge"),
    ],
)
def test_what_does_not_go_together_exits_with_2(args, said, calibrate):
    found = calibrate(*args, cases=rows(20))
    assert found.code == 2
    assert said in " ".join(found.err.split())


def test_too_few_labels_exit_with_7_and_name_another_metric(calibrate):
    said = calibrate("--judge", "-o", OUT, cases=rows(40))
    assert said.code == 7
    out = " ".join(said.out.split())
    assert "No cutoff: too few labels to fit a judge" in out
    assert "-m answer_alignment" in out
    assert not OUT.exists()
