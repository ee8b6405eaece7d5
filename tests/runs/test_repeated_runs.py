"""Runs that answer each case several times: what counts, what is kept, and what is refused."""

import json
import threading
from collections import Counter

import msgspec
import pytest
from folder_helpers import checker

from closecall import AnswerSimilarity, Case, EmbeddingSimilarity
from closecall.cassettes import open_cassette
from closecall.errors import ReplayMissError, RunFolderError, UsageError
from closecall.records import Measured, State, Unmeasured
from closecall.runs import repeating, sinks
from closecall.runs.evaluate import evaluate
from closecall.runs.reader import open_run
from closecall.runs.resuming import resume
from closecall.runs.stored import header_of, load_run
from closecall.runs.verify import verify
from closecall.subjects.chat import ChatSubject
from closecall.testing import HashEmbedder, ScriptedChat

ROWS = [
    {"id": "steady", "input": "steady", "reference": "right"},
    {"id": "flaky", "input": "flaky", "reference": "right"},
    {"id": "wrong", "input": "wrong", "reference": "right"},
    {"id": "given", "input": "given", "reference": "right", "response": "right"},
]


class Desk:
    """Answers right, wrong, or by turns, and counts what it was asked."""

    def __init__(self, fails=()):
        self.asked = Counter()
        self.fails = set(fails)

    def __call__(self, case):
        turn = self.asked[case.id]
        self.asked[case.id] += 1
        if (case.id, turn) in self.fails:
            raise RuntimeError("429 too many requests")
        steady = {"steady": "right", "wrong": "bad"}
        return steady.get(case.input) or ("right" if turn % 2 == 0 else "bad")


def exact(case):
    return 1.0 if case.response in case.references else 0.0


def length(case):
    return float(len(case.response))


def run_of(rows=ROWS, answers=None, metrics=None, **options):
    options = {"runs": 4, "embedder": HashEmbedder(), "cache": False} | options
    return evaluate(
        rows,
        metrics or [AnswerSimilarity()],
        answers=answers if answers is not None else Desk(),
        **options,
    )


def states(run):
    return [row.results[0].state.value for row in run]


def plain(run, without=("duration_ms",)):
    """Everything of the rows but times and place."""

    def cleaned(value):
        if isinstance(value, dict):
            return {n: cleaned(v) for n, v in value.items() if n not in without}
        return [cleaned(v) for v in value] if isinstance(value, list | tuple) else value

    return [cleaned(msgspec.to_builtins(row)) for row in run]


def as_measured(run):
    """The same without what tells a recorded answer from one that was paid for."""
    return plain(run, without=("duration_ms", "answered"))


def test_cases_are_answered_so_often_and_counted_once():
    desk = Desk()
    run = run_of(answers=desk, success_threshold=0.5)
    assert desk.asked == {"steady": 4, "flaky": 4, "wrong": 4}
    assert states(run) == ["passed", "passed", "failed", "passed"]
    assert [len(row.trials) for row in run] == [4, 4, 4, 0]
    (metric,) = run.metrics
    assert (metric.asked, metric.measured, metric.passed, metric.failed) == (4, 4, 3, 1)
    assert (run.cases.total, run.cases.passed) == (4, 3)
    assert run.exit_code == 1
    assert run.answered.answers == 12
    (found,) = run.repeats
    assert (found.runs, found.needed, found.cases, found.once) == (4, 2, 3, 1)
    assert [(one.id, one.share.count, one.share.n) for one in found.flaky] == [("flaky", 2, 4)]
    assert (found.agreeing, found.pairs) == (6 + 2 + 6, 18)
    assert [(one.count, one.n) for one in found.by_run] == [(2, 3), (1, 3)] * 2
    assert states(run_of()) == ["passed", "failed", "failed", "passed"]


def test_the_trials_have_each_answer_and_what_was_measured_of_it():
    run = run_of(metrics=[AnswerSimilarity(), EmbeddingSimilarity("euclidean")])
    flaky = list(run)[1]
    assert flaky.case.response == "right"
    assert [trial.case.response for trial in flaky.trials] == ["right", "bad"] * 2
    assert [trial.results[0].state.value for trial in flaky.trials] == ["passed", "failed"] * 2
    for at, result in enumerate(flaky.results):
        values = [trial.results[at].measurement.value for trial in flaky.trials]
        assert result.measurement.details["runs"]["values"] == values
        assert min(values) < result.measurement.value < max(values)


def test_one_run_is_a_run_as_ever():
    run = run_of(runs=1)
    assert run.repeats is None
    assert not any(row.trials for row in run)
    assert run.header.runs == 1


def test_a_run_without_an_answer_passes_only_where_it_does_not_matter():
    desk = Desk(fails={("steady", 2)})
    found = run_of(answers=desk, success_threshold=0.75)
    assert states(found)[0] == "passed"
    assert found.answered.missing == 1
    found = run_of(answers=Desk(fails={("steady", 2)}))
    first = next(iter(found))
    assert first.state is State.NOT_MEASURED
    assert "no result in 1 of 4 runs" in first.results[0].reason
    assert "429" in first.results[0].reason
    assert isinstance(first.trials[2].results[0].measurement, Unmeasured)
    assert isinstance(first.trials[3].results[0].measurement, Measured)
    never = run_of(answers=Desk(fails={("steady", turn) for turn in range(4)}))
    assert states(never)[0] == "error"


def test_it_is_refused_where_every_run_would_say_the_same():
    with pytest.raises(UsageError, match=r"something that answers.*--endpoint"):
        evaluate(ROWS, [AnswerSimilarity()], embedder=HashEmbedder(), runs=3)
    with pytest.raises(UsageError, match="no metric of this run reads a response"):
        run_of(metrics=["embed_query_context"])
    for wrong in (0, 2, 1001):
        with pytest.raises(UsageError, match="number of runs"):
            run_of(runs=wrong)
    with pytest.raises(UsageError, match="success threshold"):
        run_of(success_threshold=1.5)
    with pytest.raises(UsageError, match="several runs"):
        run_of(runs=1, success_threshold=0.5)
    with pytest.raises(UsageError, match="come to different rungs"):
        run_of(cascade=True)


def test_progress_counts_answers():
    seen = []
    run_of(progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 16)
    assert seen[-1] == (16, 16)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert (3, 16) in seen


def test_a_folder_reads_back_as_the_run_was(tmp_path, shared_data):
    folder = tmp_path / "run"
    metrics = [AnswerSimilarity(), length]
    desk = Desk(fails={("wrong", 1), *[("steady", turn) for turn in range(4)]})
    run = run_of(answers=desk, metrics=metrics, aef=folder)
    memory = run_of(answers=Desk(fails=desk.fails), metrics=metrics)
    again = load_run(folder)
    assert plain(again, without=("duration_ms", "place")) == plain(
        memory, without=("duration_ms", "place")
    )
    assert again.repeats == run.repeats == memory.repeats
    assert again.metrics == run.metrics == memory.metrics
    assert again.cases == run.cases
    assert again.header.runs == 4
    assert verify(open_run(folder)) == []
    assert checker(shared_data)(folder) == []


def lines_of(folder):
    return [json.loads(line) for line in (folder / "results.ndjson").read_text().splitlines()]


def test_the_lines_are_trials_and_one_over_them_at_every_path(tmp_path):
    folder = tmp_path / "run"
    run_of(metrics=[AnswerSimilarity(), length], aef=folder, success_threshold=0.7)
    policy = json.loads((folder / "run.json").read_text())["suite"]["executionPolicy"]
    assert policy == {"trialsPerCase": 4, "requirePasses": 3, "aggregation": "AtLeast"}
    lines = lines_of(folder)
    for case in ("steady", "flaky", "wrong"):
        for path in {line["path"] for line in lines}:
            own = [x for x in lines if (x["caseId"], x["path"]) == (case, path)]
            trials = [x for x in own if "trial" in x]
            (over,) = [x for x in own if "trial" not in x]
            assert [x["trial"] for x in trials] == [0, 1, 2, 3]
            found = [x["state"] for x in trials]
            assert over["trials"]["n"] == 4
            assert over["trials"]["passed"] == found.count("passed")
            assert over["trials"]["agree"] is (len(set(found)) == 1)
            assert all(x["reason"] for x in own)
    assert not any("trials" in x or "trial" in x for x in lines if x["caseId"] == "given")
    summary = json.loads((folder / "summary.json").read_text())
    entry = summary["lanes"][0]["metrics"][0]
    assert (entry["N"], entry["n"]) == (4, 4)
    texts = (folder / "ext/closecall/cases.ndjson").read_text().splitlines()
    assert json.loads(texts[1])["responses"] == ["right", "bad", "right", "bad"]
    assert summary["ext"]["closecall"]["repeats"][0]["flaky"][0]["id"] == "flaky"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda line: line["trials"].update(passed=3), "trials.passed should be 2, is 3"),
        (lambda line: line["trials"].update(n=5), "trials.n should be 4, is 5"),
        (lambda line: line["trials"].update(agree=True), "trials.agree should be False"),
    ],
)
def test_verify_counts_the_runs_anew(tmp_path, change, said):
    folder = tmp_path / "run"
    run_of(aef=folder)
    lines = lines_of(folder)
    change(next(x for x in lines if x["caseId"] == "flaky" and "trials" in x))
    (folder / "results.ndjson").write_text("".join(json.dumps(x) + "\n" for x in lines))
    assert any(said in problem for problem in verify(open_run(folder)))


def test_verify_misses_the_line_over_all_runs(tmp_path):
    folder = tmp_path / "run"
    run_of(aef=folder)
    lines = [x for x in lines_of(folder) if not (x["caseId"] == "flaky" and "trials" in x)]
    (folder / "results.ndjson").write_text("".join(json.dumps(x) + "\n" for x in lines))
    assert any("no line over all of them" in problem for problem in verify(open_run(folder)))
    with pytest.raises(RunFolderError, match="among those of case 'flaky'"):
        load_run(folder)


def test_without_content_no_response_of_any_run_is_kept(tmp_path):
    folder = tmp_path / "run"
    secret = threading.local()
    secret.turn = 0

    def said(case):
        secret.turn += 1
        if secret.turn == 2:
            raise RuntimeError('it said "HIDDEN9"')
        return f"HIDDEN{secret.turn}"

    run = run_of(answers=said, aef=folder, content=False)
    for file in folder.rglob("*"):
        assert "HIDDEN" not in (file.read_text() if file.is_file() else "")
    assert verify(open_run(folder)) == []
    again = load_run(folder)
    assert again.repeats == run.repeats
    assert plain(again) == plain(run)
    row = list(again)[1]
    assert len(row.results[0].measurement.details["runs"]["values"]) == 4
    assert all(trial.case.response is None for trial in row.trials)


class StoppedError(Exception):
    pass


def stop_after(monkeypatch, batches):
    add, written = sinks.FolderSink.add, []

    def adding(self, rows, *beside):
        if len(written) >= batches:
            raise StoppedError
        written.append(rows)
        add(self, rows, *beside)

    monkeypatch.setattr(sinks.FolderSink, "add", adding)
    return add


@pytest.mark.parametrize("torn", [0, 1, 7, 40])
def test_a_run_that_was_cut_off_goes_on_and_asks_no_answered_case_again(
    tmp_path, monkeypatch, torn
):
    monkeypatch.setattr(repeating, "FEWEST_CASES", 1)
    monkeypatch.setattr("closecall.runs.work.ASKED_CASES", 1)
    folder = tmp_path / "run"
    whole = run_of()
    add = stop_after(monkeypatch, 2)
    with pytest.raises(StoppedError):
        run_of(aef=folder)
    monkeypatch.setattr(sinks.FolderSink, "add", add)
    place = folder / "results.ndjson"
    data = place.read_bytes()
    place.write_bytes(data[: len(data) - torn])
    assert len(list(load_run(folder))) == (2 if not torn else 1)
    desk = Desk()
    run = run_of(answers=desk, aef=folder, resume=True)
    assert set(desk.asked) == ({"wrong"} if not torn else {"flaky", "wrong"})
    assert plain(run, without=("duration_ms", "place")) == plain(
        whole, without=("duration_ms", "place")
    )
    assert run.repeats == whole.repeats
    assert verify(open_run(folder)) == []


def test_another_number_of_runs_or_share_is_another_run(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    add = stop_after(monkeypatch, 0)
    with pytest.raises(StoppedError):
        run_of(aef=folder)
    monkeypatch.setattr(sinks.FolderSink, "add", add)
    with pytest.raises(RunFolderError, match=r"how often a case is answered \(4 then, 5 now\)"):
        run_of(aef=folder, resume=True, runs=5)
    with pytest.raises(RunFolderError, match=r"has to pass in \(0.8 then, 0.6 now\)"):
        run_of(aef=folder, resume=True, success_threshold=0.6)
    digests = {run_of(runs=n).header.definition_digest for n in (1, 3, 4)}
    assert len(digests) == 3


def test_a_command_s_run_goes_on_by_itself(tmp_path, monkeypatch):
    import sys

    from closecall.runs.live import SubjectPlan

    script = tmp_path / "say.py"
    script.write_text("import json, sys; print(json.load(sys.stdin)['input'])")
    cases = tmp_path / "cases.jsonl"
    cases.write_text(
        "".join(json.dumps({"id": c, "input": c, "reference": "a"}) + "\n" for c in "ab")
    )
    plan = SubjectPlan(command=f"{sys.executable} {script}")
    folder = tmp_path / "run"
    add = stop_after(monkeypatch, 0)
    with pytest.raises(StoppedError):
        evaluate(str(cases), "token_f1", answers=plan, runs=3, success_threshold=0.6, aef=folder)
    monkeypatch.setattr(sinks.FolderSink, "add", add)
    assert header_of(folder).success_threshold == 0.6
    run = resume(folder)
    assert (run.header.runs, run.repeats[0].needed) == (3, 2)
    assert states(run) == ["passed", "failed"]


def seeded(request):
    return "right" if request.seed % 2 == 0 else "bad"


def test_a_chat_model_is_asked_with_another_seed_each_time():
    chat = ScriptedChat(seeded)
    run = run_of(answers=ChatSubject(chat))
    assert sorted(request.seed for request in chat.requests) == [
        0,
        0,
        0,
        1,
        1,
        1,
        2,
        2,
        2,
        3,
        3,
        3,
    ]
    assert run.repeats[0].flaky_cases == 3


def test_a_recorded_run_replays_as_it_was(tmp_path):
    turns = iter(range(1000))

    def moody(request):
        return f"{seeded(request)} {next(turns) % 5}"

    def subject(cassette, script):
        return ChatSubject(cassette.chat(lambda: ScriptedChat(script)))

    with open_cassette(tmp_path, "record", scenario="s") as cassette:
        live = run_of(answers=subject(cassette, moody), cassette=cassette)
    with open_cassette(tmp_path, "replay", scenario="s") as cassette:
        again = run_of(answers=subject(cassette, None), cassette=cassette)
        assert cassette.counts.replayed == 12
    assert as_measured(again) == as_measured(live)
    with (
        open_cassette(tmp_path, "replay", scenario="s") as cassette,
        pytest.raises(ReplayMissError),
    ):
        run_of(answers=subject(cassette, None), cassette=cassette, runs=5)


def test_a_function_s_runs_are_recorded_apart(tmp_path):
    with open_cassette(tmp_path, "record", scenario="s") as cassette:
        live = run_of(answers=Desk(), cassette=cassette)
    desk = Desk()
    with open_cassette(tmp_path, "replay", scenario="s") as cassette:
        again = run_of(answers=desk, cassette=cassette)
    assert not desk.asked
    assert as_measured(again) == as_measured(live)
    # The first run's recordings are those of a run that is not repeated.
    with open_cassette(tmp_path, "replay", scenario="s") as cassette:
        single = run_of(answers=desk, cassette=cassette, runs=1)
    assert [row.case.response for row in single] == [row.case.response for row in live]


def test_runs_that_a_recording_cannot_tell_apart_are_refused(tmp_path):
    with open_cassette(tmp_path, "record", scenario="s") as cassette:
        subject = ChatSubject(cassette.chat(lambda: ScriptedChat(seeded)), seed=None)
        with pytest.raises(UsageError, match="told apart in a recording by their seeds"):
            run_of(answers=subject, cassette=cassette)
    assert len(run_of(answers=ChatSubject(ScriptedChat(lambda r: "right"), seed=None))) == 4


def test_gates_and_watches_see_the_cases_and_not_their_runs():
    seen = []
    run_of(watch=lambda header: seen.extend)
    assert [row.case.id for row in seen] == ["steady", "flaky", "wrong", "given"]


def test_a_run_too_large_for_its_folder_is_refused_before_it_asks(tmp_path):
    rows = [Case(id=str(n), input="flaky", references=("right",)) for n in range(20_000)]
    with pytest.raises(UsageError, match=r"20,000 cases with 1 metric in 1000 runs each"):
        run_of(rows, answers=lambda case: pytest.fail("asked"), runs=1000, aef=tmp_path / "run")
