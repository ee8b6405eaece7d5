"""Chat models in ``check-gates`` and ``calibrate``, and what is asked of nobody."""

import json
from pathlib import Path

import pytest
from fake_chat import FakeChat, turn

from closecall import load_calibration, load_run
from closecall.cli import run as command_line
from closecall.offline import sealed
from closecall.runs import asked

pytestmark = pytest.mark.loopback

GOODS = ["lamp", "kettle", "chair", "mirror", "carpet", "clock"]
JUDGE = ("--judge-model", "openai-compatible:judge")
GATE = ("--gate", "mean(llm_equivalence) >= 3.5")


def marked(score):
    return json.dumps({"thoughts": "I compare them.", "reason": "As it is.", "score": score})


@pytest.fixture
def server(monkeypatch):
    with FakeChat("openai-compatible") as provider:
        provider.mark = lambda text: 1
        provider.script = lambda received: provider.reply(
            received, turn(marked(provider.mark(received.body["messages"][-1]["content"])))
        )
        for name, value in provider.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AI_INFERENCE_PROVIDER", raising=False)
        yield provider


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def write(rows, name="cases.jsonl"):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


def references():
    return write(
        {
            "id": f"g{n}",
            "input": f"How long is the {one} guaranteed?",
            "reference": f"The {one} is guaranteed for {n + 12} months and repaired free of charge.",
        }
        for n, one in enumerate(GOODS)
    )


def check(*more):
    made = ("check-gates", references(), "-m", "llm_equivalence", "--families", "number")
    return command_line([*made, *more])


def test_a_strict_judge_stops_what_a_lenient_one_lets_through(server, capsys):
    assert check(*JUDGE, *GATE) == 0
    assert len(server.requests) == len(GOODS)
    sent = server.requests[0].body["messages"][-1]["content"]
    assert "months" in sent
    said = capsys.readouterr().out
    assert "number: stopped; 0 / 6" in said
    assert "bad answers against 1 gate, llm_equivalence\n" in said  # nothing was embedded
    server.mark = lambda text: 5
    assert check(*JUDGE, *GATE) == 1
    assert "number: LET THROUGH" in capsys.readouterr().out


def test_recorded_once_it_is_checked_with_the_server_down(server, capsys):
    assert check(*JUDGE, *GATE, "--record", "tape") == 0
    assert "6 recorded" in capsys.readouterr().err
    server.__exit__()
    with sealed():
        assert check(*JUDGE, *GATE, "--replay", "tape") == 0
        assert check(*JUDGE, *GATE, "--replay", "tape", "--seed", "7", "--families", "date") in {
            4, 5,
        }  # fmt: skip
    assert "6 replayed" in capsys.readouterr().err
    server.__enter__()


def test_bad_answers_of_ones_own_are_judged_too(server, capsys):
    bad = write(
        [{"id": "a", "input": "q", "reference": "r", "response": "rude words", "family": "rude"},
         {"id": "b", "input": "q", "reference": "r", "response": "kind words", "family": "kind"}],
        "bad.jsonl",
    )  # fmt: skip
    server.mark = lambda text: 1 if "rude" in text else 5
    code = command_line(["check-gates", "--bad", bad, "-m", "llm_equivalence", *JUDGE, *GATE])
    assert code == 1
    said = capsys.readouterr().out
    assert "rude: stopped" in said
    assert "kind: LET THROUGH" in said


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ((*JUDGE, "--gate", "mean(llm_fluency) >= 3"), 2, "the run has no metric 'llm_fluency'"),
        ((*JUDGE, "--gate", "mean(llm_equivalence) >= 9"), 2, "off its scale"),
        ((*JUDGE, *GATE, "-m", "llm_equivalenze"), 3, "did you mean llm_equivalence"),
        (GATE, 3, "llm_equivalence needs a chat model (--judge-model)"),
        ((*JUDGE, *GATE, "--record", "a", "--replay", "a"), 2, "exclude each other"),
        ((*JUDGE, *GATE, "--replay", "nothing"), 2, "there is no cassette to replay"),
    ],
)
def test_what_does_not_fit_is_found_before_anything_is_sent(server, capsys, more, code, said):
    assert check(*more) == code
    assert said.lower() in " ".join(capsys.readouterr().err.split()).lower()
    assert server.requests == []


def test_a_talk_does_not_hold_the_right_answer_beside_the_wrong_one(server, capsys):
    write(
        {
            "id": f"g{n}",
            "messages": [
                {"role": "user", "content": f"How long is the {one} guaranteed?"},
                {"role": "assistant", "content": f"For {n + 12} months, I promise."},
            ],
            "reference": f"The {one} is guaranteed for {n + 12} months.",
        }
        for n, one in enumerate(GOODS)
    )
    more = ("-m", "llm_equivalence", "--families", "number", *JUDGE, *GATE)
    assert command_line(["check-gates", "cases.jsonl", *more]) == 0
    assert len(server.requests) == len(GOODS)
    assert "I promise" not in str([one.body["messages"] for one in server.requests])


def labelled(n=60):
    rows = []
    for at in range(n):
        good = at % 2 == 0
        rows.append(
            {
                "id": f"l{at}",
                "input": f"How long is article {at} guaranteed?",
                "context": [f"Article {at} is guaranteed for two years."],
                "response": f"It is {'two years' if good else 'ten years'}, article {at}.",
                "label": "accept" if good else "reject",
            }
        )
    return write(rows, "labelled.jsonl")


def grounded(text):
    return 5 if "It is two years" in text else 2


CALIBRATE = ("-m", "llm_groundedness", "--max-far", "0.2", "-o", "marks.json", "-q")


def test_a_judge_is_calibrated_and_decides_with_its_calibration(
    server, place, capsys, monkeypatch
):
    server.mark = grounded
    # An embedding provider is selected that has no settings: it must not matter.
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", "azure")
    code = command_line(["calibrate", labelled(), *CALIBRATE, *JUDGE, "--record", "tape"])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert "on llm_groundedness(openai-compatible:judge)" in said.out
    assert len(server.requests) == 60
    made = load_calibration("marks.json")
    assert made.metric.judges == ("openai-compatible:judge",)
    assert 2 < made.accept_cutoff.value <= 5

    again = ["calibrate", "labelled.jsonl", *CALIBRATE, *JUDGE, "--replay", "tape"]
    assert command_line(again) == 0
    assert len(server.requests) == 60
    assert load_calibration("marks.json").sample.scores == made.sample.scores

    rows = [json.loads(line) for line in (place / "labelled.jsonl").read_text().splitlines()][:10]
    answers = write(rows)
    done = ["eval", answers, "--calibration", "marks.json", *JUDGE, "-q", "--aef", "run"]
    assert command_line(done) == 1
    run = load_run("run")
    (summary,) = run.metrics
    assert (summary.passed, summary.failed, summary.cutoff_source) == (5, 5, "calibrated")
    # Its own default cutoff would be 3; this one came from the labels.
    assert summary.cutoff == made.accept_cutoff.value
    gates = ("--gate", "pass_rate(llm_groundedness) >= 0.9")
    bad = write(rows[1::2], "bad.jsonl")
    assert (
        command_line(
            ["check-gates", "--bad", bad, "--calibration", "marks.json", *JUDGE, *gates, "-q"]
        )
        == 0
    )


def test_the_judge_a_calibration_was_made_with_is_said_and_what_to_type(
    server, place, capsys, monkeypatch
):
    server.mark = grounded
    assert command_line(["calibrate", labelled(), *CALIBRATE, *JUDGE]) == 0
    asked_for = len(server.requests)
    other = ("--judge-model", "openai-compatible:cheaper")
    run = ["eval", "labelled.jsonl", "--calibration", "marks.json", "-q", "--no-aef"]
    capsys.readouterr()
    assert command_line([*run, *other]) == 6
    said = " ".join(capsys.readouterr().err.split())
    assert "holds for the marks of openai-compatible:judge" in said
    assert "asks openai-compatible:cheaper" in said
    assert "Ask the one it was made with: --judge-model openai-compatible:judge" in said
    marks = place / "marks.json"
    refresh = f"closecall calibrate --refresh {marks} --judge-model openai-compatible:cheaper"
    assert refresh in said
    assert command_line(run) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "marks.json was made with --judge-model openai-compatible:judge" in said
    assert command_line(["calibrate", "--refresh", "marks.json", "-q"]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "was made with --judge-model openai-compatible:judge" in said
    assert len(server.requests) == asked_for

    assert command_line([*refresh.split()[1:], "-q", "--record", "tape"]) == 0
    assert len(server.requests) == 2 * asked_for
    assert load_calibration("marks.json").metric.judges == ("openai-compatible:cheaper",)
    assert command_line([*run, *other]) == 1  # half of the answers are bad, and fail


def test_a_judge_that_the_environment_selects_is_named_too(server, place, capsys, monkeypatch):
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", "openai-compatible")
    server.mark = grounded
    assert command_line(["calibrate", labelled(), *CALIBRATE]) == 0
    (named,) = load_calibration("marks.json").metric.judges
    monkeypatch.delenv("AI_INFERENCE_PROVIDER")
    run = ["eval", "labelled.jsonl", "--calibration", "marks.json", "-q", "--no-aef"]
    assert command_line([*run, "--judge-model", named]) == 1


def test_no_embedder_is_made_where_nothing_is_embedded(server, place, capsys, monkeypatch):
    def touched(*_, **__):
        raise AssertionError("the embedder was made")

    monkeypatch.setattr(asked, "load_embedder", touched)
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", "azure")  # without any of its settings
    server.mark = lambda text: 5
    rows = write([{"id": "a", "input": "q", "response": "r", "reference": "r"}])
    metrics = ("-m", "llm_relevance,token_f1")
    done = ["eval", rows, *metrics, *JUDGE, "--aef", "run"]
    assert command_line(done) == 0
    assert "cases.jsonl: 1 case, nothing embedded" in capsys.readouterr().out
    header = load_run("run").header
    assert (header.embedder, header.instrument.kind) == ("none", "none")
    assert command_line(["verify", "run"]) == 0
    assert command_line(["eval", "-q", "--resume", "run"]) == 0
    assert command_line([*done[:-1], "two", "--embedder", "azure:emb"]) == 0
    assert "so azure:emb is not used" in capsys.readouterr().err
    as_json = [*done[:-2], "--no-aef", "--format", "json", "-q"]
    assert command_line(as_json) == 0
    assert json.loads(capsys.readouterr().out)["metadata"]["EmbeddingModel"] is None
    command_line(["eval", rows, "-m", "token_f1,embed_answer_similarity", "--no-aef"])
    assert "the embedder was made" in capsys.readouterr().err


def test_nobody_answers_what_no_metric_reads(server, capsys):
    rows = write([{"id": "a", "input": "How long?", "context": ["Two years."]}])
    server.mark = lambda text: 5
    url = server.environment()["OPENAI_COMPATIBLE_ENDPOINT"]
    subject = ("--endpoint", url, "--model", "assistant")
    done = ["eval", rows, "-m", "llm_retrieval", *JUDGE, *subject, "--aef", "run"]
    assert command_line(done) == 0
    assert "so the subject is not asked" in capsys.readouterr().err
    assert [one.body["model"] for one in server.requests] == ["judge"]
    (row,) = load_run("run")
    assert row.case.response is None
    assert load_run("run").answered is None
    assert command_line(["eval", "-q", "--resume", "run"]) == 0
    more = [*done[:3], "llm_retrieval,llm_relevance", *done[4:-1], "two"]
    assert command_line(more) == 0
    assert [one.body["model"] for one in server.requests][1:] == ["assistant", "judge", "judge"]


@pytest.mark.parametrize("command", ["eval", "calibrate", "check-gates"])
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("-m", "llm_relevanse", *JUDGE), "did you mean llm_relevance"),
        (("-m", "llm_relevance"), "llm_relevance needs a chat model (--judge-model)"),
        (("-m", "llm_relevance", "--judge-model", "nobody:x"), "is no provider of chat models"),
        (("-m", "llm_relevance", "--judge-model", "azure:x"), "AZURE_OPENAI_API_KEY"),
    ],
)
def test_an_unknown_metric_or_a_missing_provider_is_found_before_any_request(
    server, capsys, command, more, said
):
    server.mark = lambda text: 5
    file = references() if command == "check-gates" else labelled(4)
    gate = ("--gate", "mean(llm_relevance) >= 3") if command == "check-gates" else ()
    assert command_line([command, file, *more, *gate]) == 3
    assert said in " ".join(capsys.readouterr().err.split()).replace("Did", "did")
    assert server.requests == []
