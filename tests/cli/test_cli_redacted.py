"""Secrets of URLs are taken out of errors; what is no secret stays."""

import pytest

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
