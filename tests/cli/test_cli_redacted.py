"""Secrets of URLs are taken out of errors; what is no secret stays."""

import pytest

from closecall.cli import run
from closecall.cli.redacted import redacted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://me:pw@bucket/a b", "s3://[hidden]@bucket/a b"),
        ("'s3:/me:pw@bucket': no such file", "'s3:/[hidden]@bucket': no such file"),
        ("http://me:p@w@host/ and https://:x@other", "http://[hidden]@host/ and https://[hidden]@other"),
        ("s3://me:p/w/x@bucket/a b", "s3://[hidden]@bucket/a b"),
        ("s3:/me:p/w+x@bucket: none", "s3:/[hidden]@bucket: none"),
        ("s3://KEY@bucket", "s3://[hidden]@bucket"),
        ("az://box/x?sv=1&sig=2 was refused", "az://box/x?[hidden] was refused"),
        ("gs://b/x#token", "gs://b/x#[hidden]"),
    ],
)  # fmt: skip
def test_what_may_be_a_secret_is_hidden(text, shown):
    assert redacted(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "abfs://container@account.dfs.core.windows.net/run",
        "onnx:/models/me@work/export?file=onnx/model_int8.onnx",
        "cases.jsonl:3: label: maybe? is neither: write to someone@example.org",
        "C:/Users/me@work/cases.jsonl",
        "https://example.org/page?q=1",
        "http://127.0.0.1:8080/models/me@work",
        "s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/runs/me@work",
    ],
)
def test_the_rest_stays(text):
    assert redacted(text) == text


def test_the_query_of_an_address_that_was_typed_is_hidden_and_no_other():
    typed = ("models", "pull", "https://hub.example/a/b?k=secret#part", "https://example.org/q")
    text = "no 'https://hub.example/a/b?k=secret#part', see https://example.org/page?q=1"
    shown = "no 'https://hub.example/a/b?[hidden]', see https://example.org/page?q=1"
    assert redacted(text, typed) == shown
    assert redacted("cut: https://hub.example/a/b?k=sec...", typed) == (
        "cut: https://hub.example/a/b?[hidden]"
    )
    both = "https://me:pw?w@hub.example/a?k=secret"
    assert redacted(f"no {both}", [both]) == "no https://[hidden]@hub.example/a?[hidden]"


ADDRESS = "https://hub.example/org/model?k=secret"


@pytest.mark.parametrize(
    "arguments",
    [
        ("models", "pull", ADDRESS),
        ("models", "pull", "http://hub.example/org/model#secret"),
        ("models", "pull", "org/model", "--revision", ADDRESS),
        ("models", "pull", "org/model", "--as", ADDRESS),
        ("models", "verify", ADDRESS),
        ("models", "add", ADDRESS),
        ("score", "a", "b", f"--embedder={ADDRESS}"),
    ],
)
def test_a_command_given_an_address_for_a_name_does_not_repeat_its_query(arguments, capsys):
    assert run(list(arguments)) in {2, 3, 5}
    shown = capsys.readouterr()
    assert "secret" not in shown.out + shown.err
    assert "hub.example/org/model" in shown.err
