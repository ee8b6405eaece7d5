"""A returns desk asked several times over HTTP: flaky, steady, and failing in one of its runs."""

import json
from collections import Counter
from contextlib import contextmanager

import pytest
from fake_chat import FakeChat, error, turn

from closecall.cli import run as command_line
from closecall.offline import sealed
from closecall.runs import repeating, sinks, work
from closecall.runs.stored import load_run

pytestmark = pytest.mark.loopback

ANSWERS = {
    "How long can I send a kettle back?": "Kettles are taken back for 40 days.",
    "Who pays for the parcel?": "The shop pays for every parcel.",
    "Is engraving refunded?": "Engraved goods are not refunded.",
}


def seed_of(received):
    return received.body["seed"]


def question_of(received):
    return received.body["messages"][-1]["content"]


def is_judge(received):
    return "response_format" in received.body


def mark(score):
    return json.dumps({"thoughts": "Read.", "reason": "It fits.", "score": score})


@pytest.fixture
def server():
    with FakeChat("openai-compatible") as provider:
        yield provider


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(repeating, "FEWEST_CASES", 1)
    rows = [
        {"id": f"desk-{n}", "input": asked, "references": [said], "expected_facts": [said]}
        for n, (asked, said) in enumerate(ANSWERS.items(), 1)
    ]
    (tmp_path / "desk.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def asked(server, monkeypatch, *more, metrics="expected_fact", runs="5"):
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    url = server.environment()["OPENAI_COMPATIBLE_ENDPOINT"]
    monkeypatch.setenv("CLOSECALL_SUBJECT_API_KEY", "subject-key-for-tests")
    judge = ["--judge-model", "openai-compatible:judge"] if "llm_" in metrics else []
    return command_line(
        ["eval", "desk.jsonl", "-q", "-m", metrics, "--endpoint", url, "--model", "assistant",
         "--runs", runs, *judge, *more]
    )  # fmt: skip


def scripted(server, bad=lambda _received: False):
    """The desk answers right but where it is bad; the judge likes right answers."""

    def script(received):
        if is_judge(received):
            return server.reply(
                received, turn(mark(1 if "No idea" in question_of(received) else 5))
            )
        said = "No idea." if bad(received) else ANSWERS[question_of(received)]
        return server.reply(received, turn(said))

    server.script = script


def states(folder):
    return {row.case.id: [r.state.value for r in row.results] for row in load_run(folder)}


def test_the_same_each_time_agrees_everywhere(server, place, monkeypatch, capsys):
    scripted(server)
    assert asked(server, monkeypatch, "--aef", "run") == 0
    assert Counter(map(seed_of, server.requests)) == {0: 3, 1: 3, 2: 3, 3: 3, 4: 3}
    said = " ".join(capsys.readouterr().out.split())
    assert "5 runs" in said
    assert "30 / 30 (100.0 %) of the pairs of runs agree" in said
    assert "no case passed in one run and failed in another" in said
    assert command_line(["verify", "run"]) == 0


def test_answers_that_alternate_are_flaky_by_name(server, place, monkeypatch, capsys):
    scripted(server, lambda r: "kettle" in question_of(r) and seed_of(r) % 2)
    assert asked(server, monkeypatch, "--aef", "run") == 1
    assert states("run") == {"desk-1": ["failed"], "desk-2": ["passed"], "desk-3": ["passed"]}
    said = " ".join(capsys.readouterr().out.split())
    assert "flaky, 1 case: desk-1 (3 of 5" in said
    assert asked(server, monkeypatch, "--aef", "more", "--success-threshold", "0.6") == 0
    assert load_run("more").repeats[0].flaky_cases == 1


def test_every_answer_is_judged_and_the_judge_decides_with_the_others(
    server, place, monkeypatch, capsys
):
    scripted(server, lambda r: "parcel" in question_of(r) and seed_of(r) == 4)
    metrics = "expected_fact,llm_equivalence"
    assert asked(server, monkeypatch, "--aef", "run", metrics=metrics) == 0
    assert sum(map(is_judge, server.requests)) == 15
    row = list(load_run("run"))[1]
    assert [trial.results[1].measurement.value for trial in row.trials] == [5, 5, 5, 5, 1]
    assert row.results[1].measurement.value == pytest.approx(21 / 5)
    assert row.results[1].measurement.details["runs"]["passed"] == 4


def test_one_run_that_fails_counts_for_neither_side(server, place, monkeypatch, capsys):
    def script(received):
        if "parcel" in question_of(received) and seed_of(received) == 2:
            return error("not now", status=400)
        return server.reply(received, turn(ANSWERS[question_of(received)]))

    server.script = script
    # Four of five passed, which is enough whatever the fifth had said.
    assert asked(server, monkeypatch, "--aef", "run") == 0
    row = list(load_run("run"))[1]
    assert row.trials[2].state.value == "error"
    assert row.trials[2].case.response is None
    assert load_run("run").answered.missing == 1
    capsys.readouterr()
    assert asked(server, monkeypatch, "--aef", "all", "--success-threshold", "1") == 11
    assert states("all")["desk-2"] == ["not_measured"]
    said = " ".join(capsys.readouterr().out.split())
    assert "no result in 1 of 5 runs, and it depends on them" in said
    assert "400" in said


def test_recorded_once_it_replays_with_the_server_down(server, place, monkeypatch, capsys):
    turns = Counter()

    def script(received):
        turns["judge" if is_judge(received) else "desk"] += 1
        if is_judge(received):
            # A judge that never says the same twice.
            return server.reply(received, turn(mark(1 + turns["judge"] % 5)))
        said = "No idea." if seed_of(received) % 3 == 1 else ANSWERS[question_of(received)]
        return server.reply(received, turn(said))

    server.script = script
    metrics = "expected_fact,llm_equivalence"
    code = asked(server, monkeypatch, "--aef", "live", "--record", "tape", metrics=metrics)
    assert turns["desk"] == 15
    server.__exit__()
    with sealed():
        more = ("--aef", "again", "--replay", "tape")
        assert asked(server, monkeypatch, *more, metrics=metrics) == code
    for live, again in zip(load_run("live"), load_run("again"), strict=True):
        assert [
            (trial.case.response, [(r.state, r.reason) for r in trial.results])
            for trial in live.trials
        ] == [
            (trial.case.response, [(r.state, r.reason) for r in trial.results])
            for trial in again.trials
        ]
        assert [(r.state, r.reason) for r in live.results] == [
            (r.state, r.reason) for r in again.results
        ]
    assert load_run("live").repeats == load_run("again").repeats
    capsys.readouterr()
    with sealed():
        assert asked(server, monkeypatch, "--replay", "tape", "--no-aef", runs="6") == 5
    assert "seed" in capsys.readouterr().err
    server.__enter__()


@contextmanager
def interrupted(after=1):
    add, written = sinks.FolderSink.add, []

    def adding(self, rows, *beside):
        if len(written) >= after:
            raise KeyboardInterrupt
        written.append(rows)
        add(self, rows, *beside)

    sinks.FolderSink.add = adding
    try:
        yield
    finally:
        sinks.FolderSink.add = add


def test_a_run_that_was_cut_off_goes_on_with_its_runs(server, place, monkeypatch, capsys):
    scripted(server, lambda r: seed_of(r) == 1)
    assert asked(server, monkeypatch, "--aef", "whole", "--success-threshold", "0.7") == 0
    monkeypatch.setattr(work, "ASKED_CASES", 1)
    with interrupted():
        assert asked(server, monkeypatch, "--aef", "run", "--success-threshold", "0.7") == 130
    before = len(server.requests)
    assert command_line(["eval", "-q", "--resume", "run", "--runs", "3"]) == 2
    assert "--runs" in capsys.readouterr().err
    assert command_line(["eval", "-q", "--resume", "run"]) == 0
    assert len(server.requests) - before == 10
    assert load_run("run").repeats == load_run("whole").repeats
    assert load_run("run").header.success_threshold == 0.7
    assert command_line(["verify", "run"]) == 0


def test_gates_count_cases_and_not_their_runs(server, place, monkeypatch, capsys):
    scripted(server, lambda r: "kettle" in question_of(r) and seed_of(r) == 0)
    rule = ("--no-aef", "--gate", "pass_rate(expected_fact) >= 1")
    assert asked(server, monkeypatch, *rule) == 0
    scripted(server, lambda r: "kettle" in question_of(r) and seed_of(r) < 2)
    assert asked(server, monkeypatch, *rule) == 1
    assert "2 / 3" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--runs", "5"), "something that answers"),
        (("--runs", "2", "--model", "m", "--endpoint", "http://127.0.0.1:9"), "at least 3"),
        (("--success-threshold", "0.5"), "add --runs"),
        (
            ("--runs", "3", "--success-threshold", "2", "--model", "m",
             "--endpoint", "http://127.0.0.1:9"),
            "success threshold",
        ),
    ],
)  # fmt: skip
def test_what_says_nothing_is_refused_before_any_request(place, capsys, more, said):
    assert command_line(["eval", "desk.jsonl", "-m", "expected_fact", "--no-aef", *more]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_the_progress_counts_answers(server, place, monkeypatch):
    from closecall.cli import progress

    seen = []
    monkeypatch.setattr(
        progress.Progress, "__call__", lambda self, *to: seen.append((self._unit, *to))
    )
    scripted(server)
    assert asked(server, monkeypatch, "--no-aef") == 0
    assert seen[0] == ("answers", 0, 15)
    assert seen[-1] == ("answers", 15, 15)
