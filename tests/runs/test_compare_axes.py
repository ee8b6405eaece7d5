"""Two runs that did not measure the same thing are refused, and told in what."""

import json

import msgspec
import pytest
from two_runs import BAD, GOOD, cases, run

from closecall import compare_runs, evaluate
from closecall.errors import NotComparableError
from closecall.runs.comparing.axes import header_axes
from closecall.runs.files import CASES
from closecall.runs.stored import header_of
from closecall.testing import HashEmbedder

ROWS = cases([GOOD, BAD, GOOD, BAD])


@pytest.fixture
def a(tmp_path):
    return run(tmp_path / "a", ROWS)


def refused(a, b, **options):
    with pytest.raises(NotComparableError) as caught:
        compare_runs(a, b, **options)
    assert caught.value.exit_code == 13
    return caught.value.axes, str(caught.value)


def test_another_embedder_is_never_comparable(tmp_path, a):
    b = run(tmp_path / "b", ROWS, embedder=HashEmbedder(32, model="smaller"))
    for allow in ((), ("cases", "cutoff", "metadata")):
        axes, said = refused(a, b, allow=allow)
        assert axes == ("embedder",)
    assert "A hash-words, dims 64; B smaller, dims 32" in said
    assert "closecall eval" in said
    assert "closecall compare-models" in said


def test_a_run_that_embeds_nothing_is_made_again_with_the_metrics_of_the_other(tmp_path):
    both, words = tmp_path / "both", tmp_path / "words"
    evaluate(ROWS, "embed_answer_similarity,token_f1", HashEmbedder(), aef=both, cache=False)
    evaluate(ROWS, "token_f1", aef=words)
    for a, b, again in (
        (both, words, "closecall eval FILE -m embed_answer_similarity -m token_f1 --embedder "),
        (words, both, "closecall eval FILE -m token_f1\n"),
    ):
        axes, said = refused(a, b)
        assert axes == ("embedder", "metrics")
        assert again in f"{said}\n"
        # No embedder has the name "none", and picking what both have is refused in its turn.
        assert "--embedder none" not in said
        assert "compare what both have" not in said
        assert refused(a, b, metrics=["token_f1"])[0] == ("embedder",)


def test_other_metrics_are_named_and_one_both_have_can_be_picked(tmp_path, a):
    b = run(tmp_path / "b", ROWS, "embed_answer_similarity,token_f1")
    axes, said = refused(a, b)
    assert axes == ("metrics",)
    assert "A embed_answer_similarity; B embed_answer_similarity, token_f1" in said
    assert "-m embed_answer_similarity" in said
    assert compare_runs(a, b, metrics=["embed_answer_similarity"]).exit_code == 0


def test_metrics_in_another_order_are_the_same(tmp_path):
    a = run(tmp_path / "a", ROWS, "token_f1,embed_answer_similarity")
    b = run(tmp_path / "b", ROWS, "embed_answer_similarity,token_f1")
    assert compare_runs(a, b).exit_code == 0


def test_another_cutoff_compares_values_where_allowed_and_gates_no_verdict(tmp_path, a):
    b = run(tmp_path / "b", ROWS, cutoffs={"embed_answer_similarity": 1})
    axes, said = refused(a, b)
    assert axes == ("cutoff",)
    assert "cutoff of embed_answer_similarity: A 70; B 1" in said
    assert "--cutoff embed_answer_similarity=70, or add --allow cutoff" in said
    found = compare_runs(a, b, allow=["cutoff"], max_new_failures=0, any_flip=True)
    (metric,) = found.metrics
    assert (found.exit_code, metric.outcome, metric.difference) == (0, "not decided", 0.0)
    assert (metric.cutoff_a, metric.cutoff_b) == (70, 1)
    assert [axis.axis for axis in found.allowed] == ["cutoff"]
    assert any("cutoff of embed_answer_similarity differs, as allowed" in n for n in found.notes)
    assert compare_runs(a, b, allow=["cutoff"], strict=True).exit_code == 11


def test_other_guards_are_another_rule(tmp_path, a):
    b = run(tmp_path / "b", ROWS, guards="off")
    axes, said = refused(a, b)
    assert axes == ("guards",)
    assert "--guards " in said
    assert compare_runs(a, b, allow=["cutoff"]).metrics[0].outcome == "not decided"


def test_other_cases_are_counted_and_named(tmp_path, a):
    rows = [dict(row) for row in ROWS[1:]] + cases([GOOD] * 6)[5:]
    rows[0]["references"] = ["something else"]
    rows[1]["input"] = "another question?"
    b = run(tmp_path / "b", rows)
    axes, said = refused(a, b)
    assert axes == ("cases",)
    assert "A 4, 1 of them only here; B 4, 1 of them only here, 2 with another" in said
    for named in (
        "'c000' (only in A)",
        "'c005' (only in B)",
        "'c001' (another references)",
        "'c002' (another question)",
    ):
        assert named in said
    found = compare_runs(a, b, allow=["cases"])
    made = found.cases
    assert (made.compared, made.only_a, made.only_b, made.changed) == (1, 1, 1, 2)
    assert found.metrics[0].measured == 1


def test_another_context_is_another_case(tmp_path):
    a = run(tmp_path / "a", cases([GOOD], context=[["one"]]))
    b = run(tmp_path / "b", cases([GOOD], context=[["two"]]))
    axes, said = refused(a, b)
    assert axes == ("cases",)
    assert "another context" in said
    # With nothing left to compare it cannot be allowed either.
    assert refused(a, b, allow=["cases"])[0] == ("cases",)


def test_other_responses_labels_tags_and_places_are_the_same_cases(tmp_path, a):
    b = run(tmp_path / "b", cases([BAD] * 4, label=["accept"] * 4, tags=[["new"]] * 4))
    assert compare_runs(a, b).cases.compared == 4


def test_without_texts_only_equal_digests_show_that_cases_are_the_same(tmp_path, a):
    same = run(tmp_path / "b", ROWS, content=False)
    found = compare_runs(a, same)
    assert (found.exit_code, found.cases.responses_differ) == (0, None)
    answers = run(tmp_path / "answers", cases([BAD] * 4), content=False)
    assert compare_runs(a, answers).cases.compared == 4
    rows = cases([BAD] * 4)
    rows[2]["input"] = "another question?"
    other = run(tmp_path / "c", rows, content=False)
    axes, said = refused(a, other, allow=["cases"])
    assert axes == ("cases",)
    assert "A texts kept; B no texts kept" in said
    assert "--no-content" in said


def facts(response, fact, **more):
    return [
        {"id": "x", "input": "colour?", "response": response, "expected_facts": [fact], **more}
    ]


def test_fields_that_metrics_read_are_part_of_the_question(tmp_path):
    a = run(tmp_path / "a", facts("blue", "blue"), "expected_fact")
    same = run(tmp_path / "same", facts("red", "blue", note="new"), "expected_fact")
    found = compare_runs(a, same)
    assert (found.metrics[0].passed_a, found.metrics[0].passed_b) == (1, 0)
    b = run(tmp_path / "b", facts("red", "red"), "expected_fact")
    axes, said = refused(a, b)
    assert axes == ("metadata",)
    assert "differ in a field that expected_fact reads" in said
    assert compare_runs(a, b, allow=["metadata"]).exit_code == 0


def test_other_questions_are_named_as_such_and_their_fields_not_known(tmp_path):
    a = run(tmp_path / "a", facts("blue", "blue"), "expected_fact")
    b = run(tmp_path / "b", facts("blue", "blue", input="shade?"), "expected_fact")
    axes, said = refused(a, b)
    assert axes == ("cases", "metadata")
    assert "another question" in said
    assert "cannot be shown that they were the same" in said


def test_the_order_of_the_cases_is_no_difference(tmp_path):
    rows = [*facts("blue", "blue"), {**facts("red", "red")[0], "id": "y"}]
    a = run(tmp_path / "a", rows, "expected_fact")
    b = run(tmp_path / "b", rows[::-1], "expected_fact")
    assert compare_runs(a, b).cases.compared == 2


def test_fields_of_runs_from_before_must_be_vouched_for(tmp_path):
    a = run(tmp_path / "a", facts("blue", "blue"), "expected_fact")
    b = older(run(tmp_path / "b", facts("red", "red"), "expected_fact"))
    axes, said = refused(a, b)
    assert axes == ("metadata",)
    assert "expected_fact reads fields of a case" in said
    assert compare_runs(a, b, allow=["metadata"]).exit_code == 0
    same = older(run(tmp_path / "c", facts("blue", "blue"), "expected_fact"))
    assert compare_runs(a, same).exit_code == 0
    assert refused(older(a), b)[0] == ("metadata",)


def older(folder):
    """Take from a run what was not kept before: the digest of its questions, and metadata."""
    header = json.loads((folder / "run.json").read_bytes())
    assert header["config"]["closecall"]["dataset"].pop("questions")
    (folder / "run.json").write_text(json.dumps(header), encoding="utf-8")
    texts = folder / CASES
    lines = [json.loads(line) for line in texts.read_bytes().splitlines()]
    for line in lines:
        line.pop("metadata", None)
    texts.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return folder


def test_every_axis_that_differs_is_named_at_once(tmp_path, a):
    b = run(
        tmp_path / "b",
        ROWS[1:],
        embedder=HashEmbedder(32),
        cutoffs={"embed_answer_similarity": 50},
        guards="off",
    )
    axes, _ = refused(a, b)
    assert axes == ("embedder", "cutoff", "guards", "cases")


def edited(header, **changes):
    (plan,) = header.metrics
    return msgspec.structs.replace(header, metrics=(msgspec.structs.replace(plan, **changes),))


@pytest.mark.parametrize(
    ("changes", "axis", "says"),
    [
        ({"version": "9"}, "version", "another version of a metric is another metric"),
        ({"judges": ("gpt@openai",)}, "judge", "two judges mark differently"),
        ({"evaluator_version": "1+000000000000"}, "options", "run B again with the options"),
    ],
)
def test_facts_of_a_metric_are_axes_that_nothing_allows(a, changes, axis, says):
    header = header_of(a)
    (found,) = header_axes(header, edited(header, **changes), ())
    assert (found.axis, found.metric, found.allow) == (axis, "embed_answer_similarity", None)
    assert says in found.advice


@pytest.mark.parametrize(
    ("changes", "axis"), [({"cascade": True}, "cascade"), ({"runs": 3}, "runs")]
)
def test_facts_of_a_run_are_axes_that_nothing_allows(a, changes, axis):
    header = header_of(a)
    found = next(iter(header_axes(header, msgspec.structs.replace(header, **changes), ())))
    assert (found.axis, found.allow) == (axis, None)


def test_another_subject_is_what_a_comparison_is_for_and_is_shown(tmp_path):
    a = run(tmp_path / "a", ROWS, subject="bot", subject_version="1")
    b = run(tmp_path / "b", ROWS, subject="bot", subject_version="2")
    found = compare_runs(a, b)
    assert (found.a.subject, found.b.subject) == ("bot 1", "bot 2")


def test_another_calibration_is_another_rule(tmp_path):
    from closecall import Goal, calibrate

    rows = cases(
        [GOOD, BAD] * 40, label=["accept", "reject"] * 40, group=[str(i) for i in range(80)]
    )
    made = [
        calibrate(rows, goal=Goal(max_far=far), embedder=HashEmbedder(), cache=False)
        for far in (0.1, 0.2)
    ]
    a, b = (
        run(tmp_path / name, ROWS, None, calibration=one)
        for name, one in zip("ab", made, strict=True)
    )
    axes, said = refused(a, b)
    assert axes == ("calibration",)
    assert "with --calibration" in said
    plain = run(tmp_path / "c", ROWS)
    assert "B none, 70" in refused(a, plain)[1]


def test_counts_do_not_gate_verdicts_of_two_cutoffs_either(tmp_path):
    rows = cases(["the sky is grey"] * 8)
    a = run(tmp_path / "a", rows, cutoffs={"embed_answer_similarity": 10})
    b = run(tmp_path / "b", rows, cutoffs={"embed_answer_similarity": 99})
    found = compare_runs(a, b, allow=["cutoff"], max_new_failures=0, any_flip=True)
    assert (found.metrics[0].new_failures, found.exit_code) == (8, 0)
    assert found.metrics[0].why == "verdicts of two rules are not compared: the cutoff differs"
