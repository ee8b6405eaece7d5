"""``evaluate`` from Python: what it takes, what it gives, and what one bad part may not spoil."""

import json
import shutil
import threading

import numpy as np
import pytest

from closecall import AnswerSimilarity, Case, EmbeddingSimilarity, ResponseContextSimilarity
from closecall.embedders.base import TextKey
from closecall.errors import (
    ConfigurationError,
    DatasetError,
    EmbeddingError,
    RunFolderError,
    UnknownNameError,
    UsageError,
)
from closecall.instrument import Instrument
from closecall.metrics.base import MetricSpec
from closecall.records import Label, Measured, Role, State, Unmeasured
from closecall.runs.evaluate import evaluate
from closecall.runs.results import decide
from closecall.runs.stored import load_run
from closecall.testing import HashEmbedder

ROWS = [
    {"id": "same", "response": "the sky is blue", "reference": "the sky is blue"},
    {"id": "other", "response": "the sky is blue", "reference": "bananas grow in bunches"},
    {"id": "none", "response": "the sky is blue"},
]


def states(run, metric=0):
    return [row.results[metric].state.value for row in run]


class Mine:
    """A metric of somebody else's: calls a function."""

    cutoff = 0.5

    def __init__(self, measure, texts=None, name="mine"):
        self._measure, self._texts = measure, texts
        self.spec = MetricSpec(
            id=name,
            name=name,
            version="1",
            needs=(),
            default_cutoff=None,
            low=0.0,
            high=1.0,
            description="Mine.",
        )

    def texts(self, case):
        return (TextKey(case.response, Role.TEXT),) if self._texts is None else self._texts(case)

    def measure(self, case, vectors):
        return self._measure(case, vectors)


def half(**changes):
    return Measured(**({"similarity": 0.5, "value": 0.5, "score": 50.0} | changes))


class Plain:
    """The least an embedder can be: no token counts."""

    instrument = Instrument(kind="test", model="plain", provider="me", dims=2)

    def embed(self, texts, role=Role.TEXT):
        return np.array([[1.0, len(text)] for text in texts], dtype=np.float32)


@pytest.mark.parametrize(
    "given",
    [
        ROWS,
        tuple(ROWS),
        (row for row in ROWS),
        [
            Case(
                id=r["id"],
                response=r["response"],
                references=tuple([r["reference"]] if "reference" in r else []),
            )
            for r in ROWS
        ],
    ],
    ids=["dicts", "tuple", "generator", "cases"],
)
def test_cases_come_in_any_collection(given):
    run = evaluate(given, embedder=HashEmbedder())
    assert states(run) == ["passed", "failed", "not_measured"]
    assert [row.case.id for row in run] == ["same", "other", "none"]
    assert (run.cases.total, run.cases.passed, run.cases.failed, run.cases.unmeasured) == (
        3,
        1,
        1,
        1,
    )


def test_a_run_can_be_counted_and_read_again_and_again():
    run = evaluate(ROWS, embedder=HashEmbedder())
    assert len(run) == 3 == len(list(run)) == len(list(run))
    assert run.folder is None
    assert run.exit_code == 1
    assert not run.passed
    (summary,) = run.metrics
    assert (summary.asked, summary.measured, summary.passed, summary.failed) == (3, 2, 1, 1)
    assert summary.absent_count(State.NOT_MEASURED) == 1


@pytest.mark.parametrize(
    ("rows", "code"), [(ROWS[:1], 0), (ROWS[:2], 1), (ROWS, 1), ([ROWS[0], ROWS[2]], 11)]
)
def test_the_exit_code_follows_from_the_cases(rows, code):
    run = evaluate(rows, embedder=HashEmbedder())
    assert run.exit_code == code
    assert run.passed == (code == 0)


def test_a_number_without_a_cutoff_is_no_failure():
    run = evaluate(ROWS[:2], EmbeddingSimilarity(), HashEmbedder())
    assert states(run) == ["scored", "scored"]
    assert run.exit_code == 0


@pytest.mark.parametrize(
    "metrics",
    [
        "embed_answer_similarity,embed_response_context",
        ["embed_answer_similarity", "embed_response_context"],
        [AnswerSimilarity, ResponseContextSimilarity],
        [AnswerSimilarity(), ResponseContextSimilarity()],
        (metric for metric in (AnswerSimilarity(), "embed_response_context")),
    ],
    ids=["one text", "names", "classes", "instances", "generator"],
)
def test_metrics_come_in_any_form(metrics):
    rows = [ROWS[0] | {"context": ["the sky is blue", "nothing"]}]
    run = evaluate(rows, metrics, HashEmbedder())
    assert [m.metric for m in run.metrics] == ["embed_answer_similarity", "embed_response_context"]
    digest = evaluate(rows, "embed_answer_similarity,embed_response_context", HashEmbedder())
    assert run.header.definition_digest == digest.header.definition_digest


def test_cutoffs_by_name_decide():
    cutoffs = {"embed_answer_similarity": 0}
    run = evaluate(ROWS[:2], embedder=HashEmbedder(), cutoffs=cutoffs)
    assert states(run) == ["passed", "passed"]
    assert run.metrics[0].cutoff_source == "chosen"


def test_a_metric_that_raises_costs_one_result_and_no_more(tmp_path):
    def measure(case, _):
        if case.id == "other":
            raise RuntimeError("out of luck\nsecond line")
        return half()

    for place in (None, tmp_path / "run"):
        run = evaluate(ROWS, [Mine(measure), AnswerSimilarity()], HashEmbedder(), aef=place)
        assert states(run) == ["passed", "error", "passed"]
        assert states(run, 1) == ["passed", "failed", "not_measured"]
        reason = list(run)[1].results[0].reason
        assert "mine" in reason
        assert "RuntimeError" in reason
        assert "out of luck" in reason
        assert run.metrics[0].absent_count(State.ERROR) == 1


WRONG = {
    "a float": lambda *_: 0.5,
    "nothing": lambda *_: None,
    "NaN": lambda *_: half(value=float("nan")),
    "NaN in details": lambda *_: half(details={"x": float("nan")}),
    "NaN deep in details": lambda *_: half(details={"x": [{"y": float("inf")}]}),
    "no JSON": lambda *_: half(details={"x": object()}),
    "no number": lambda *_: half(value="0.5"),
    "endless details": lambda *_: half(details={"x": "y" * 1_000_000}),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("kept", [False, True])
def test_a_measurement_nobody_could_keep_is_an_error_of_its_metric(wrong, kept, tmp_path):
    mine = Mine(WRONG[wrong])
    run = evaluate(ROWS[:1], mine, HashEmbedder(), aef=tmp_path / "run" if kept else None)
    assert states(run) == ["error"]
    assert "mine failed" in next(iter(run)).results[0].reason
    assert run.exit_code == 11


def test_numbers_of_numpy_are_numbers(tmp_path):
    details = {"norm": np.float32(0.5), "list": [np.int64(3), np.array([1.0, 2.0])], "t": (1,)}

    def measure(*_):
        return half(similarity=np.float32(0.25), value=np.float64(0.75), score=75, details=details)

    run = evaluate(ROWS[:1], Mine(measure), HashEmbedder(), aef=tmp_path / "run")
    (row,) = run
    (result,) = row.results
    assert (result.state, result.measurement.similarity) == (State.PASSED, 0.25)
    assert result.measurement.details == {"norm": 0.5, "list": [3, [1.0, 2.0]], "t": [1]}
    (row,) = evaluate(ROWS[:1], Mine(measure), HashEmbedder())
    assert type(row.results[0].measurement.value) is float
    assert row.results[0].measurement == result.measurement


@pytest.mark.parametrize(
    "texts",
    [
        lambda _: ("a text", "another"),
        lambda _: "a text",
        lambda _: (TextKey(None, Role.TEXT),),
        lambda _: None,
        lambda _: 1 / 0,
    ],
    ids=["strings", "one string", "key of none", "none", "raises"],
)
def test_texts_that_are_none_are_an_error_of_the_metric(texts):
    run = evaluate(ROWS, [Mine(lambda *_: half(), texts), AnswerSimilarity()], HashEmbedder())
    assert states(run) == ["error"] * 3
    assert states(run, 1) == ["passed", "failed", "not_measured"]


def test_what_a_metric_cannot_ask_for_it_does_not_measure():
    mine = Mine(lambda *_: half(), lambda _: Unmeasured("no question", State.NOT_APPLICABLE))
    run = evaluate(ROWS, mine, HashEmbedder())
    assert states(run) == ["not_applicable"] * 3
    assert (run.metrics[0].asked, run.metrics[0].not_applicable) == (0, 3)
    assert (run.cases.total, run.cases.not_applicable, run.cases.unmeasured) == (3, 3, 0)
    assert run.metrics[0].absent == {}
    assert run.exit_code == 0


def test_what_does_not_apply_to_a_case_leaves_its_other_results_to_decide(tmp_path):
    mine = Mine(lambda *_: half(), lambda _: Unmeasured("no question", State.NOT_APPLICABLE))
    run = evaluate(ROWS[:1], [mine, AnswerSimilarity()], HashEmbedder(), aef=tmp_path / "run")
    assert (run.cases.passed, run.cases.not_applicable, run.exit_code) == (1, 0, 0)
    (entry, *_) = json.loads((tmp_path / "run/summary.json").read_bytes())["lanes"][0]["metrics"]
    assert entry["N"] == run.metrics[0].asked == 0


def test_an_embedder_needs_no_token_counts(tmp_path):
    run = evaluate(ROWS, embedder=Plain(), aef=tmp_path / "run")
    assert run.cases.passed == 2
    assert next(iter(run)).results[0].measurement.tokens == {}
    assert run.header.instrument.provider == "me"
    assert states(load_run(tmp_path / "run")) == states(run)


def test_a_failing_embedder_leaves_cases_unmeasured():
    def fail(texts):
        raise OSError("the server is away")

    run = evaluate(ROWS, embedder=HashEmbedder(on_embed=fail))
    assert states(run) == ["not_measured"] * 3
    assert run.exit_code == 11
    reasons = run.metrics[0].absent
    assert any("the server is away" in reason for reason in reasons)
    assert sum(reasons.values()) == 3


def test_texts_at_fault_leave_the_others_alone():
    def fail(texts):
        at_fault = [i for i, text in enumerate(texts) if "bananas" in text]
        if at_fault:
            raise EmbeddingError("does not like fruit", at_fault)

    run = evaluate(ROWS, embedder=HashEmbedder(on_embed=fail))
    assert states(run) == ["passed", "not_measured", "not_measured"]


def test_a_configuration_error_of_the_embedder_ends_the_run():
    def fail(texts):
        raise ConfigurationError("the key is missing")

    with pytest.raises(ConfigurationError, match="the key is missing"):
        evaluate(ROWS, embedder=HashEmbedder(on_embed=fail))


def test_ids_that_repeat_are_told_apart(tmp_path):
    rows = [ROWS[0], ROWS[0], ROWS[1] | {"id": "same"}]
    run = evaluate(rows, embedder=HashEmbedder(), aef=tmp_path / "run")
    ids = [row.case.id for row in run]
    assert len(set(ids)) == 3
    assert ids[0] == "same"


def test_progress_goes_up_to_the_total(monkeypatch):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 4)
    seen = []
    rows = [{"response": f"a {i}", "reference": f"b {i}"} for i in range(21)]
    evaluate(
        rows, embedder=HashEmbedder(), progress=lambda done, total: seen.append((done, total))
    )
    assert [total for _, total in seen] == [21] * len(seen)
    done = [at for at, _ in seen]
    assert done == sorted(set(done))
    assert done[0] == 0
    assert done[-1] == 21
    assert len(done) == 7


def test_what_goes_wrong_with_the_cache_is_told(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    told = []
    run = evaluate(ROWS, embedder=HashEmbedder(), cache=tmp_path / "file", on_notice=told.append)
    assert run.cases.total == 3
    assert len(told) == 1
    assert "cache" in told[0]


def test_a_second_run_is_served_from_the_cache(tmp_path):
    first, second = HashEmbedder(), HashEmbedder()
    one = evaluate(ROWS, embedder=first, cache=tmp_path)
    two = evaluate(ROWS, embedder=second, cache=tmp_path)
    assert len(first.texts) > 0
    assert second.texts == []
    assert [row.results for row in one] == [row.results for row in two]


def test_a_stand_in_for_tests_leaves_nothing_in_a_persons_own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CLOSECALL_CACHE_DIR", str(tmp_path / "own"))
    evaluate(ROWS, embedder=HashEmbedder())
    assert not (tmp_path / "own").exists()


def test_an_embedder_without_an_identity_is_refused():
    class Nameless:
        instrument = "mine"

        def embed(self, texts, role="text"):
            raise AssertionError("never asked")

    with pytest.raises(UsageError, match=r"an instrument \(closecall.Instrument\)"):
        evaluate(ROWS, embedder=Nameless())


def test_records_under_other_names_are_mapped():
    rows = [{"bot": "the sky is blue", "gold": "the sky is blue"}]
    run = evaluate(
        rows, embedder=HashEmbedder(), mapping={"response": "bot", "references": "gold"}
    )
    assert (run.cases.passed, run.cases.total) == (1, 1)
    assert repr(run) == (
        "<Run cases: 1 passed, 0 failed, 0 unsure, 0 not measured of 1; exit code 0>"
    )


def test_a_field_no_metric_needs_may_have_two_readings(tmp_path):
    file = tmp_path / "both.jsonl"
    file.write_text(
        '{"response": "a b", "reference": "a b", "context": "x", "retrieval_context": "y"}\n',
        encoding="utf-8",
    )
    run = evaluate(file, embedder=HashEmbedder())
    assert run.cases.passed == 1
    assert any("no metric of this run needs" in line for line in run.header.dataset.reading)
    with pytest.raises(DatasetError):
        evaluate(file, "embed_response_context", HashEmbedder())


def test_without_a_cache_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("CLOSECALL_CACHE_DIR", str(tmp_path / "cache"))
    for _ in range(2):
        embedder = HashEmbedder()
        evaluate(ROWS, embedder=embedder, cache=False)
        assert embedder.texts
    assert not (tmp_path / "cache").exists()


def test_another_embedder_is_never_served_from_the_first_ones_vectors(tmp_path):
    evaluate(ROWS, embedder=HashEmbedder(), cache=tmp_path)
    other = HashEmbedder(model="another")
    evaluate(ROWS, embedder=other, cache=tmp_path)
    assert other.texts


@pytest.mark.parametrize("batch", [1, 3, 512])
def test_a_text_is_embedded_once_a_run(monkeypatch, batch):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", batch)
    rows = [
        {"response": "one", "references": ["two", "three", "one"], "context": ["two", "four"]}
        for _ in range(10)
    ]
    embedder = HashEmbedder()
    evaluate(rows, [AnswerSimilarity(), ResponseContextSimilarity()], embedder, cache=False)
    assert len(embedder.texts) == len(set(embedder.texts))
    assert {"one", "two", "three", "four"} <= set(embedder.texts)


def test_the_size_of_a_batch_changes_nothing(monkeypatch):
    rows = [{"response": f"word {i % 7} and {i}", "reference": f"word {i % 5}"} for i in range(50)]
    whole = [row.results for row in evaluate(rows, embedder=HashEmbedder(), cache=False)]
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 3)
    assert [row.results for row in evaluate(rows, embedder=HashEmbedder(), cache=False)] == whole


def test_a_text_too_long_is_refused_in_the_same_words_whatever_stands_beside_it(monkeypatch):
    """Or a resumed run, or one served from the cache, would not end as the first one did."""
    rows = [
        {"response": f"answer {i} " * (200 if i % 3 == 0 else 1), "reference": f"answer {i}"}
        for i in range(9)
    ]

    def run():
        return [row.results for row in evaluate(rows, window="error")]

    together = run()
    assert [results[0].state.value for results in together].count("not_measured") == 3
    assert run() == together  # now with the others from the cache
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 2)
    assert run() == together


REFUSED = {
    "no cases": (UsageError, {"cases": []}, "no cases"),
    "an empty generator": (UsageError, {"cases": iter(())}, "no cases"),
    "one case": (UsageError, {"cases": ROWS[0]}, "list"),
    "a number": (UsageError, {"cases": 7}, "list"),
    "a bad row": (DatasetError, {"cases": [*ROWS, {"response": {}}]}, r"cases\[3\]"),
    "a missing file": (DatasetError, {"cases": "nowhere.jsonl"}, "no such file"),
    "a mapping for records": (UsageError, {"mapping": {"response": "x"}}, "mapping"),
    "no metric": (UsageError, {"metrics": []}, "embed_answer_similarity"),
    "an unknown metric": (UnknownNameError, {"metrics": "embed_answer"}, "Did you mean"),
    "a metric twice": (UsageError, {"metrics": [AnswerSimilarity] * 2}, "twice"),
    "a number for a metric": (UsageError, {"metrics": [42]}, "42"),
    "a cutoff too high": (UsageError, {"cutoffs": {"embed_answer_similarity": 101}}, "0 to 100"),
    "a cutoff of NaN": (
        UsageError,
        {"cutoffs": {"embed_answer_similarity": float("nan")}},
        "number",
    ),
    "a cutoff nobody uses": (UsageError, {"cutoffs": {"other": 1}}, "not among"),
    "an unknown embedder": (UnknownNameError, {"embedder": "nobody"}, "nobody"),
    "a number for an embedder": (UsageError, {"embedder": 42}, "embedder must be"),
    "a class for an embedder": (UsageError, {"embedder": HashEmbedder}, "embedder must be"),
    "a window beside an object": (
        UsageError,
        {"window": "truncate"},
        "window and threads are for",
    ),
    "resume without a folder": (UsageError, {"resume": True}, "aef="),
    "resume of nothing": (RunFolderError, {"resume": True, "aef": "nowhere"}, "nowhere"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused_before_any_text_is_embedded(what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error, changes, message = REFUSED[what]
    asked = []
    options = {"cases": ROWS, "embedder": HashEmbedder(on_embed=asked.append)} | changes
    if changes.get("cases") is not None and not isinstance(
        changes["cases"], str | int | list | dict
    ):
        options["cases"] = iter(())  # an iterator serves one test only
    with pytest.raises(error, match=message):
        evaluate(options.pop("cases"), **options)
    assert asked == []


def test_texts_of_every_kind_go_through(tmp_path):
    strange = [
        "word " * 200_000,
        "emoji 😀 \U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u2028\u2029\x85 line ends",
        "nul \x00 and bell \x07",
        "right-to-left שלום",
        "e\u0301 and \u00e9",
        "<script>&amp;\"'",
    ]
    rows = [{"id": f"a\nb\t{i}", "response": t, "reference": t} for i, t in enumerate(strange)]
    many = [f"reference {i}" for i in range(10_000)]
    rows.append({"id": "x" * 5000, "response": "reference 7", "references": many})
    run = evaluate(rows, embedder=HashEmbedder(), aef=tmp_path / "run")
    assert states(run) == ["passed"] * len(rows)
    assert len({row.case.id for row in run}) == len(rows)
    best = list(run)[-1].results[0].measurement.details
    assert best["bestReference"] == 7


def test_half_a_character_is_refused_with_its_place():
    with pytest.raises(DatasetError, match=r"cases\[0\]: response.*half a character"):
        evaluate([{"response": "\ud800", "reference": "x"}], embedder=HashEmbedder())


def test_labels_are_counted_against_the_cutoff():
    rows = [ROWS[0] | {"label": "accept"}, ROWS[1] | {"label": Label.ACCEPT}]
    rows += [
        ROWS[0] | {"label": "reject"},
        ROWS[1] | {"label": "reject"},
        ROWS[2] | {"label": "reject"},
    ]
    (summary,) = evaluate(rows, embedder=HashEmbedder()).metrics
    counts = summary.labelled
    assert (counts.true_accepts, counts.false_rejects) == (1, 1)
    assert (counts.false_accepts, counts.true_rejects) == (1, 1)


def test_no_thread_outlives_a_run():
    before = set(threading.enumerate())  # of another test, one may end meanwhile
    evaluate(ROWS, embedder=None, cache=False)
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (EmbeddingSimilarity("dot", normalize=False, cutoff=0.0), "high similarity 44.0912: "),
        (EmbeddingSimilarity("dot", cutoff=0.0), "high similarity 44.09 %: "),
        (EmbeddingSimilarity("euclidean", cutoff=0.0), "high similarity 44.09 %: "),
        (AnswerSimilarity(), "low similarity 44.09 %: "),
    ],
    ids=repr,
)
def test_a_percentage_is_said_only_of_what_has_a_whole(metric, said):
    bounded = metric.spec.high is not None
    value = 0.440912 if bounded else 44.0912
    reason = decide(metric, Measured(similarity=value, value=value, score=None)).reason
    assert reason.startswith(said)


LONG = ("it broke \x1b[31m here\r\n" * 400).strip()


@pytest.mark.parametrize("broken", ["a long reason", "an error"])
def test_reasons_are_the_same_in_memory_in_a_folder_and_after_a_resume(
    tmp_path, monkeypatch, broken
):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 1)

    def measure(case, _):
        if broken == "an error":
            raise RuntimeError(LONG)
        return Unmeasured(LONG)

    def stop(done, _):
        if done == 2:
            raise KeyboardInterrupt

    memory = evaluate(ROWS, Mine(measure), HashEmbedder())
    with pytest.raises(KeyboardInterrupt):
        evaluate(ROWS, Mine(measure), HashEmbedder(), aef=tmp_path / "run", progress=stop)
    resumed = evaluate(ROWS, Mine(measure), HashEmbedder(), aef=tmp_path / "run", resume=True)
    (reason,) = memory.metrics[0].absent
    assert len(reason) <= 4096
    assert "\x1b" not in reason
    assert resumed.metrics == memory.metrics == load_run(tmp_path / "run").metrics
    assert [row.results for row in resumed] == [row.results for row in memory]


class Unloadable(HashEmbedder):
    """An embedder whose model cannot be loaded."""

    def load(self):
        raise ConfigurationError("the model is damaged")


def test_an_embedder_that_cannot_be_used_begins_no_run(tmp_path):
    with pytest.raises(ConfigurationError, match="damaged"):
        evaluate(ROWS, embedder=Unloadable(), aef=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_damaged_model_begins_no_run(tmp_path):
    from closecall.models.store import find_model

    model = shutil.copytree(find_model("minilm").folder, tmp_path / "model")
    weights = max((p for p in model.iterdir() if p.is_file()), key=lambda p: p.stat().st_size)
    with weights.open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)[0]
        file.seek(-1, 2)
        file.write(bytes([last ^ 1]))
    with pytest.raises(ConfigurationError):
        evaluate(ROWS, embedder=f"onnx:{model}", aef=tmp_path / "run", cache=False)
    assert not (tmp_path / "run").exists()
