"""Variables with what nobody sets on purpose: refused by their name, and never shown."""

import pytest

from closecall.embedders.remote.providers import PROVIDERS
from closecall.embedders.remote.settings import DIMENSIONS, MAX_TOKENS, read_settings
from closecall.errors import ConfigurationError

OPENAI = next(one for one in PROVIDERS if one.tag == "openai")
KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize("name", [DIMENSIONS, MAX_TOKENS])
@pytest.mark.parametrize(
    "value",
    ["0000000001" + "9" * 10, "0000000001" + "9" * 5_000, "9" * 5_000, "1000001", "-1", "٣"],
)
def test_a_number_beyond_the_limit_is_refused_however_it_begins(name, value):
    with pytest.raises(
        ConfigurationError, match=f"{name} must be a whole number from 1 to 1000000"
    ):
        read_settings(OPENAI, "m", {OPENAI.key: KEY, name: value})


def test_the_largest_number_is_taken():
    assert read_settings(OPENAI, "m", {OPENAI.key: KEY, DIMENSIONS: "1000000"}).dimensions == 10**6


@pytest.mark.parametrize("value", [f"{KEY}\r\nX: y", f"{KEY}\udcff", f"{KEY} {KEY}", f"{KEY}é"])
def test_a_key_that_is_none_is_refused_and_not_shown(value):
    with pytest.raises(ConfigurationError) as caught:
        read_settings(OPENAI, "m", {OPENAI.key: value})
    assert OPENAI.key in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("provider", [one for one in PROVIDERS if one.tag != "ollama"])
def test_a_key_within_an_address_is_refused_and_not_shown(provider):
    given = {provider.key: "k", provider.endpoint: f"https://models.example.com/{KEY}/v1"}
    with pytest.raises(
        ConfigurationError, match=f"{provider.endpoint} holds what looks like a key"
    ) as caught:
        read_settings(provider, "m", given)
    assert provider.key in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_word_of_an_address_is_no_key():
    given = {
        OPENAI.key: "sk-another-0123456789",
        OPENAI.endpoint: "https://sk-models.example.com/sk-proxy/task-0123456789abcdef01",
    }
    assert read_settings(OPENAI, "m", given).endpoint == given[OPENAI.endpoint]


@pytest.mark.parametrize(
    "name", [OPENAI.model, OPENAI.endpoint, "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"]
)
def test_the_key_within_what_is_shown_is_refused_and_not_shown(name):
    key = KEY.removeprefix("sk-")  # no key by its look
    given = {OPENAI.key: key, OPENAI.model: "m"}
    given[name] = f"https://api.openai.com/v1-{key}" if name == OPENAI.endpoint else f"mine-{key}"
    with pytest.raises(
        ConfigurationError, match=f"{name}.* holds the key that OPENAI_API_KEY"
    ) as caught:
        read_settings(OPENAI, "", given)
    assert key not in str(caught.value)


def test_a_short_word_of_a_local_server_is_no_key():
    given = {OPENAI.key: "lm-studio", OPENAI.endpoint: "http://127.0.0.1:1/v1"}
    assert read_settings(OPENAI, "lm-studio-7b", given).model == "lm-studio-7b"
