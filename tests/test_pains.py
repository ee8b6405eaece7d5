"""What went wrong for people elsewhere and is promised not to happen here.

Each test is named after the promise; the comment in it says where somebody was hurt.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import closecall
from closecall import Case, State, evaluate, load_embedder
from closecall.cli import run as command_line
from closecall.embedders.base import Embedded, TextKey
from closecall.errors import EmbeddingError
from closecall.instrument import Instrument
from closecall.metrics.pooled import AnswerSimilarity, QueryContextSimilarity
from closecall.records import Role
from closecall.testing import HashEmbedder

ANSWER = "embed_answer_similarity"


class Scripted:
    """An embedder that does what a test tells it; it remembers what it was asked."""

    def __init__(self, vectors=None, **identity):
        self.instrument = Instrument(
            kind="test", model="scripted", provider="local", dims=2, **identity
        )
        self.vectors = vectors or (lambda texts, role: np.ones((len(texts), 2), np.float32))
        self.asked = []

    def embed(self, texts, role=Role.TEXT):
        self.asked.append((role, tuple(texts)))
        return np.asarray(self.vectors(texts, role), dtype=np.float32)


def answers(*pairs):
    return [
        Case(id=str(n), references=(reference,), response=response)
        for n, (reference, response) in enumerate(pairs, 1)
    ]


def fresh(cases, embedder, metrics=ANSWER, **more):
    return evaluate(cases, metrics, embedder, cache=False, **more)


def states(run):
    return [row.state for row in run]


def test_the_first_thing_shown_is_that_a_wrong_number_passes_and_a_rewording_fails(capsys):
    # run-llama/llama_index#22729
    assert command_line(["demo"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "A wrong answer it let through" in out
    assert "A right answer it turned away" in out
    assert "false accepts" in out
    assert "A changed number" in out


@pytest.mark.parametrize(
    ("reference", "reversed_"),
    [
        ("Opened bottles can be returned.", "Opened bottles cannot be returned."),
        ("The pass is valid for 14 days.", "The pass is valid for 40 days."),
        ("All seats face the stage.", "Some seats face the stage."),
        (
            "Hand in the signed form, the receipt and the old key to Priya before you leave.",
            "Hand in the signed form, the receipt and the old key to Jonas before you leave.",
        ),
    ],
)
def test_a_meaning_reversing_edit_is_never_a_silent_pass(reference, reversed_):
    # run-llama/llama_index#22729
    run = evaluate(answers((reference, reversed_), (reference, reference)), ANSWER, "minilm")
    edited, same = run
    assert edited.results[0].measurement.value > 70
    assert edited.state is State.INCONCLUSIVE
    assert edited.results[0].held
    assert same.state is State.PASSED
    assert run.exit_code == 11


def test_every_report_calls_an_uncalibrated_cutoff_uncalibrated(tmp_path, capsys, monkeypatch):
    # promptfoo/promptfoo#240
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.jsonl").write_text('{"response": "a", "reference": "a"}\n', encoding="utf-8")
    for form in ("table", "json", "jsonl", "csv", "markdown", "junit", "html"):
        assert command_line(["eval", "c.jsonl", "--no-aef", "-q", "--format", form]) == 0
        assert "default cutoff, not calibrated" in capsys.readouterr().out


def test_an_equal_name_for_another_model_is_another_question():
    # promptfoo/promptfoo#416: the weights behind a name changed, and every score with them.
    cases = answers(("a", "a"))
    base = fresh(cases, Scripted()).header
    for changed in (
        {"weights": "f" * 64},
        {"revision": "2"},
        {"tokenizer": "e" * 64},
        {"pooling": "cls"},
        {"prefixes": {"query": "query: "}},
        {"precision": "int8"},
        {"window": "truncate"},
        {"max_tokens": 128},
    ):
        other = fresh(cases, Scripted(**changed)).header
        assert other.instrument_digest != base.instrument_digest, changed
        assert other.definition_digest != base.definition_digest, changed
        assert other.metrics[0].evaluator_version != base.metrics[0].evaluator_version, changed
    assert fresh(cases, Scripted()).header.definition_digest == base.definition_digest


def test_the_definition_moves_with_what_is_asked_and_not_with_its_name(monkeypatch):
    cases = answers(("a", "b"))

    def digest(cases=cases, metrics=ANSWER, **more):
        return fresh(cases, Scripted(), metrics, **more).header.definition_digest

    base = digest()
    assert digest(name="another name", subject="bot") == base
    assert digest(cutoffs={ANSWER: 71}) != base
    assert digest(metrics="semantic_similarity") != base
    assert digest(cases=answers(("a", "c"))) != base
    assert digest(cases=answers(("a", "b"), ("a", "b"))) != base
    monkeypatch.setattr(AnswerSimilarity, "VERSION", "2")
    assert digest() != base


def test_the_bundled_model_is_pinned_by_the_hash_of_its_weights():
    instrument = load_embedder().instrument
    assert len(instrument.weights) == len(instrument.tokenizer) == 64
    assert instrument.revision == "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"


def test_an_embedder_that_was_passed_in_is_the_only_one_touched(monkeypatch):
    # langchain-ai/langchainjs#7738: a key was demanded although a local embedder was given.
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", "openai")
    monkeypatch.setattr("closecall.runs.asked.load_embedder", None)
    embedder = HashEmbedder()
    run = fresh(answers(("a", "a")), embedder)
    assert run.passed
    assert run.header.instrument == embedder.instrument


def test_making_a_metric_needs_no_key_no_model_and_no_network():
    # langchain-ai/langchain#27571
    clean = {k: v for k, v in os.environ.items() if "KEY" not in k}
    code = (
        "import socket; socket.socket.connect = None; import sys, closecall as c;"
        "c.AnswerSimilarity(); c.QueryContextSimilarity(); c.EmbeddingSimilarity('dot');"
        "assert 'onnxruntime' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=clean, timeout=60)


def test_nan_from_an_embedder_becomes_a_reason_and_never_a_score(tmp_path):
    # vibrantlabsai/ragas#2818, ollama/ollama#9639
    def nan(texts, role):
        return [[np.nan, 1] if "bad" in text else [1, 1] for text in texts]

    run = fresh(answers(("a", "a"), ("a", "bad"), ("inf", "b")), Scripted(nan))
    assert states(run) == [State.PASSED, State.NOT_MEASURED, State.PASSED]
    _, broken, _ = run
    reason = broken.results[0].reason
    assert "NaN or infinity" in reason
    assert run.metrics[0].mean == 100.0
    assert run.exit_code == 11
    from closecall.report.formats import save

    save(run, "json", tmp_path / "r.json")
    text = (tmp_path / "r.json").read_text(encoding="utf-8")
    json.loads(text, parse_constant=pytest.fail)


@pytest.mark.parametrize(
    "rows",
    [[[0.0, 0.0]], [[np.inf, 1.0]], [[1.0, 1.0, 1.0]], [1.0, 1.0], [], [[1, "x"]]],
    ids=["zero", "infinite", "too wide", "flat", "empty", "text"],
)
def test_a_vector_that_cannot_be_compared_is_never_compared(rows):
    def odd(texts, role=Role.TEXT):
        return np.array(rows * len(texts))

    embedder = Scripted()
    embedder.embed = odd
    run = fresh(answers(("a", "b")), embedder)
    assert states(run) == [State.NOT_MEASURED]
    assert run.metrics[0].mean is None


def test_a_missing_reference_is_said_at_once_and_nothing_is_sent_for_it():
    # vibrantlabsai/ragas#447
    embedder = HashEmbedder()
    run = fresh([Case(id="1", response="never sent"), *answers(("b", "b"))], embedder)
    assert states(run) == [State.NOT_MEASURED, State.PASSED]
    missing, _ = run
    assert missing.results[0].reason == "the case's reference is missing"
    assert "never sent" not in embedder.texts


def test_a_run_in_which_nothing_was_measured_is_not_green():
    # dotnet/extensions#7580: every request failed and the suite exited with 0.
    def refuse(texts):
        raise EmbeddingError("HTTP 400: bad request")

    run = fresh(answers(*[("a", f"b{i}") for i in range(40)]), HashEmbedder(on_embed=refuse))
    assert run.exit_code == 11
    assert not run.passed
    ((reason, count),) = run.metrics[0].absent.items()
    assert "HTTP 400: bad request" in reason
    assert count == 40


def test_a_text_longer_than_the_window_is_never_cut_in_silence():
    # huggingface/sentence-transformers#4060
    long = "the sky is blue and the grass is green " * 60
    (whole,) = evaluate(answers((long, "blue")), ANSWER, cache=False)
    tokens = whole.results[0].measurement.tokens["reference"]
    assert tokens.seen == tokens.total > 256
    run = evaluate(answers((long, "blue")), ANSWER, cache=False, window="truncate")
    (cut,) = run
    assert cut.results[0].measurement.tokens["reference"].truncated
    assert run.metrics[0].truncated == 1
    refused = evaluate(answers((long, "blue"), ("a", "a")), ANSWER, cache=False, window="error")
    assert states(refused) == [State.NOT_MEASURED, State.PASSED]


def test_a_verdict_that_rounding_could_turn_is_marked_and_neighbours_turn_none():
    # huggingface/sentence-transformers#2312
    embedder = load_embedder()
    pair = ("The parcel came late.", "The package was late.")
    (alone,) = fresh(answers(pair), embedder)
    value = alone.results[0].measurement.value
    crowd = answers(*[("word " * n, "other " * (60 - n)) for n in range(1, 60)], pair)
    *_, among = fresh(crowd, embedder)
    assert among.results[0].measurement.value == pytest.approx(value, abs=1e-4)
    (near,) = fresh(answers(pair), embedder, cutoffs={ANSWER: value})
    assert near.results[0].borderline
    assert near.state is State.PASSED
    assert not alone.results[0].borderline


def test_scoring_opens_no_socket():
    # huggingface/sentence-transformers#3199, confident-ai/deepeval#506
    code = """
import socket
def refuse(*args, **kwargs): raise SystemExit("a socket was used")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
socket.create_connection = refuse
from closecall.cli import run
assert run(["score", "blue sky", "blue sky"]) == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u00a0"])
def test_a_blank_text_is_never_sent_and_spoils_no_other(blank):
    # Azure-Samples/azure-search-openai-demo#1134
    embedder = HashEmbedder(on_embed=lambda texts: [_not_blank(text) for text in texts])
    cases = [
        Case(id="1", references=(blank, "a"), response="a", context=(blank, "c"), input="q"),
        Case(id="2", references=(blank,), response="a", context=(blank,), input=blank),
        Case(id="3", references=("a",), response=blank, context=("c",), input="q"),
    ]
    metrics = f"{ANSWER},embed_response_context,embed_query_context,embedding_similarity"
    run = fresh(cases, embedder, metrics)
    assert [s.measured for s in run.metrics] == [1, 1, 2, 1]


def _not_blank(text):
    if not text.strip():
        raise ValueError("input must not be empty")


def test_a_question_is_embedded_as_a_query_and_a_context_as_a_passage():
    # qdrant/fastembed#251
    embedder = Scripted(prefixes={"query": "query: ", "document": "passage: "})
    case = Case(id="1", input="q", context=("c",), response="r", references=("a",))
    fresh([case], embedder, [AnswerSimilarity(), QueryContextSimilarity()])
    roles = {text: role for role, texts in embedder.asked for text in texts}
    assert roles == {"q": Role.QUERY, "c": Role.DOCUMENT, "r": Role.TEXT, "a": Role.TEXT}


def test_a_model_without_prefixes_embeds_a_text_once_whatever_its_role():
    embedder = Scripted()
    case = Case(id="1", input="same", context=("same",), response="same", references=("same",))
    fresh([case], embedder, f"{ANSWER},embed_query_context,embed_response_context")
    assert [texts for _, texts in embedder.asked] == [("same",)]


def test_vectors_of_one_model_are_never_served_for_another(tmp_path):
    # confident-ai/deepeval#2840, Krzysztof318/MailFathom#2063
    def score(vectors, **identity):
        embedder = Scripted(vectors, **identity)
        (row,) = evaluate(answers(("a", "b")), ANSWER, embedder, cache=tmp_path)
        return row.results[0].measurement.value, len(embedder.asked)

    def near(texts, role):
        return [[1, 0] for _ in texts]

    def apart(texts, role):
        return [[1, 0] if text == "a" else [0, 1] for text in texts]

    assert score(near, revision="1") == (100.0, 1)
    assert score(apart, revision="1") == (100.0, 0), "served from the cache"
    for other in (
        {"revision": "2"},
        {"revision": "1", "window": "truncate"},
        {"revision": "1", "pooling": "cls"},
        {"revision": "1", "precision": "int8"},
        {"revision": "1", "prefixes": {"text": "x: "}},
    ):
        assert score(apart, **other) == (0.0, 1), other


def test_what_failed_once_is_asked_again_the_next_time(tmp_path):
    # confident-ai/deepeval#734, Beledarian/Beledarians_LM_Studio_Toolbox#97
    def refuse(texts):
        raise EmbeddingError("busy")

    cases = answers(("a", "a"))
    first = evaluate(cases, ANSWER, HashEmbedder(on_embed=refuse), cache=tmp_path)
    again = evaluate(cases, ANSWER, HashEmbedder(), cache=tmp_path)
    assert (states(first), states(again)) == ([State.NOT_MEASURED], [State.PASSED])


def test_a_printed_score_never_contradicts_its_verdict(tmp_path, capsys):
    # camunda/camunda#50583: a score printed as 0.80 failed a cutoff of 0.80.
    def almost(texts, role):
        return [[1, 0] if t == "a" else [0.79996, (1 - 0.79996**2) ** 0.5] for t in texts]

    run = fresh(answers(("a", "b")), Scripted(almost), cutoffs={ANSWER: 80})
    assert states(run) == [State.FAILED]
    (row,) = run
    assert "79.996 < 80.000" in row.results[0].reason
    from closecall.report.formats import write

    write(run, "table", sys.stdout)
    out = capsys.readouterr().out
    assert "80.0  1" not in out
    assert "(failed)" in out


def test_a_value_exactly_at_the_cutoff_is_on_one_side_only():
    # promptfoo/promptfoo#10352
    def exact(texts, role):
        return [[1, 0] if t == "a" else [0.8, 0.6] for t in texts]

    assert states(fresh(answers(("a", "b")), Scripted(exact), cutoffs={ANSWER: 80})) == [
        State.PASSED
    ]


def test_cases_that_failed_to_run_stay_in_the_denominator():
    # UKGovernmentBEIS/inspect_ai#4286
    def refuse(texts):
        bad = [i for i, text in enumerate(texts) if text == "bad"]
        if bad:
            raise EmbeddingError("refused", bad)

    run = fresh(answers(("a", "a"), ("a", "bad")), HashEmbedder(on_embed=refuse))
    summary = run.metrics[0]
    assert (summary.passed, summary.measured, summary.asked) == (1, 1, 2)
    assert run.cases.unmeasured == 1


def test_one_case_that_errs_fails_no_later_one():
    # confident-ai/deepeval#915
    class OnceBroken(AnswerSimilarity):
        def measure(self, case, vectors):
            if case.id == "2":
                raise RuntimeError("only here")
            return super().measure(case, vectors)

    run = fresh(answers(*[("a", "a")] * 4), HashEmbedder(), OnceBroken())
    assert states(run) == [State.PASSED, State.ERROR, State.PASSED, State.PASSED]


def test_a_cosine_is_never_above_one():
    # facebookresearch/faiss#915
    rng = np.random.default_rng(5)
    metric = AnswerSimilarity()
    case = Case(id="1", references=("a",), response="b")
    for scale in (1e-18, 1e-3, 1.0, 1e6, 1e18):
        vector = (rng.standard_normal(384) * scale).astype(np.float32)
        same = {TextKey("a"): Embedded(vector), TextKey("b"): Embedded(vector * np.float32(1.5))}
        assert metric.measure(case, same).similarity == 1.0
        opposite = {TextKey("a"): Embedded(vector), TextKey("b"): Embedded(-vector)}
        assert metric.measure(case, opposite).similarity == -1.0


@pytest.mark.parametrize("method", ["cosine", "euclidean", "manhattan", "dot"])
def test_higher_is_closer_for_every_method_so_one_comparison_fits_all(method):
    # google/adk-python#6739, huggingface/sentence-transformers#3886
    metric = closecall.EmbeddingSimilarity(method, cutoff=0.45)

    def placed(texts, role):
        return [[1, 0] if t == "a" else [0.95, 0.312] if t == "near" else [0, 1] for t in texts]

    run = fresh(answers(("a", "near"), ("a", "far")), Scripted(placed), metric)
    assert states(run) == [State.PASSED, State.FAILED]


def test_a_mean_above_the_cutoff_hides_no_failed_case():
    # EntityProcess/agentv#882
    run = fresh(answers(*[("a", "a")] * 9, ("a", "z")), HashEmbedder())
    assert run.metrics[0].mean > run.metrics[0].cutoff
    assert run.exit_code == 1


def test_files_are_utf_8_whatever_the_encoding_of_the_machine(tmp_path):
    # openai/evals#690: a Windows code page broke the reading of a data set.
    case = {"id": "größe", "response": "Größe – 日本", "reference": "Größe – 日本"}
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(case, ensure_ascii=False), encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "LC_ALL": "C"}
    env["PYTHONCOERCECLOCALE"] = "0"
    said = subprocess.run(
        [
            sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning",
            "-m", "closecall", "eval", "c.jsonl", "-o", "r.json", "--aef", "run",
        ],
        check=False, capture_output=True, env=env, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert report["results"][0]["name"] == "größe"
    (row,) = closecall.load_run(tmp_path / "run")
    assert row.case.response == "Größe – 日本"
