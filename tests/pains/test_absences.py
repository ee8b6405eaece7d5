"""What could not be measured, and is neither a number nor a pass.

Every score was NaN and the run looked fine (vibrantlabsai/ragas#2818). A row without a reference
came out as a timeout (vibrantlabsai/ragas#447). After one case had failed, all later ones did
(confident-ai/deepeval#915). Rows that had failed left the denominator, so that a rate rose with
every error (UKGovernmentBEIS/inspect_ai#4286).
"""

import json
import sys

import pytest
from fake_chat import error, turn

pytestmark = pytest.mark.loopback

REMOTE = ("--embedder", "openai-compatible:asked-model", "--guards", "off", "--no-aef", "-q")
JUDGED = ("--judge-model", "openai-compatible:asked-model", "--no-aef", "-q")


def rows(count=6, **more):
    return [
        {
            "id": f"tram-{n}", "input": f"When does tram {n} leave?",
            "reference": f"Tram {n} leaves at noon.", "response": f"Tram {n} leaves at noon.",
        } | more
        for n in range(1, count + 1)
    ]  # fmt: skip


def test_nan_from_a_server_is_a_reason_and_no_number_in_any_report(cli, write, embedding):
    embedding.vectors = lambda text: [float("nan"), 1.0] if "Tram 2" in text else [1.0, 1.0]
    write(*rows())
    told = cli("eval", "cases.jsonl", *REMOTE, "--format", "json")
    assert told.code == 11
    (metric,) = told.json["metrics"]  # read strictly: NaN is no JSON
    assert (metric["passed"], metric["measured"], metric["asked"]) == (5, 5, 6)
    assert metric["mean"] == 100
    (reason,) = metric["absent"]
    assert "NaN" in reason
    broken = told.json["results"][1]
    assert (broken["state"], broken["passed"]) == ("not_measured", None)
    assert broken["metricScores"] == {"embed_answer_similarity": None}
    assert "5 / 5 / 6" in cli("eval", "cases.jsonl", *REMOTE).words
    for form in ("junit", "csv", "markdown", "table"):
        said = cli("eval", "cases.jsonl", *REMOTE, "--format", form)
        assert said.code == 11
        assert reason in said.words
        assert "nan" not in said.words.replace(reason, "").lower()


def test_nan_for_every_text_measures_nothing_and_is_not_green(cli, write, embedding):
    write(*rows())
    good = ("eval", "cases.jsonl", *REMOTE, "--no-cache")
    assert cli(*good).code == 0
    probe = embedding.requests[0].texts[0]
    embedding.vectors = lambda text: [1.0 if text == probe else float("nan"), 1.0]
    told = cli(*good, "--format", "json")
    assert told.code == 11
    assert told.json["metrics"][0]["mean"] is told.json["overallScore"] is None
    assert told.json["stats"]["passRate"] is None


@pytest.mark.parametrize("absent", [{"reference": None}, {"reference": ""}, {"reference": "  "}])
def test_a_missing_reference_is_named_as_that_and_nothing_is_asked_for_it(
    cli, write, embedding, absent
):
    cases = rows()
    cases[3] |= absent
    write(*cases)
    told = cli("eval", "cases.jsonl", *REMOTE, "--format", "json")
    assert told.code == 11
    assert told.json["metrics"][0]["measured"] == 5
    missing = told.json["results"][3]
    assert (missing["name"], missing["state"]) == ("tram-4", "not_measured")
    assert "reference" in missing["error"]
    assert not any("Tram 4" in text for one in embedding.requests for text in one.texts)
    assert "(tram-4)" in cli("eval", "cases.jsonl", *REMOTE).words


def test_a_judge_is_not_asked_about_a_case_that_lacks_what_it_reads(cli, write, judge):
    cases = rows()
    cases[1]["response"] = None
    write(*cases)
    told = cli("eval", "cases.jsonl", "-m", "llm_relevance", *JUDGED, "--format", "json")
    assert told.code == 11
    assert "response" in told.json["results"][1]["error"]
    assert len(judge.requests) == 5


def test_one_case_that_fails_costs_no_later_one_its_number(cli, write, judge):
    def script(received):
        if "tram 2 " in received.body["messages"][-1]["content"]:
            return error("The request could not be read.", status=400)
        marks = {"thoughts": "", "reason": "read", "score": 4}
        return judge.reply(received, turn(json.dumps(marks)))

    judge.script = script
    write(*rows())
    told = cli("eval", "cases.jsonl", "-m", "llm_relevance,token_f1", *JUDGED, "--format", "json")
    states = [[one["state"] for one in row["metrics"]] for row in told.json["results"]]
    assert states == [
        ["passed", "passed"], ["not_measured", "passed"], *[["passed", "passed"]] * 4,
    ]  # fmt: skip
    assert told.code == 11


def test_an_assistant_that_crashes_once_answers_the_cases_after_it(cli, write, here):
    (here / "tram.py").write_text(
        "import json, sys\n"
        "case = json.load(sys.stdin)\n"
        "if case['id'] == 'tram-1': raise SystemExit('the line is closed')\n"
        "print(case['input'].replace('When does tram', 'Tram').replace(' leave?', ' at noon.'))\n",
        encoding="utf-8",
    )
    write(*[{name: v for name, v in row.items() if name != "response"} for row in rows()])
    told = cli(
        "eval", "cases.jsonl", "-m", "token_recall", "--guards", "off", "--no-aef", "-q",
        "--subject-command", f"{sys.executable} tram.py", "--format", "json",
    )  # fmt: skip
    assert told.code == 11
    states = [row["state"] for row in told.json["results"]]
    assert states == ["error", *["passed"] * 5]
    assert "the line is closed" in told.json["results"][0]["error"]


def test_errors_stay_in_the_denominator_of_a_gate(cli, write, judge):
    def script(received):
        if "tram 1 " in received.body["messages"][-1]["content"]:
            return error("The request could not be read.", status=400)
        marks = {"thoughts": "", "reason": "read", "score": 5}
        return judge.reply(received, turn(json.dumps(marks)))

    judge.script = script
    write(*rows())
    asked = ("eval", "cases.jsonl", "-m", "llm_relevance", *JUDGED, "--format", "json", "--gate")
    measured = cli(*asked, "measured(llm_relevance) == asked")
    assert (measured.code, measured.json["gates"][0]["state"]) == (1, "failed")
    rate = cli(*asked, "pass_rate(llm_relevance) >= 0.9")
    (gate,) = rate.json["gates"]
    assert (gate["measured"], gate["asked"]) == (5, 6)
    assert rate.code == 11
