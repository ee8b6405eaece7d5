"""What a provider refuses: the text at fault is found, a matter of settings is said at once."""

import numpy as np
import pytest
from asked import TEXTS, after_first, expected, outcomes
from fake_provider import KEY, Said, error

from closecall.embedders.base import Failure
from closecall.embedders.remote.retry import Patience
from closecall.errors import ConfigurationError

pytestmark = pytest.mark.loopback


def test_a_text_that_is_refused_is_found_and_the_others_are_measured(serve, connect):
    provider = serve(most=20)
    long = "word " * 30
    texts = [f"text {n}" for n in range(20)]
    texts.insert(13, long)
    found = outcomes(connect(provider), texts)
    bad = [text for text, outcome in found.items() if isinstance(outcome, Failure)]
    assert bad == [long]
    assert "HTTP 400: maximum context length" in found[long].reason
    # A search by halves, not one by one.
    assert len(provider.requests) < 14


@pytest.mark.parametrize("style", ["openai", "openai-compatible"])
def test_too_many_texts_are_sent_in_parts_and_the_number_is_learnt(style, serve, connect):
    provider = serve(style, limit=10)
    texts = [f"text {n}" for n in range(96)]
    np.testing.assert_array_equal(connect(provider).embed(texts), expected(texts))
    refused = [asked for asked in provider.asked if len(asked) > 10]
    # What is planned already is refused as well; what follows fits.
    assert [len(asked) for asked in refused].count(32) <= 2
    assert len(provider.asked[-1]) == 8


def test_where_every_text_is_refused_it_is_not_tried_to_the_last(serve, connect):
    provider = serve()
    provider.script = after_first(lambda received: error("nothing pleases it", param="input"))
    found = outcomes(connect(provider), [f"text {n}" for n in range(256)])
    assert all("nothing pleases it" in outcome.reason for outcome in found.values())
    assert len(provider.requests) < 80
    assert any("not sent" in outcome.reason for outcome in found.values())


def test_a_server_that_breaks_over_one_text_measures_the_others(serve, connect, time):
    # ollama/ollama#9639: NaN cannot be written as JSON there, and the whole batch fails.
    provider = serve("ollama")
    provider.script = lambda received: (
        Said(500, {"error": {"message": "json: unsupported value: NaN"}})
        if "two words" in received.texts
        else None
    )
    found = outcomes(connect(provider, patience=Patience(attempts=2)))
    assert [text for text, one in found.items() if isinstance(one, Failure)] == ["two words"]
    assert "unsupported value: NaN" in found["two words"].reason


SETTINGS = [
    ("openai", Said(401, {"error": {"message": f"Incorrect API key: {KEY}"}}), "OPENAI_API_KEY"),
    ("openai", Said(403, {"error": {"message": "no"}}), "OPENAI_API_KEY"),
    ("openai", Said(404, {"error": {"message": "no such model"}}), "OPENAI_EMBEDDING_MODEL"),
    ("openai", error("Quota", status=429, code="insufficient_quota"), "OPENAI_API_KEY"),
    ("openai", error("not for this model", param="dimensions"), "AI_EMBEDDING_DIMENSIONS"),
    (
        "openai",
        Said(307, None, (("location", "https://elsewhere.example/v1"),)),
        "OPENAI_BASE_URL",
    ),
    ("bitdeer", Said(401, {"error": "no"}), "BITDEER_API_KEY"),
    ("ollama", Said(404, {"error": {"message": "model not found"}}), "ollama pull asked-model"),
    (
        "azure",
        Said(400, {"error": {"code": "OperationNotSupported", "message": "chat"}}),
        "AZURE_OPENAI_EMBEDDING_DEPLOYMENT",
    ),
]


@pytest.mark.parametrize("case", SETTINGS, ids=lambda case: f"{case[0]}-{case[1].status}")
@pytest.mark.parametrize("when", ["at first", "later"])
def test_what_no_request_can_pass_is_a_matter_of_settings_and_not_tried_again(
    when, case, serve, connect
):
    style, said, words = case
    provider = serve(style)
    embedder = connect(provider)
    if when == "later":
        embedder.load()
    provider.script = lambda received: said
    before = len(provider.requests)
    with pytest.raises(ConfigurationError) as caught:
        embedder.embed(TEXTS)
    assert words in str(caught.value)
    assert KEY not in str(caught.value)
    assert "elsewhere" not in str(caught.value)
    assert len(provider.requests) == before + 1
    # Nothing that holds the request, and with it the key, hangs on the error.
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_wrong_deployment_says_that_it_need_not_be_the_models_name(serve, connect):
    # HKUDS/LightRAG#1800
    provider = serve("azure")
    embedder = connect(
        provider, more={"AZURE_OPENAI_EMBEDDING_DEPLOYMENT": "text-embedding-3-small"}
    )
    with pytest.raises(ConfigurationError, match="no deployment text-embedding-3-small") as caught:
        embedder.load()
    assert "AZURE_OPENAI_EMBEDDING_DEPLOYMENT" in str(caught.value)
    assert "2024-10-21" in str(caught.value)


def test_a_deployment_of_another_model_is_refused(serve, connect):
    provider = serve("azure", model="text-embedding-3-large")
    more = {"AZURE_OPENAI_EMBEDDING_MODEL": "text-embedding-3-small"}
    with pytest.raises(ConfigurationError, match="serves the model 'text-embedding-3-large'"):
        connect(provider, more=more).load()
    assert connect(provider).instrument.max_tokens == 8191
