"""A pair model trained here, as a metric: what it learnt, and what of it reaches a score."""

import json
import os

import numpy as np
import pair_world
import pytest
from pair_world import LABELS, by_hand, graph, reordered, write
from tokenizers.models import Unigram

from closecall.errors import ModelError, ModelIntegrityError, UsageError
from closecall.metrics.base import BatchMetric, LoadingMetric
from closecall.metrics.pairs.metric import CrossEncoderScore
from closecall.metrics.registry import load_metric
from closecall.records import Case, Measured, Unmeasured


def case(response="the cat is red", *references, **more):
    return Case(id="1", response=response, references=references, **more)


def measured(metric, one):
    found = metric.measure(one, {})
    assert isinstance(found, Measured), found
    return found


def reason(metric, one):
    found = metric.measure(one, {})
    assert isinstance(found, Unmeasured), found
    return found.reason


def test_the_model_learnt_what_follows_from_what(folder):
    metric = CrossEncoderScore(model=folder, direction="to_response")
    held_out = pair_world.pairs(300, seed=2)
    right = 0
    for first, second, label in held_out:
        said = measured(metric, case(second, first)).details["toResponse"]
        right += max(said, key=said.get) == LABELS[label]
    assert right >= 0.95 * len(held_out)


def test_a_value_is_what_the_weights_say_by_hand(folder, weights):
    metric = CrossEncoderScore(model=folder)
    reference, response = "in the barn the cat is red and small", "the cat is red"
    found = measured(metric, case(response, reference))
    there, back = by_hand(weights, reference, response), by_hand(weights, response, reference)
    assert found.value == pytest.approx(min(there[0], back[0]), abs=2e-6)
    assert found.score == pytest.approx(100 * found.value, abs=1e-4)
    assert found.similarity == found.value
    for name, expected in (("toResponse", there), ("fromResponse", back)):
        assert list(found.details[name]) == list(LABELS)
        assert list(found.details[name].values()) == pytest.approx(list(expected), abs=2e-6)


@pytest.mark.parametrize(
    ("direction", "shown"),
    [
        ("auto", ["toResponse", "fromResponse"]),
        ("both", ["toResponse", "fromResponse"]),
        ("to_response", ["toResponse"]),
        ("from_response", ["fromResponse"]),
    ],
)
def test_directions_are_read_as_asked_and_the_lowest_counts(folder, weights, direction, shown):
    metric = CrossEncoderScore(model=folder, direction=direction)
    more, less = "the cat is red and small", "the cat is red"
    found = measured(metric, case(less, more))
    assert [name for name in found.details if name.endswith("esponse")] == shown
    ways = {
        "toResponse": by_hand(weights, more, less),
        "fromResponse": by_hand(weights, less, more),
    }
    assert found.value == pytest.approx(min(ways[name][0] for name in shown), abs=2e-6)


def test_one_way_entailment_is_no_agreement(folder):
    more, less = "the cat is red and small", "the cat is red"
    one_way = CrossEncoderScore(model=folder, direction="to_response")
    both = CrossEncoderScore(model=folder)
    assert measured(one_way, case(less, more)).value > 0.9
    assert measured(both, case(less, more)).value < 0.5
    assert measured(both, case(less, less)).value > 0.9


def test_the_best_reference_counts_and_is_named_as_it_was_written(folder):
    metric = CrossEncoderScore(model=folder)
    found = measured(
        metric,
        case("the cat is red", "the dog is blue", "  ", "the cat is red", "the cat is tall"),
    )
    assert found.details["bestReference"] == 2
    assert found.details["references"] == 3
    assert found.value == measured(metric, case("the cat is red", "the cat is red")).value


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
@pytest.mark.parametrize("spelling", [str.upper, str.title, lambda name: f" {name} "])
def test_the_order_of_labels_is_read_and_changes_no_value(
    tmp_path, weights, folder, order, spelling
):
    names = [spelling(LABELS[at]) for at in order]
    other = write(tmp_path / "other", reordered(weights, order), labels=names)
    one = case("the cat is red", "the cat is blue and small")
    for direction in ("to_response", "both"):
        values = [
            measured(CrossEncoderScore(model=path, direction=direction), one).value
            for path in (folder, other)
        ]
        assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_labels_without_names_are_refused_and_say_what_to_give(tmp_path, weights):
    unclear = write(tmp_path / "m", weights, labels=("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(ModelError) as caught:
        CrossEncoderScore(model=unclear)
    said = str(caught.value)
    assert "'LABEL_0', 'LABEL_1', 'LABEL_2'" in said
    assert "positive=" in said
    assert str(unclear / "config.json") in said
    told = CrossEncoderScore(model=unclear, positive="label_0", direction="both", question=True)
    clear = CrossEncoderScore(
        model=write(tmp_path / "clear", weights), direction="both", question=True
    )
    one = case("the cat is red", "the cat is blue", input="what colour is the cat?")
    assert measured(told, one).value == measured(clear, one).value


def test_the_question_stands_before_both_texts(folder, weights):
    one = case("red", "the cat is red", input="what colour is the cat?")
    asked = measured(CrossEncoderScore(model=folder), one)
    question = "what colour is the cat? "
    there = by_hand(weights, f"{question}the cat is red", f"{question}red")
    back = by_hand(weights, f"{question}red", f"{question}the cat is red")
    assert asked.value == pytest.approx(min(there[0], back[0]), abs=2e-6)
    assert asked.details["question"] is True
    bare = measured(CrossEncoderScore(model=folder, question=False), one)
    assert "question" not in bare.details
    assert bare.value != asked.value
    without = case("red", "the cat is red")
    assert measured(CrossEncoderScore(model=folder), without).details["question"] is False
    assert reason(CrossEncoderScore(model=folder, question=True), without) == (
        "the case's input is missing"
    )


def test_the_best_passage_counts_as_premise(folder, weights):
    metric = CrossEncoderScore(model=folder, sides="context")
    passages = ("the dog is blue and tall", "in the barn the cat is red and small", "")
    found = measured(metric, Case(id="1", response="the cat is red", context=passages))
    assert found.details["bestPassage"] == 1
    assert found.details["passages"] == 2
    assert found.value == pytest.approx(
        by_hand(weights, passages[1], "the cat is red")[0], abs=2e-6
    )
    assert reason(metric, case("the cat is red", "a")) == "the case's context is missing"


def test_a_model_of_relevance_reads_the_input_first(tmp_path, weights):
    single = weights[0][:, :1], weights[1][:1]
    folder = write(tmp_path / "m", single, labels=("LABEL_0",))
    metric = CrossEncoderScore(model=folder, sides="query")
    one = Case(id="1", input="what colour is the cat?", response="the cat is red")
    logit = pair_world.features(one.input, one.response) @ single[0] + single[1]
    found = measured(metric, one)
    assert found.value == pytest.approx(1 / (1 + np.exp(-logit[0])), abs=2e-6)
    assert (metric.spec.low, metric.spec.high) == (0.0, 1.0)
    assert set(found.tokens) == {"input", "response"}
    assert metric.spec.needs == ("input", "response")


@pytest.mark.parametrize(
    "said",
    [
        {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"},
        {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}},
    ],
)
def test_a_score_left_as_it_is_has_no_bounds(tmp_path, weights, said):
    single = weights[0][:, :1] * 9, weights[1][:1]
    metric = CrossEncoderScore(model=write(tmp_path / "m", single, labels=("x",), **said))
    found = measured(metric, case("the cat is red", "the cat is red"))
    logit = pair_world.features("the cat is red", "the cat is red") @ single[0] + single[1]
    assert found.value == pytest.approx(logit[0], abs=1e-4)
    assert found.score is None
    assert (metric.spec.low, metric.spec.high) == (None, None)
    assert CrossEncoderScore(-3.5, model=metric.folder.folder).cutoff == -3.5


def test_a_batch_gives_what_one_by_one_gives(folder):
    metric = CrossEncoderScore(model=folder)
    assert isinstance(metric, BatchMetric)
    assert isinstance(metric, LoadingMetric)
    cases = [
        case(second, first, second, input=None if at % 2 else "what colour ?")
        for at, (first, second, _) in enumerate(pair_world.pairs(90, seed=3))
    ]
    cases[7:7] = [case(" "), case("the cat", "好")]
    together = metric.measure_batch(cases, {})
    assert len(together) == len(cases)
    for one, found in zip(cases, together, strict=True):
        alone = metric.measure(one, {})
        if isinstance(alone, Unmeasured):
            assert found == alone
        else:
            assert found.value == pytest.approx(alone.value, abs=1e-6)
            assert found.tokens == alone.tokens


@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads_change_nothing(folder, monkeypatch, threads):
    cases = [case(b, a) for a, b, _ in pair_world.pairs(60, seed=4)]
    expected = [one.value for one in CrossEncoderScore(model=folder).measure_batch(cases, {})]
    monkeypatch.setenv("CLOSECALL_THREADS", threads)
    monkeypatch.setattr("closecall.metrics.pairs.scoring.BATCH_TOKENS", 32)
    found = CrossEncoderScore(model=folder).measure_batch(cases, {})
    assert [one.value for one in found] == pytest.approx(expected, abs=1e-6)


def test_rows_of_a_quantised_graph_do_not_change_each_other(tmp_path, weights):
    model = graph(weights, quantised=True)
    metric = CrossEncoderScore(model=write(tmp_path / "m", weights, model=model))
    cases = [case(b, a) for a, b, _ in pair_world.pairs(30, seed=5)]
    together = [one.value for one in metric.measure_batch(cases, {})]
    assert together == [measured(metric, one).value for one in cases]


@pytest.mark.parametrize("kind", [6, 7], ids=["int32", "int64"])
def test_either_kind_of_whole_number_will_do(tmp_path, weights, folder, kind):
    other = write(tmp_path / "m", weights, model=graph(weights, ids=kind, output="out"))
    one = case("the cat is red", "the cat is small")
    assert (
        measured(CrossEncoderScore(model=other), one).value
        == measured(CrossEncoderScore(model=folder), one).value
    )


def test_a_graph_may_lie_in_a_folder_of_its_own(tmp_path, weights, folder):
    other = write(tmp_path / "m", weights, place="onnx/model.onnx")
    one = case("the cat is red", "the cat is small")
    found = [measured(CrossEncoderScore(model=path), one).value for path in (folder, other)]
    assert found[0] == found[1]


def test_only_the_pair_with_a_broken_output_is_not_measured(tmp_path, weights):
    huge = weights[0].copy()
    huge[pair_world.IDS["crow"], 0] = 3e38
    huge[pair_world.IDS["thin"], 0] = 3e38  # the sum of both has no float32
    metric = CrossEncoderScore(
        model=write(tmp_path / "m", (huge, weights[1])), direction="to_response"
    )
    cases = [
        case("the cat is red", "the cat is red"),
        case("the crow is thin", "the cat is red"),
        case("the cat is red", "the dog is red"),
    ]
    good, bad, other = metric.measure_batch(cases, {})
    assert bad == Unmeasured("the model gave an output that is not finite")
    assert isinstance(good, Measured)
    assert isinstance(other, Measured)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (case("", "a"), "the case's response is blank"),
        (Case(id="1", references=("a",)), "the case's response is missing"),
        (case("the cat"), "the case's reference is missing"),
        (case("好", "the cat"), "the response has no token that the model knows"),
        (case("the cat", "好"), "the reference has no token that the model knows"),
        (case("the cat \ud800", "the cat"), "the response holds half of a surrogate pair"),
        (case("the cat", "\udfff"), "the reference holds half of a surrogate pair"),
    ],
)
def test_what_cannot_be_read_is_not_measured_and_says_why(folder, one, said):
    assert reason(CrossEncoderScore(model=folder), one).startswith(said)


def test_a_reference_that_cannot_be_read_is_left_out_and_named(folder):
    metric = CrossEncoderScore(model=folder)
    found = measured(metric, case("the cat is red", "好", "the cat is red"))
    assert found.details["unreadReferences"] == [0]
    assert found.details["bestReference"] == 1


def test_a_spelled_out_separator_ends_no_text(folder):
    metric = CrossEncoderScore(model=folder, direction="to_response")
    tricked = measured(metric, case("the cat is blue [SEP]", "the cat is blue"))
    spelled = {pair_world.IDS[sign] for sign in ("[", "sep", "]")}
    row = metric._ready().tokenizer.text("the cat is blue [SEP]").ids.tolist()
    assert spelled <= set(row)
    assert pair_world.IDS["[SEP]"] not in row
    assert tricked.tokens["response"].total == 7


def test_the_id_of_a_metric_loads_the_same_metric(folder):
    first = CrossEncoderScore(model=folder, direction="both", question=False)
    assert first.spec.id == f"cross_encoder:model={folder}:direction=both:question=false"
    again = load_metric(first.spec.id)
    assert again.spec == first.spec


def test_a_relative_path_becomes_an_absolute_one(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    metric = load_metric("cross_encoder:model=./nli")
    assert metric.spec.id == f"cross_encoder:model={folder}"
    monkeypatch.chdir("/")
    assert load_metric(metric.spec.id).spec == metric.spec


def test_a_name_is_a_folder_among_ones_own_models(tmp_path, weights, monkeypatch):
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(tmp_path / "models"))
    write(tmp_path / "models" / "my-nli", weights)
    metric = load_metric("cross_encoder:model=my-nli")
    assert metric.spec.id == "cross_encoder:model=my-nli"
    monkeypatch.chdir(tmp_path / "models")
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(tmp_path / "none"))
    with pytest.raises(ModelError, match=r"no folder my-nli in .*none.*write .*model=\./my-nli"):
        load_metric("cross_encoder:model=my-nli")


@pytest.mark.parametrize("name", ["a,b", "a:b", "a\nb", "a "])
def test_a_path_that_could_not_be_read_back_is_refused(tmp_path, weights, name):
    if os.name != "posix":
        pytest.skip("such names cannot be made here")
    folder = write(tmp_path / name, weights)
    with pytest.raises(UsageError, match=r"cannot stand in a metric's name.*give\s+its name"):
        CrossEncoderScore(model=folder)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sides": "answer"}, "sides must be one of reference, context, query"),
        ({"direction": "up"}, "direction must be one of auto, both"),
        ({"question": "maybe"}, "question must be true or false"),
        ({"sides": "context", "direction": "both"}, "direction=both is for sides=reference"),
        ({"sides": "query", "question": True}, "the input is one of the two texts"),
        ({"positive": "yes"}, "not a label of this model"),
        ({"positive": "a:b"}, "positive must be the name of a label"),
        ({"cutoff": 70}, "did you mean 0.7"),
    ],
)
def test_a_wrong_option_is_refused(folder, options, said):
    with pytest.raises(UsageError, match=said):
        CrossEncoderScore(model=folder, **options)


def test_a_metric_without_a_model_says_how_to_name_one():
    with pytest.raises(UsageError, match=r"which model.*cross_encoder:model="):
        load_metric("cross_encoder")


@pytest.mark.parametrize("part", ["model.onnx", "tokenizer.json"])
def test_a_changed_file_is_noticed_before_the_first_pair(folder, weights, part):
    metric = CrossEncoderScore(model=folder)
    if part == "model.onnx":
        write(folder, (weights[0] * 1.01, weights[1]))
    else:
        text = (folder / part).read_text(encoding="utf-8")
        (folder / part).write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(ModelIntegrityError, match=part):
        metric.load()


@pytest.mark.parametrize("part", ["weights", "tokenizer.json", "config.json"])
def test_the_version_moves_with_every_file(folder, weights, part):
    before = CrossEncoderScore(model=folder).spec.version
    assert CrossEncoderScore(model=folder).spec.version == before
    if part == "weights":
        write(folder, (weights[0] * 1.01, weights[1]))
    else:
        text = (folder / part).read_text(encoding="utf-8")
        (folder / part).write_text(json.dumps(json.loads(text), indent=3), encoding="utf-8")
    assert CrossEncoderScore(model=folder).spec.version != before


def test_the_version_moves_with_every_choice(folder):
    versions = {
        CrossEncoderScore(model=folder, **options).spec.version
        for options in (
            {},
            {"direction": "to_response"},
            {"direction": "from_response"},
            {"question": False},
            {"question": True},
            {"positive": "neutral"},
            {"sides": "context"},
        )
    }
    assert len(versions) == 7


def test_what_a_unigram_model_does_not_know_is_seen_as_well(tmp_path, weights):
    folder = write(tmp_path, weights)
    own = pair_world.tokenizer()
    pieces = [(word, -float(at)) for at, word in enumerate(pair_world.VOCABULARY)]
    own.model = Unigram(pieces, unk_id=1)
    own.save(str(folder / "tokenizer.json"))
    metric = CrossEncoderScore(model=folder)
    assert "no token that the model knows" in reason(metric, case("好", "the cat"))
    assert measured(metric, case("the 好", "the cat")).tokens["response"].unknown == 1
