"""A cascade: which rung decides which case, what it costs, and what the promises add up to."""

import json

import numpy as np
import pytest

from closecall import Goal, calibrate, evaluate, save_calibration
from closecall.cli import run as command_line
from closecall.errors import RunFolderError, UsageError
from closecall.records import Case, Label, State
from closecall.report.overview import overview
from closecall.runs.cascade import promises
from closecall.runs.reader import open_run
from closecall.runs.stored import load_run
from closecall.testing import HashEmbedder

BOTH = Goal(max_far=0.1, max_frr=0.1)
WORDS = [f"word{n}" for n in range(400)]


def cases(count, seed, label=True):
    """Answers that hold more of their reference where they are right; some of each in between."""
    draws = np.random.PCG64(seed).random_raw((count, 12)) % 10_000
    made = []
    for n, row in enumerate(draws.tolist()):
        good = n % 2 == 0
        reference = [WORDS[value % 400] for value in row[:8]]
        kept = 5 + row[8] % 4 if good else row[8] % 6
        noise = [f"noise{value}" for value in row[9 : 9 + 8 - kept]]
        said = reference[:kept] + noise
        made.append(
            Case(
                id=f"c{n}",
                references=(" ".join(reference),),
                response=" ".join(said) or "nothing",
                label=(Label.ACCEPT if good else Label.REJECT) if label else None,
            )
        )
    return made


@pytest.fixture(scope="module")
def rungs():
    """Two calibrations with two cutoffs each, of metrics that err on different answers."""
    found = [
        calibrate(cases(400, 7), metric, HashEmbedder(), BOTH, cache=False, lock=False)
        for metric in ("chrf", "embed_answer_similarity")
    ]
    assert all(one.reject_cutoff is not None for one in found)
    return found


def cascaded(rows, rungs, embedder=None, **more):
    more.setdefault("guards", "off")
    return evaluate(
        rows,
        None,
        embedder or HashEmbedder(),
        calibration=rungs,
        cascade=True,
        cache=False,
        **more,
    )


def alone(rows, rung, **more):
    return [
        row.results[0].state
        for row in evaluate(
            rows, None, HashEmbedder(), calibration=rung, cache=False, guards="off", **more
        )
    ]


def test_each_case_is_decided_by_the_first_rung_that_can(rungs):
    fresh = cases(300, 8)
    run = cascaded(fresh, rungs)
    first, second = alone(fresh, rungs[0]), alone(fresh, rungs[1])
    for row, one, two in zip(run, first, second, strict=True):
        decided = one in (State.PASSED, State.FAILED)
        assert row.state is (one if decided else two)
        states = [result.state for result in row.results]
        assert states == [one, State.NOT_APPLICABLE if decided else two]
        if decided:
            assert row.results[1].reason == "decided before, by chrf"
            assert row.score == row.results[0].measurement.score
        else:
            assert row.score == row.results[1].measurement.score
    assert {State.PASSED, State.FAILED, State.INCONCLUSIVE} <= {row.state for row in run}
    unsure = sum(one is State.INCONCLUSIVE for one in first)
    assert 0 < unsure < 300
    assert [m.asked for m in run.metrics] == [300, unsure]


def test_only_what_moves_on_is_embedded(rungs):
    fresh = cases(300, 8)
    seen = HashEmbedder()
    run = cascaded(fresh, rungs, seen)
    moved = {row.case.response for row in run if row.results[0].state is State.INCONCLUSIVE}
    responses = {case.response for case in fresh}
    assert moved
    assert responses & set(seen.texts) == moved


def test_its_errors_are_never_more_than_those_of_its_rungs_added_up(rungs):
    fresh = cases(2_000, 9)
    whole = cascaded(fresh, rungs).cascade.labelled
    wrong = {State.PASSED: 0, State.FAILED: 0}
    for rung in rungs:
        for case, state in zip(fresh, alone(fresh, rung), strict=True):
            bad = State.PASSED if case.label is Label.REJECT else State.FAILED
            wrong[bad] += state is bad
    assert 0 < whole.false_accepts <= wrong[State.PASSED]
    assert 0 < whole.false_rejects <= wrong[State.FAILED]


def test_the_promises_add_up(rungs):
    applied = [plan.calibration for plan in cascaded(cases(20, 1), rungs).header.metrics]
    added = promises(applied)
    assert (added.max_far, added.max_frr, added.confidence) == (0.2, 0.2, 0.9)
    assert (added.exact, added.per) == (True, "row")
    import msgspec

    def other(**changed):
        return promises([applied[0], msgspec.structs.replace(applied[1], **changed)])

    # One that is kept on average only, or is about another rate, adds nothing to a sum.
    assert other(guarantee="average") is None
    assert other(per="group") is None
    assert other(guarantee=None, per=None) is None
    assert other(guarantee="approximate").exact is False

    bare = msgspec.structs.replace(applied[1], max_frr=None)
    assert promises([applied[0], bare]).max_frr is None
    assert promises([applied[0], bare]).max_far == 0.2
    none = msgspec.structs.replace(bare, max_far=None)
    assert promises([applied[0], none]) is None
    assert promises([msgspec.structs.replace(applied[0], max_far=0.9)] * 2).max_far is None
    assert promises([msgspec.structs.replace(a, uncalibrated=True) for a in applied]) is None


def test_a_guard_sends_an_accept_on_and_no_later_rung_accepts_it_unseen(rungs):
    good = Case(
        id="n",
        references=("the plan costs 30 euros each and every month of the year",),
        response="the plan costs 90 euros each and every month of the year",
    )
    off = next(iter(cascaded([good], rungs)))
    assert off.state is State.PASSED
    row = next(iter(cascaded([good], rungs, guards="unsure")))
    assert [result.held for result in row.results] == [("numbers",), ("numbers",)]
    assert row.state is State.INCONCLUSIVE
    with pytest.raises(UsageError, match="how few good answers are rejected"):
        cascaded([good], rungs, guards="reject")


def test_what_a_rung_cannot_measure_moves_on(rungs):
    (case,) = cases(1, 3)

    def broken(texts):
        if case.response in texts:
            raise RuntimeError("no vectors today")

    row = next(iter(cascaded([case], rungs[::-1], HashEmbedder(on_embed=broken))))
    assert not row.results[0].state.measured
    assert "no vectors today" in row.results[0].reason
    assert row.results[1].state.measured
    assert row.state is row.results[1].state


def test_a_pass_after_a_rung_that_broke_is_no_clean_pass(rungs):
    from closecall.metrics.lexical.chrf import Chrf

    right = Case(id="r", references=("one two three four",), response="one two three four")
    run = cascaded([right], rungs)
    assert run.exit_code == 0
    measure = Chrf.measure
    try:
        Chrf.measure = lambda *_: 1 / 0
        run = cascaded([right], rungs)
    finally:
        Chrf.measure = measure
    row = next(iter(run))
    assert [result.state for result in row.results] == [State.ERROR, State.PASSED]
    assert row.state is State.ERROR
    assert run.exit_code == 11


def test_an_approximate_part_makes_the_sum_approximate(rungs):
    import msgspec

    from closecall.report.cascade import cascade_lines

    run = cascaded(cases(20, 1), rungs)
    plans = list(run.header.metrics)
    plans[1] = msgspec.structs.replace(
        plans[1],
        calibration=msgspec.structs.replace(plans[1].calibration, guarantee="approximate"),
    )
    import dataclasses

    changed = dataclasses.replace(
        run, header=msgspec.structs.replace(run.header, metrics=tuple(plans))
    )
    last = list(cascade_lines(changed))[-1]
    assert last.endswith("aimed at confidence 90 %, which is approximate and not proved")


def test_a_folder_gives_it_back_and_can_be_resumed(rungs, tmp_path):
    fresh = cases(300, 8)
    run = cascaded(fresh, rungs, aef=tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert [(r.case.id, r.state, r.score) for r in again] == [
        (r.case.id, r.state, r.score) for r in run
    ]
    assert again.cascade == run.cascade
    assert again.metrics == run.metrics
    assert again.cases == run.cases
    assert not open_run(tmp_path / "run").verify()
    assert all(m.duration_ms > 0 for m in again.metrics)
    with pytest.raises(RunFolderError, match="one after another"):
        evaluate(
            fresh, None, HashEmbedder(), calibration=rungs, cache=False, guards="off",
            aef=tmp_path / "run", resume=True,
        )  # fmt: skip


def test_only_the_first_rung_is_watched_for_change(rungs):
    run = cascaded(cases(300, 8), rungs)
    assert [found.metric for found in run.watched] == ["chrf"]


def test_the_report_says_what_each_rung_did_and_cost(rungs, tmp_path):
    run = cascaded(cases(300, 8), rungs)
    lines = overview(run).cascade
    asked = run.metrics[1].asked
    assert lines[0].startswith("rung 1, chrf: 300 cases came to it, ")
    assert "ms a case" in lines[0]
    assert any(
        line.startswith(f"rung 2, embed_answer_similarity: {asked} cases") for line in lines
    )
    assert any(line.startswith("all rungs together, by label: ") for line in lines)
    assert lines[-1] == (
        "the rungs' promises add up to: at most 20% of wrong answers are accepted and at most "
        "20% of good answers are rejected, at confidence 90 %"
    )
    assert not any("these very labels" in line for line in lines)
    own = cascaded(cases(400, 7), rungs)
    assert "these very labels chose the cutoffs of chrf, embed" in " ".join(overview(own).cascade)
    assert not overview(run).labelled  # the errors stand in the cascade's own part
    from closecall import save_report

    save_report(run, tmp_path / "r.json")
    told = json.loads((tmp_path / "r.json").read_text())["cascade"]
    assert told["promise"] == {
        "maxFar": 0.2, "maxFrr": 0.2, "confidence": 0.9, "exact": True, "per": "row",
    }  # fmt: skip
    assert told["labelled"]["falseAccepts"] == run.cascade.labelled.false_accepts
    for name in ("r.md", "r.xml", "r.csv"):
        save_report(run, tmp_path / name)
    assert "rung 1, chrf" in (tmp_path / "r.md").read_text()


def test_what_is_no_cascade_is_refused(rungs):
    with pytest.raises(UsageError, match="two calibrations or more"):
        cascaded(cases(4, 1), rungs[:1])
    with pytest.raises(UsageError, match="two calibrations or more"):
        evaluate(cases(4, 1), "chrf", HashEmbedder(), cascade=True, cache=False)
    single = calibrate(
        cases(400, 7), "token_f1", HashEmbedder(), Goal(max_far=0.1), cache=False, lock=False
    )
    with pytest.raises(UsageError, match="--two-cutoffs, or put it last"):
        cascaded(cases(4, 1), [single, rungs[0]])
    assert len(cascaded(cases(40, 1), [rungs[0], single])) == 40
    with pytest.raises(UsageError, match="bleu has no calibration"):
        evaluate(
            cases(4, 1), ["chrf", "bleu"], HashEmbedder(), calibration=rungs[0], cascade=True,
            cache=False,
        )  # fmt: skip


def test_the_command_line_runs_and_resumes_one(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": c.id, "response": c.response, "references": list(c.references), "label": c.label}
        for c in cases(400, 7)
    ]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = [
        calibrate("c.jsonl", name, None, BOTH, lock=False) for name in ("chrf", "answer_alignment")
    ]
    for name, one in zip("ab", made, strict=True):
        save_calibration(one, tmp_path / f"{name}.json")
    options = ["--calibration", "a.json", "--calibration", "b.json", "--cascade"]
    code = command_line(["eval", "c.jsonl", "-q", "--aef", "run", *options])
    assert code == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "rung 2, answer_alignment" in out
    assert load_run(tmp_path / "run").header.cascade
    assert command_line(["eval", "-q", "--resume", "run"]) == 1
    assert command_line(["eval", "c.jsonl", "-q", "--no-aef", "--cascade"]) == 2
    assert "the cheap one first" in capsys.readouterr().err
