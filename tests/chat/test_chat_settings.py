"""From a name or the environment to a chat model: what is missing is named, nothing is guessed."""

import pytest

from closecall.chat.base import ChatModel
from closecall.chat.providers import SIDES
from closecall.chat.registry import endpoint_chat, load_chat_model
from closecall.chat.settings import chat_settings, endpoint_settings
from closecall.embedders.remote.providers import PROVIDERS
from closecall.errors import ConfigurationError, MissingExtraError, UnknownNameError, UsageError

KEY = "sk-test-A1b2C3d4E5f6G7h8-never-print-me"
FULL = {
    "azure": {
        "AZURE_OPENAI_ENDPOINT": "https://ours.openai.azure.com/",
        "AZURE_OPENAI_API_KEY": KEY,
        "AZURE_OPENAI_DEPLOYMENT": "our-deployment",
    },
    "foundry": {
        "FOUNDRY_ENDPOINT": "https://ours.services.ai.azure.com",
        "FOUNDRY_API_KEY": KEY,
        "FOUNDRY_MODEL": "our-model",
    },
    "bitdeer": {"BITDEER_API_KEY": KEY},
    "openai": {"OPENAI_API_KEY": KEY},
    "openai-compatible": {
        "OPENAI_COMPATIBLE_ENDPOINT": "https://models.example.com/v1",
        "OPENAI_COMPATIBLE_MODEL": "a-model",
    },
    "ollama": {"OLLAMA_MODEL": "small-chat"},
}
EVERYTHING = {name: value for one in FULL.values() for name, value in one.items()}
JUDGE = {
    "AZURE_OPENAI_JUDGE_ENDPOINT": "https://judges.openai.azure.com",
    "AZURE_OPENAI_JUDGE_API_KEY": KEY,
    "AZURE_OPENAI_JUDGE_DEPLOYMENT": "the-judge",
}


def select(tag, **more):
    return FULL[tag] | {"AI_INFERENCE_PROVIDER": tag} | more


def test_every_provider_of_embeddings_is_one_of_chat_models():
    assert set(SIDES) == {one.tag for one in PROVIDERS} == set(FULL)


@pytest.mark.parametrize(
    ("tag", "model", "path"),
    [
        ("azure", "our-deployment", "/openai/deployments/our-deployment/chat/completions"),
        ("foundry", "our-model", "/openai/deployments/our-model/chat/completions"),
        ("bitdeer", "zai-org/GLM-5.3-Flash", "/v1/chat/completions"),
        ("openai", "gpt-4o-mini", "/v1/chat/completions"),
        ("openai-compatible", "a-model", "/v1/chat/completions"),
        ("ollama", "small-chat", "/v1/chat/completions"),
    ],
)
def test_the_selector_and_the_defaults(tag, model, path):
    found = chat_settings(environ=select(tag))
    assert (found.provider.tag, found.model, found.path) == (tag, model, path)
    named = chat_settings(f"{tag}:another-model", environ=FULL[tag])
    assert named.model == "another-model"
    assert chat_settings(tag, environ=FULL[tag]).model == model
    assert KEY not in repr(found)


@pytest.mark.parametrize("selector", [{}, {"AI_INFERENCE_PROVIDER": " "}])
def test_keys_select_nothing_and_the_error_lists_what_would(selector):
    with pytest.raises(ConfigurationError, match="AI_INFERENCE_PROVIDER is not set") as caught:
        chat_settings(environ=EVERYTHING | selector)
    said = str(caught.value)
    assert "a judge or a subject needs a provider" in said
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_DEPLOYMENT", "FOUNDRY_MODEL", "BITDEER_API_KEY"):
        assert name in said
    assert "openai: OPENAI_API_KEY (and OPENAI_MODEL, else gpt-4o-mini)" in said
    assert KEY not in said


@pytest.mark.parametrize("name", ["local", KEY, "gpt-4o"])
def test_a_selector_without_chat_models_is_refused_unshown(name):
    with pytest.raises(ConfigurationError, match="AI_INFERENCE_PROVIDER names none") as caught:
        chat_settings(environ={"AI_INFERENCE_PROVIDER": name})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("tag", FULL)
def test_exactly_what_is_missing_is_named_and_no_other_provider_stands_in(tag):
    whole = FULL[tag]
    others = {name: value for name, value in EVERYTHING.items() if name not in whole}
    for name in whole:
        environ = {n: v for n, v in (whole | others).items() if n != name}
        environ["AI_INFERENCE_PROVIDER"] = tag
        with pytest.raises(ConfigurationError) as caught:
            chat_settings(environ=environ)
        said = str(caught.value)
        assert [n for n in whole if n in said.partition(" not set")[0]] == [name]
        assert "embed" not in said.lower()
        assert KEY not in said


def test_embedding_models_and_their_settings_are_no_matter_of_chat():
    # promptfoo/promptfoo#626, braintrustdata/autoevals#166
    more = {"OPENAI_EMBEDDING_MODEL": "text-embedding-3-small", "AI_EMBEDDING_DIMENSIONS": "x"}
    found = chat_settings(environ=select("openai", **more))
    assert found.model == "gpt-4o-mini"
    assert found.dimensions is None


def test_another_address_needs_a_model_of_its_own():
    environ = select("openai", OPENAI_BASE_URL="https://gateway.example.com/v1")
    with pytest.raises(ConfigurationError, match=r"OPENAI_MODEL is not set.*openai:NAME"):
        chat_settings(environ=environ)
    assert chat_settings(environ=environ | {"OPENAI_MODEL": "m"}).model == "m"


@pytest.mark.parametrize(
    ("spec", "more", "model"),
    [
        ("openai#1", {}, "gpt-4o-mini"),
        ("openai#2", {"OPENAI_MODEL_2": "second"}, "second"),
        ("openai#3", {"OPENAI_MODEL_3": "third"}, "third"),
        ("bitdeer#2", {"BITDEER_MODEL_2": "second"}, "second"),
        ("foundry#3", {"FOUNDRY_MODEL_3": "third"}, "third"),
        ("openai-compatible#2", {"OPENAI_COMPATIBLE_MODEL_2": "second"}, "second"),
        ("azure#2", {}, "gpt-4o-mini"),
        ("azure#3", {}, "gpt-4.1"),
        ("azure#3", {"AZURE_OPENAI_DEPLOYMENT_3": "third"}, "third"),
    ],
)
def test_the_second_and_third_model_of_the_environment(spec, more, model):
    assert chat_settings(spec, environ=EVERYTHING | more).model == model


def test_a_numbered_model_that_is_not_set_is_not_the_first():
    with pytest.raises(ConfigurationError, match="OPENAI_MODEL_2 is not set"):
        chat_settings("openai#2", environ=EVERYTHING)
    for wrong in ("ollama#2", "openai#4", "openai#", "openai#0", "openai#2:name"):
        with pytest.raises(UsageError, match="takes a number"):
            chat_settings(wrong, environ=EVERYTHING)


def test_a_name_that_is_no_providers():
    with pytest.raises(UnknownNameError, match="PROVIDER:MODEL") as caught:
        chat_settings("gpt-4o-mini", environ=EVERYTHING)
    assert "openai-compatible" in str(caught.value)
    with pytest.raises(UsageError, match="empty"):
        chat_settings("  ", environ=EVERYTHING)


def test_a_judge_of_its_own_counts_only_when_it_is_whole_and_asked_for():
    told = []
    found = chat_settings(judge=True, environ=select("openai", **JUDGE), on_notice=told.append)
    assert (found.provider.tag, found.model) == ("azure", "the-judge")
    assert found.host == "judges.openai.azure.com"
    assert chat_settings(judge=True, environ=JUDGE).model == "the-judge"
    assert chat_settings(environ=select("openai", **JUDGE)).model == "gpt-4o-mini"
    named = chat_settings("openai:m", judge=True, environ=select("openai", **JUDGE))
    assert named.model == "m"
    assert told == []
    for name in JUDGE:
        part = select("openai", **JUDGE) | {name: " "}
        found = chat_settings(judge=True, environ=part, on_notice=told.append)
        assert found.model == "gpt-4o-mini"
        assert f"{name} is not set" in told[-1]
        assert KEY not in told[-1]
    chat_settings(judge=True, environ=select("openai"), on_notice=told.append)
    assert len(told) == 3


# An address that was typed


@pytest.mark.parametrize(
    "url",
    ["http://models.example.com/v1", "models.example.com", "ftp://x", "https://u:p@x/v1", ""],
)
def test_an_address_that_cannot_be_asked_is_refused_by_the_name_of_the_option(url):
    with pytest.raises(ConfigurationError, match="--endpoint") as caught:
        endpoint_settings(url, "m", environ={})
    assert "u:p" not in str(caught.value)


def test_a_whole_address_is_refused_with_where_it_ends():
    with pytest.raises(ConfigurationError, match="the address before 'chat/completions'"):
        endpoint_settings("https://m.example/v1/chat/completions", "m", environ={})


def test_an_address_on_this_machine_may_be_plain_and_a_model_is_needed():
    found = endpoint_settings("http://127.0.0.1:8000/v1/", "m", environ={})
    assert (found.endpoint, found.model) == ("http://127.0.0.1:8000/v1", "m")
    with pytest.raises(ConfigurationError, match="--model is not set"):
        endpoint_settings("http://127.0.0.1:8000/v1", " ", environ={})
    with pytest.raises(ConfigurationError, match="MY_KEY, which is to hold the key"):
        endpoint_settings("http://127.0.0.1/v1", "m", key_env="MY_KEY", environ={"OTHER": KEY})
    found = endpoint_settings(
        "http://127.0.0.1/v1", "m", key_env="MY_KEY", environ={"MY_KEY": KEY}
    )
    assert found.key.reveal() == KEY


def test_a_model_is_made_without_a_network_and_says_what_it_is(monkeypatch):
    for name, value in select("azure").items():
        monkeypatch.setenv(name, value)
    chat = load_chat_model()
    assert isinstance(chat, ChatModel)
    assert chat.identity.name == "our-deployment@azure"
    assert chat.identity.options["api_version"] == "2024-10-21"
    other = load_chat_model("azure:another")
    assert other.identity.digest != chat.identity.digest
    assert load_chat_model().identity.digest == chat.identity.digest
    assert endpoint_chat("https://m.example/v1", "m").identity.name == "m@openai-compatible"


def test_without_the_client_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("closecall.embedders.remote.connection.find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=r"chat with openai-compatible.*closecall\[remote\]"
    ):
        endpoint_chat("https://m.example/v1", "m")
