"""From the environment to settings: what is missing is named, values never are."""

import copy
import pickle

import pytest

from closecall.embedders.registry import chosen_name, load_embedder
from closecall.embedders.remote.providers import API_VERSION, PROVIDERS, provider_named
from closecall.embedders.remote.settings import read_settings, selected_provider
from closecall.errors import ConfigurationError, MissingExtraError

KEY = "sk-test-A1b2C3d4E5f6G7h8-never-print-me"
FULL = {
    "azure": {
        "AZURE_OPENAI_ENDPOINT": "https://ours.openai.azure.com/",
        "AZURE_OPENAI_API_KEY": KEY,
        "AZURE_OPENAI_EMBEDDING_DEPLOYMENT": "our-deployment",
    },
    "foundry": {
        "FOUNDRY_ENDPOINT": "https://ours.services.ai.azure.com",
        "FOUNDRY_API_KEY": KEY,
        "FOUNDRY_EMBEDDING_MODEL": "our-model",
    },
    "bitdeer": {"BITDEER_API_KEY": KEY},
    "openai": {"OPENAI_API_KEY": KEY},
    "openai-compatible": {
        "OPENAI_COMPATIBLE_ENDPOINT": "https://models.example.com/v1",
        "OPENAI_COMPATIBLE_EMBEDDING_MODEL": "a-model",
    },
    "ollama": {"OLLAMA_EMBEDDING_MODEL": "nomic-embed-text"},
}


def read(tag, environ, model="", **more):
    return read_settings(provider_named(tag), model, environ, **more)


@pytest.mark.parametrize(
    ("said", "tag"),
    [
        *((one.tag, one.tag) for one in PROVIDERS),
        *((spelling, one.tag) for one in PROVIDERS for spelling in one.spellings),
        ("  OpenAI ", "openai"),
        ("AZURE_OPENAI".replace("_", "-"), "azure"),
    ],
)
def test_a_selector_is_known_in_every_spelling(said, tag):
    assert selected_provider({"AI_INFERENCE_PROVIDER": said}).tag == tag


def test_the_spellings_are_those_promised():
    spelt = {spelling: one.tag for one in PROVIDERS for spelling in one.spellings}
    assert spelt == {
        "azure-openai": "azure", "azureopenai": "azure",
        "azure-foundry": "foundry", "azure-ai-foundry": "foundry",
        "openai_compatible": "openai-compatible", "compatible": "openai-compatible",
        "openai-compat": "openai-compatible",
    }  # fmt: skip


@pytest.mark.parametrize("said", ["", "  ", "local", " Local "])
def test_nothing_selected_is_the_model_on_this_machine_whatever_keys_there_are(said):
    keys = {name: value for one in FULL.values() for name, value in one.items()}
    assert selected_provider(keys | {"AI_INFERENCE_PROVIDER": said}) is None
    assert selected_provider(keys) is None


def test_an_unknown_selector_is_refused_without_being_shown():
    with pytest.raises(ConfigurationError, match="AI_INFERENCE_PROVIDER names no provider") as e:
        selected_provider({"AI_INFERENCE_PROVIDER": KEY})
    assert KEY not in str(e.value)
    for tag in ("local", *FULL):
        assert tag in str(e.value)


@pytest.mark.parametrize("tag", FULL)
def test_exactly_what_is_missing_is_named_and_no_other_provider_stands_in(tag, monkeypatch):
    others = {n: v for other, one in FULL.items() if other != tag for n, v in one.items()}
    whole = FULL[tag]
    read(tag, whole | others)
    for blank in ({}, dict.fromkeys(whole, "  ")):
        with pytest.raises(ConfigurationError) as caught:
            read(tag, others | blank)
        assert str(caught.value).startswith(f"AI_INFERENCE_PROVIDER selects {tag}, but ")
        named = str(caught.value).partition(" not set")[0]
        assert {name for name in (whole | others) if name in named.split()[3:]} >= set()
        for name in whole:
            assert name in named
        for name in others:
            assert name not in named.replace("OPENAI_COMPATIBLE", "").split()
        assert KEY not in str(caught.value)
    for name in whole:
        with pytest.raises(ConfigurationError) as caught:
            read(tag, {n: v for n, v in (whole | others).items() if n != name})
        assert [n for n in whole if n in str(caught.value).partition(" not set")[0]] == [name]


def test_defaults_hold_on_the_providers_own_endpoint_only():
    openai = read("openai", FULL["openai"])
    assert openai.endpoint == "https://api.openai.com/v1"
    assert openai.model == "text-embedding-3-small"
    assert openai.path == "/v1/embeddings"
    bitdeer = read("bitdeer", FULL["bitdeer"])
    assert bitdeer.endpoint == "https://api-inference.bitdeer.ai/v1"
    assert bitdeer.model == "BAAI/bge-m3"
    for tag, name in (("openai", "OPENAI_BASE_URL"), ("bitdeer", "BITDEER_ENDPOINT")):
        own = FULL[tag] | {name: f"{provider_named(tag).default_endpoint}/"}
        assert read(tag, own).model == provider_named(tag).default_model
        other = FULL[tag] | {name: "https://gateway.example.com/v1"}
        with pytest.raises(ConfigurationError, match="not the provider's own"):
            read(tag, other)
        assert read(tag, other, "a-model").model == "a-model"


def test_a_chat_model_never_becomes_the_embedding_model():
    # braintrustdata/autoevals#166
    chat = {"OPENAI_MODEL": "gpt-4o-mini", "AZURE_OPENAI_DEPLOYMENT": "gpt-4o"}
    assert read("openai", FULL["openai"] | chat).model == "text-embedding-3-small"
    azure = {n: v for n, v in FULL["azure"].items() if "EMBEDDING" not in n}
    with pytest.raises(ConfigurationError, match="AZURE_OPENAI_EMBEDDING_DEPLOYMENT is not set"):
        read("azure", azure | chat)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://models.example.com/v1", "models.example.com", "ftp://models.example.com",
        "https://", "https:///v1", "https://user:secret@models.example.com/v1", "https://[::1",
        "https://models.example.com/v1?key=secret", "https://models.example.com/v1#secret",
        "https://models.example.com:port/v1", "https://models.example com/v1", "//example.com",
        "http://127.0.0.1.example.com", "http://localhost.example.com", "http://0.0.0.0",
        "https://models.example.com/v1/embeddings", "file:///etc/passwd", "https://a\nb/v1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("tag", ["azure", "foundry", "openai", "bitdeer", "openai-compatible"])
def test_an_address_that_is_none_or_open_to_all_is_refused_by_its_variable(tag, endpoint):
    name = provider_named(tag).endpoint
    with pytest.raises(ConfigurationError) as caught:
        read(tag, FULL[tag] | {name: endpoint}, "a-model")
    assert str(caught.value).startswith(name)
    assert "secret" not in str(caught.value)
    assert endpoint not in str(caught.value).replace(endpoint[:8], "", 1) or endpoint == "https://"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "LOCALHOST"])
def test_plain_http_is_for_this_machine(host):
    name = "OPENAI_COMPATIBLE_ENDPOINT"
    found = read("openai-compatible", FULL["openai-compatible"] | {name: f"http://{host}:8080/v1"})
    assert found.loopback
    assert not read("openai-compatible", FULL["openai-compatible"]).loopback


@pytest.mark.parametrize(
    ("given", "endpoint"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("127.0.0.1", "http://127.0.0.1:11434/v1"),
        ("localhost:8000", "http://localhost:8000/v1"),
        (":8000", "http://127.0.0.1:8000/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),  # noqa: S104
        ("0.0.0.0:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("https://ollama.example.com", "https://ollama.example.com/v1"),
        ("https://example.com/ollama/", "https://example.com/ollama/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(given, endpoint):
    assert read("ollama", {"OLLAMA_HOST": given}, "m").endpoint == endpoint


def test_ollama_on_another_machine_needs_https():
    with pytest.raises(ConfigurationError, match="OLLAMA_HOST must begin with https"):
        read("ollama", {"OLLAMA_HOST": "192.0.2.7:11434"}, "m")


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [
        ("https://ours.example.com", "/openai/deployments/a%2Fb/embeddings"),
        ("https://ours.example.com/openai/", "/openai/deployments/a%2Fb/embeddings"),
        ("https://ours.example.com/gate", "/gate/openai/deployments/a%2Fb/embeddings"),
    ],
)
def test_an_azure_address_may_end_in_openai(endpoint, path):
    found = read("azure", FULL["azure"] | {"AZURE_OPENAI_ENDPOINT": endpoint}, "a/b")
    assert found.path == path


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://ours.example.com/openai/v1",
        "https://ours.example.com/openai/deployments/x",
        "https://ours.example.com/openai/deployments/x/embeddings",
    ],
)
def test_a_whole_azure_address_is_refused_with_what_to_give(endpoint):
    with pytest.raises(ConfigurationError, match="https://my-resource"):
        read("azure", FULL["azure"] | {"AZURE_OPENAI_ENDPOINT": endpoint})


def test_the_api_version_has_a_default_and_is_checked():
    assert read("azure", FULL["azure"]).api_version == API_VERSION == "2024-10-21"
    given = FULL["azure"] | {"AZURE_OPENAI_API_VERSION": " 2025-03-01-preview "}
    assert read("azure", given).api_version == "2025-03-01-preview"
    with pytest.raises(ConfigurationError, match="AZURE_OPENAI_API_VERSION"):
        read("azure", FULL["azure"] | {"AZURE_OPENAI_API_VERSION": "a&b=c"})
    assert read("openai", FULL["openai"]).api_version == ""


@pytest.mark.parametrize("key", ["a key", "sk-\nline", "sk-ключ", "sk-\x00"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key):
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY holds a character") as caught:
        read("openai", {"OPENAI_API_KEY": key})
    assert key not in str(caught.value)


@pytest.mark.parametrize("name", ["AI_EMBEDDING_DIMENSIONS", "AI_EMBEDDING_MAX_TOKENS"])
@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "9" * 30, "²"])
def test_a_number_that_is_none_is_refused(name, value):
    with pytest.raises(ConfigurationError, match=f"{name} must be a whole number from 1"):
        read("openai", FULL["openai"] | {name: value})


@pytest.mark.parametrize("model", ["a model", "a\nmodel", "m" * 201, ".."])
def test_a_name_that_is_none_is_refused(model):
    with pytest.raises(ConfigurationError, match="is no name of a deployment"):
        read("azure", FULL["azure"], model)


def test_organisation_and_project_go_to_openai_itself_only():
    ids = {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1"}
    found = read("openai", FULL["openai"] | ids)
    assert (found.organization, found.project) == ("org-1", "proj-1")
    elsewhere = FULL["openai"] | ids | {"OPENAI_BASE_URL": "https://gateway.example.com/v1"}
    assert read("openai", elsewhere, "m").organization == ""
    assert read("bitdeer", FULL["bitdeer"] | ids).project == ""


def test_a_key_is_not_in_any_printed_form_of_settings():
    found = read("openai", FULL["openai"])
    for shown in (repr(found), str(found), f"{found.key}", f"{found.key:>40}", str([found.key])):
        assert KEY not in shown
    assert found.key.reveal() == KEY
    for spread in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            spread(found.key)


@pytest.mark.parametrize("tag", FULL)
def test_a_name_of_an_embedder_with_and_without_a_model(tag, monkeypatch):
    for name, value in FULL[tag].items():
        monkeypatch.setenv(name, value)
    assert tag in repr(load_embedder(f"{tag}:another-name"))
    assert "another-name" in repr(load_embedder(f"{tag}:another-name"))
    load_embedder(tag)
    load_embedder(f"{tag}:")
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", tag)
    assert chosen_name(None) == tag
    assert tag in repr(load_embedder())
    # A name given counts more than the selector.
    assert load_embedder("minilm").instrument.kind == "onnx"


def test_an_incomplete_embedder_asked_for_by_name_says_so():
    with pytest.raises(ConfigurationError) as caught:
        load_embedder("azure:our-deployment")
    assert str(caught.value).startswith(
        "the embedder azure was asked for, but AZURE_OPENAI_ENDPOINT and AZURE_OPENAI_API_KEY "
        "are not set."
    )


def test_without_the_client_the_extra_is_named(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("closecall.embedders.remote.connection.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'closecall\[remote\]'"):
        load_embedder("openai:text-embedding-3-small")


def test_offline_an_embedder_can_be_made_and_asks_for_nothing(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("CLOSECALL_OFFLINE", "1")
    embedder = load_embedder("openai")
    for use in (embedder.load, lambda: embedder.instrument, lambda: embedder.embed(["a"])):
        with pytest.raises(ConfigurationError, match="CLOSECALL_OFFLINE forbids it") as caught:
            use()
        assert "api.openai.com" in str(caught.value)
