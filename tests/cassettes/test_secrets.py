"""Keys of the environment never enter a cassette."""

import pytest
from recorded_things import SPEC, Chat, Remote, record, request

from closecall.cassettes import open_cassette
from closecall.cassettes.secrets import Secrets
from closecall.cassettes.verifying import verify
from closecall.errors import ConfigurationError

KEY = 'sk-proj-"0123456789\\abcdef'
NAMES = [
    "OPENAI_API_KEY",
    "HF_TOKEN",
    "AZURE_OPENAI_API_KEY",
    "my_service_secret",
    "DB_PASSWORD",
    "AUTHORIZATION",
    "AWS_ACCESS_KEY_ID",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_value_of_a_variable_that_holds_a_key_is_refused_before_it_is_asked(
    name, folder, monkeypatch
):
    monkeypatch.setenv(name, KEY)
    embedder, model = Remote(), Chat()
    with open_cassette(folder, "record") as cassette:
        for ask in (
            lambda: cassette.embedder(lambda: embedder, SPEC).embed(["fine", f"with {KEY} in it"]),
            lambda: cassette.chat(lambda: model).complete([request("x", system=f"Bearer {KEY}")]),
        ):
            with pytest.raises(ConfigurationError, match=f"the variable {name}") as caught:
                ask()
            assert KEY not in str(caught.value)
            assert KEY[3:] not in str(caught.value)
        assert embedder.texts == model.asked == []
    assert not list(folder.iterdir())


def test_a_reply_that_holds_a_key_is_not_recorded(folder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with open_cassette(folder, "record") as cassette:
        model = Chat(reply=lambda _: f"Your key is {KEY}")
        with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
            cassette.chat(lambda: model).complete([request("What is my key?")])
    assert not any(KEY.encode() in path.read_bytes() for path in folder.iterdir())


def test_a_key_in_the_identity_is_refused(folder, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "0123456789")
    with open_cassette(folder, "record") as cassette:
        model = Chat(header="Bearer 0123456789")
        with pytest.raises(ConfigurationError, match="SOME_TOKEN"):
            cassette.chat(lambda: model).complete([request("x")])


def test_a_key_that_is_in_use_but_in_no_variable_is_refused_too(folder):
    with (
        open_cassette(folder, "record", secrets=["0123456789abc"]) as cassette,
        pytest.raises(ConfigurationError, match="a key in use"),
    ):
        cassette.embedder(Remote, SPEC).embed(["is it 0123456789abc?"])


def test_what_looks_like_a_key_in_a_name_is_not_kept(folder):
    spec = "python ask.py --key sk-0123456789abcdef"
    with open_cassette(folder, "record") as cassette:
        cassette.chat(Chat, spec).complete([request("x")])
    assert b"0123456789" not in (folder / "default.jsonl").read_bytes()
    with open_cassette(folder, "replay") as cassette:
        assert cassette.chat(Chat, spec).complete([request("x")])[0].content


def test_ordinary_variables_and_short_values_are_no_keys(monkeypatch):
    monkeypatch.setenv("HOME_TOWN", "Springfield")
    monkeypatch.setenv("OLLAMA_API_KEY", "ollama")
    monkeypatch.setenv("POSTGRES_PASSWORD", "postgres")
    assert not Secrets().name_in("ollama and postgres in Springfield")


def test_verify_finds_a_key_and_names_the_variable(folder):
    record(folder, ["the word is 0123456789abcdef"])
    found = verify(folder, {"LATER_API_KEY": "0123456789abcdef"})
    (problem,) = found.problems
    assert ":2: holds the value of the variable LATER_API_KEY" in problem
    assert "0123456789" not in problem
    assert not verify(folder, {}).problems


def test_a_secret_is_in_no_printed_form():
    assert "0123" not in repr(Secrets({"A_KEY": "0123456789"}))
