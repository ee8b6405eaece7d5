"""Metrics by name, with options and cutoffs, and what is said of a wrong name."""

import pytest

from closecall.errors import UnknownNameError, UsageError
from closecall.metrics.embedding_similarity import EmbeddingSimilarity
from closecall.metrics.pooled import AnswerSimilarity, ResponseContextSimilarity
from closecall.metrics.registry import BUILT_IN, DEFAULT, load_metric, load_metrics, metric_class


@pytest.mark.parametrize(
    "name", [name for name in BUILT_IN if not getattr(metric_class(name), "REQUIRED", ())]
)
def test_every_metric_answers_to_its_name(name):
    metric = load_metric(name)
    assert metric.spec.id == metric.spec.name == name
    assert type(metric) is metric_class(name)
    assert name == type(metric).NAME


def test_the_default_is_answer_similarity():
    assert DEFAULT == AnswerSimilarity.NAME


def test_options_stand_after_colons():
    metric = load_metric("embedding_similarity: method = euclidean :normalize=FALSE", 0.5)
    assert (metric.method, metric.normalize, metric.cutoff) == ("euclidean", False, 0.5)


def test_the_id_of_a_metric_loads_the_same_metric():
    first = EmbeddingSimilarity("manhattan", normalize=False, references="mean")
    assert load_metric(first.spec.id).spec == first.spec


def test_an_unknown_name_suggests_the_nearest_and_lists_them_all():
    with pytest.raises(UnknownNameError) as caught:
        load_metric("embed_anser_similarity")
    assert "Did you mean embed_answer_similarity?" in str(caught.value)
    assert all(name in str(caught.value) for name in BUILT_IN)
    assert caught.value.exit_code == 3
    with pytest.raises(UnknownNameError) as caught:
        load_metric("warmth")
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("embedding_similarity:euclidean", "options are written NAME=VALUE, got 'euclidean'"),
        ("embedding_similarity:", "options are written NAME=VALUE"),
        ("embedding_similarity:=dot", "options are written NAME=VALUE"),
        ("embedding_similarity:metod=dot", "no option 'metod'; its options are method, normalize"),
        ("embedding_similarity:method=cos", "method must be one of"),
        ("embedding_similarity:normalize=maybe", "normalize must be true or false"),
        ("embedding_similarity:method=dot:method=cosine", "'method' is given twice"),
        (
            "semantic_similarity:method=dot",
            "semantic_similarity has no option 'method'; it has no",
        ),
        ("embed_answer_similarity:cutoff=3", "it has no options"),
    ],
)
def test_a_wrong_option_is_refused_with_those_there_are(name, said):
    with pytest.raises(UsageError) as caught:
        load_metric(name)
    assert said in str(caught.value)


def test_names_instances_classes_and_commas_may_be_mixed():
    metrics = load_metrics(
        [
            "embed_answer_similarity, embed_query_context",
            EmbeddingSimilarity(),
            "semantic_similarity",
        ]
    )
    assert [m.spec.id for m in metrics] == [
        "embed_answer_similarity",
        "embed_query_context",
        "embedding_similarity",
        "semantic_similarity",
    ]
    assert load_metrics(ResponseContextSimilarity)[0].cutoff == 50.0
    one = AnswerSimilarity(61)
    assert load_metrics(one) == [one]
    assert [m.spec.id for m in load_metrics("semantic_similarity,,")] == ["semantic_similarity"]


@pytest.mark.parametrize("names", ["", ",", [], [" "]])
def test_no_metric_at_all_is_refused(names):
    with pytest.raises(UsageError, match="at least one metric: embed_answer_similarity"):
        load_metrics(names)


@pytest.mark.parametrize("names", [7, [None], [object()]], ids=["int", "none", "object"])
def test_what_is_no_metric_is_refused(names):
    with pytest.raises(UsageError, match="expected a metric or the name of one"):
        load_metrics(names)


def test_a_metric_named_twice_is_refused():
    with pytest.raises(UsageError, match="named twice"):
        load_metrics(["semantic_similarity", "semantic_similarity"])
    different = "embedding_similarity,embedding_similarity:method=dot"
    assert len(load_metrics(different)) == 2


def test_cutoffs_by_name_or_by_id():
    names = "embed_answer_similarity,embedding_similarity:method=dot,embedding_similarity"
    cutoffs = {
        "embed_answer_similarity": 60,
        "embedding_similarity:method=dot": 0.4,
        "embedding_similarity": 0.5,
    }
    assert [m.cutoff for m in load_metrics(names, cutoffs)] == [60.0, 0.4, 0.5]


def test_a_cutoff_for_a_metric_that_is_not_asked_for_is_refused():
    with pytest.raises(UsageError) as caught:
        load_metrics("semantic_similarity", {"embed_answer_similarity": 60})
    assert "'embed_answer_similarity', which is not among the metrics" in str(caught.value)


def test_a_cutoff_that_could_not_take_effect_is_refused_and_says_why():
    with pytest.raises(UsageError, match="to the metric itself"):
        load_metrics([AnswerSimilarity()], {"embed_answer_similarity": 60})


def test_a_wrong_cutoff_names_its_metric():
    with pytest.raises(UsageError, match=r"embed_answer_similarity: .*did you mean 70"):
        load_metrics("embed_answer_similarity", {"embed_answer_similarity": 0.7})


@pytest.mark.parametrize("odd", [5, ["token_f1", 0.5], "token_f1=0.5"])
def test_cutoffs_that_are_no_mapping_are_refused_in_words(odd):
    with pytest.raises(UsageError, match="cutoffs must be a mapping such as"):
        load_metrics("token_f1", odd)
