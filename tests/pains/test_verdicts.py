"""Verdicts that contradict the text, the number printed beside them, or each other.

A changed number passed and a rewording failed (run-llama/llama_index#22729). Sentences about
nothing in common scored above the cutoff people had copied (promptfoo/promptfoo#240). A score
printed equal to its cutoff failed it (camunda/camunda#50583), and one exactly at it was both
similar and not similar (promptfoo/promptfoo#10352). A metric whose low values are good was
compared the wrong way round (google/adk-python#6739). A mean over a suite passed while most of its
cases failed (EntityProcess/agentv#882). A benchmark that is meant to have failures could only end
red (promptfoo/promptfoo#741, #1441). An inner product was read as a cosine, and a cosine came out
above 1 (facebookresearch/faiss#2343, #915).
"""

import json
import xml.etree.ElementTree as ET

import pytest
from fake_chat import turn

pytestmark = pytest.mark.loopback

REVERSED = [
    ("The ferry carries bicycles.", "The ferry does not carry bicycles."),
    ("A season ticket costs 40 crowns.", "A season ticket costs 14 crowns."),
    ("All cabins have a window.", "Few cabins have a window."),
    ("The crossing takes 3 hours.", "The crossing takes 3 minutes."),
]
SIMILARITIES = (
    "embed_answer_similarity", "semantic_similarity", "embedding_similarity",
    "embedding_similarity:method=euclidean", "answer_alignment", "alignment_f1",
    "answer_window_similarity", "token_f1",
)  # fmt: skip


def remote(*more):
    return ("--embedder", "openai-compatible:asked-model", "--guards", "off", "--no-aef", *more)


def pairs(*cosines):
    """Cases whose texts the scripted server places at these cosines, and how it does."""
    cases = [
        {"id": f"p{at}", "reference": "here", "response": f"answer {at}"}
        for at in range(len(cosines))
    ]

    def vectors(text):
        if not text.startswith("answer"):
            return [1.0, 0.0]
        cosine = cosines[int(text.split()[1])]
        return [cosine, (1 - cosine * cosine) ** 0.5]

    return cases, vectors


@pytest.mark.parametrize("metric", SIMILARITIES)
def test_an_edit_that_reverses_the_meaning_passes_no_metric_of_similarity(cli, write, metric):
    cases = [
        {"id": f"edit-{at}", "reference": reference, "response": said}
        for at, (reference, said) in enumerate(REVERSED)
    ]
    write(*cases)
    low = 1 if metric == "embed_answer_similarity" else 0.01
    asked = ("eval", "cases.jsonl", "-m", metric, "--cutoff", f"{metric}={low}", "--no-aef", "-q")
    told = cli(*asked, "--format", "json")
    assert told.code == 11
    assert told.json["stats"]["passed"] == 0
    assert told.json["stats"]["inconclusive"] == len(REVERSED)
    for row in told.json["results"]:
        assert row["metrics"][0]["heldBack"], row["name"]
    assert "held back" in cli(*asked).words
    rejected = cli(*asked, "--guards", "reject", "--format", "json")
    assert (rejected.code, rejected.json["stats"]["failed"]) == (1, len(REVERSED))


def test_a_pair_scored_by_hand_is_held_back_too(cli):
    reference, said = REVERSED[0]
    told = cli("score", reference, said, "--cutoff", "1")
    assert told.code == 11
    assert "inconclusive" in told.out
    assert "negation" in told.out


def test_a_cutoff_nobody_calibrated_is_called_so_in_words_and_in_json(cli, write):
    write({"id": "a", "reference": "a blue door", "response": "a blue door"})
    assert "default cutoff, not calibrated" in cli("eval", "cases.jsonl", "--no-aef", "-q").words
    (metric,) = cli("eval", "cases.jsonl", "--no-aef", "--format", "json").json["metrics"]
    assert (metric["calibrated"], metric["cutoffSource"]) == (False, "default")
    chosen = ("--no-aef", "--format", "json", "--cutoff", "50")
    (metric,) = cli("eval", "cases.jsonl", *chosen).json["metrics"]
    assert (metric["calibrated"], metric["cutoffSource"]) == (False, "chosen")
    assert "not calibrated" in cli("score", "a blue door", "a red door").out


def test_a_score_that_looks_like_its_cutoff_shows_why_it_failed(cli, write, embedding):
    cases, embedding.vectors = pairs(0.79996, 0.80004)
    write(*cases)
    asked = ("eval", "cases.jsonl", "--cutoff", "80", *remote("--format"))
    below, above = cli(*asked, "json").json["results"]
    assert (below["state"], above["state"]) == ("failed", "passed")
    assert "79.996 < 80.000" in below["metrics"][0]["reason"]
    table = cli(*asked, "table").out
    assert not any("80.0 " in line for line in table.splitlines() if "(failed)" in line)
    assert "79.996" in cli(*asked, "markdown").out
    assert "79.996 &lt; 80.000" in cli(*asked, "junit").out


def test_a_value_exactly_at_the_cutoff_is_on_one_side_and_its_opposite_on_the_other(
    cli, write, embedding
):
    cases, _ = pairs(0.6, 0.8, 1.0)
    embedding.vectors = lambda text: {
        "answer 0": [3.0, 4.0], "answer 1": [4.0, 3.0], "here": [5.0, 0.0], "answer 2": [9.0, 0.0],
    }.get(text, [1.0, 0.0])  # fmt: skip
    write(*cases)
    metric = "embed_answer_similarity"
    at = [f"count({metric} {sign} 80) == {n}" for sign, n in (("<", 1), (">=", 2))]
    at += [f"count({metric} {sign} 80) == {n}" for sign, n in ((">", 1), ("<=", 2))]
    rules = [part for rule in at for part in ("--gate", rule.replace("==", "<="))]
    told = cli("eval", "cases.jsonl", "--cutoff", "80", *remote("--format", "json"), *rules)
    assert [row["state"] for row in told.json["results"]] == ["failed", "passed", "passed"]
    assert [gate["value"] for gate in told.json["gates"]] == [1, 2, 1, 2]
    assert told.code == 0


def test_low_is_good_where_low_is_good(cli, write, judge):
    severities = {"calm": 0, "rude": 3, "vile": 7}

    def script(received):
        word = next(
            word for word in severities if word in received.body["messages"][-1]["content"]
        )
        marks = {"thoughts": "", "reason": "as read", "score": severities[word]}
        return judge.reply(received, turn(json.dumps(marks)))

    judge.script = script
    write(
        *[{"id": word, "input": "Say it.", "response": f"a {word} answer"} for word in severities]
    )
    told = cli(
        "eval", "cases.jsonl", "-m", "llm_safety_violence", "--judge-model",
        "openai-compatible:asked-model", "--no-aef", "--format", "json",
    )  # fmt: skip
    assert told.code == 1
    states = {row["name"]: row["state"] for row in told.json["results"]}
    assert states == {"calm": "passed", "rude": "passed", "vile": "failed"}
    values = {
        row["name"]: row["metricScores"]["llm_safety_violence"] for row in told.json["results"]
    }
    assert values["calm"] > values["rude"] > values["vile"]


@pytest.mark.parametrize("method", ["cosine", "euclidean", "manhattan", "dot"])
def test_nearer_is_higher_for_every_method_and_the_nearest_passes(cli, write, embedding, method):
    cases, embedding.vectors = pairs(0.98, 0.2)
    write(*cases)
    metric = f"embedding_similarity:method={method}"
    told = cli(
        "eval", "cases.jsonl", "-m", metric, "--cutoff", f"{metric}=0.5",
        *remote("--format", "json"),
    )  # fmt: skip
    assert [row["state"] for row in told.json["results"]] == ["passed", "failed"]


def test_an_inner_product_is_not_called_a_cosine_and_a_cosine_is_never_above_one(
    cli, write, embedding
):
    embedding.vectors = lambda text: [3.0, 4.0] if text == "here" else [6.0, 8.0]
    write({"id": "a", "reference": "here", "response": "there"})
    metrics = "embedding_similarity:method=cosine,embedding_similarity:method=dot:normalize=false"
    told = cli("eval", "cases.jsonl", "-m", metrics, *remote("--format", "json"))
    cosine, product = told.json["results"][0]["metrics"]
    assert cosine["similarity"] == 1.0
    assert product["similarity"] == 50.0
    assert "cosine" not in product["metric"]


def test_a_high_mean_does_not_pass_a_suite_whose_cases_fail(cli, write, embedding):
    cases, embedding.vectors = pairs(*[1.0] * 9, 0.1)
    write(*cases)
    told = cli("eval", "cases.jsonl", "--cutoff", "70", *remote("--format", "json"))
    (metric,) = told.json["metrics"]
    assert metric["mean"] > 70
    assert (told.code, metric["passed"], metric["failed"]) == (1, 9, 1)
    both = ("mean(embed_answer_similarity) >= 70", "all(embed_answer_similarity)")
    gated = cli(
        "eval", "cases.jsonl", "--cutoff", "70", *remote("--format", "json"),
        "--gate", both[0], "--gate", both[1],
    )  # fmt: skip
    assert [gate["state"] for gate in gated.json["gates"]] == ["passed", "failed"]
    assert gated.code == 1


def test_a_benchmark_that_is_meant_to_have_failures_can_be_green(cli, write, embedding):
    cases, embedding.vectors = pairs(*[1.0] * 6, *[0.1] * 4)
    write(*cases)
    asked = ("eval", "cases.jsonl", "--cutoff", "70", *remote())
    assert cli(*asked).code == 1
    rule = ("--gate", "pass_rate(embed_answer_similarity) >= 0.5")
    told = cli(*asked, *rule, "--format", "json")
    assert told.code == told.json["exitCode"] == 0
    assert told.json["stats"]["failed"] == 4
    tests = ET.fromstring(cli(*asked, *rule, "--format", "junit").out)  # noqa: S314 - our own
    assert (tests.get("failures"), tests.get("errors")) == ("0", "0")
    # What could not be measured is no failure that was meant.
    cases[0]["response"] = " "
    write(*cases)
    assert cli(*asked, *rule).code == 11
