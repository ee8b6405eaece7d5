"""URLs: which are taken, and that none holds or shows a secret."""

from pathlib import Path

import pytest

from closecall.errors import ConfigurationError, UsageError
from closecall.storage import is_url, open_store
from closecall.storage.places import located


@pytest.mark.parametrize("url", ["s3://b/k", "az://c/k", "abfs://c/k", "abfss://c@a.dfs.core.windows.net/k",
                                 "gs://b", "gcs://b/k/", "memory://x", "S3://b/k"])  # fmt: skip
def test_urls_of_object_storage_are_known(url):
    assert is_url(url)
    assert located(url).url == url[:2].lower() + url[2:].rstrip("/")


@pytest.mark.parametrize(
    "path", ["cases.jsonl", "/a/b", "./s3", Path("a/b"), "C:\\cases.jsonl", "a:b"]
)
def test_paths_are_no_urls(path):
    assert not is_url(path)


@pytest.mark.parametrize("url", ["https://host/x", "file:///x", "ftp://host/x", "hdfs://x/y"])
def test_other_schemes_are_refused_with_those_there_are(url):
    with pytest.raises(UsageError, match=r"is none of s3://, az://.*by its path"):
        is_url(url)


def test_a_url_that_a_path_took_a_slash_from_is_told():
    with pytest.raises(UsageError, match="two slashes"):
        is_url(Path("s3://bucket/cases.jsonl"))


@pytest.mark.parametrize("url", [
    "s3://AKIAX:wJalr@bucket/k", "s3://AKIAX:wJa/wJalr+/x@bucket/k", "s3://wJalr@bucket/k", "az://u:wJalr@c/k",
    "s3://bucket/k?X-Amz-Signature=wJalr", "az://c/k?sig=wJalr", "s3://bucket/k#wJalr",
])  # fmt: skip
def test_secrets_in_a_url_are_refused_and_not_shown(url):
    with pytest.raises(UsageError) as caught:
        located(url)
    assert "wJalr" not in str(caught.value)
    assert "credentials come from the environment" in str(caught.value)


@pytest.mark.parametrize(
    "url", ["s3://", "s3:///k", "s3://b//k", "s3://b/../k", "s3://b/k::file://x", "s3://b/a\nb"]
)
def test_urls_that_lead_elsewhere_are_refused(url):
    with pytest.raises(UsageError):
        located(url)


@pytest.mark.parametrize("scheme", ["s3", "az", "abfs", "abfss", "gs", "gcs"])
def test_offline_refuses_every_service_before_a_socket_opens(scheme, monkeypatch):
    monkeypatch.setenv("CLOSECALL_OFFLINE", "1")
    with pytest.raises(ConfigurationError, match="forbids it"):
        open_store(f"{scheme}://bucket/x")


@pytest.mark.parametrize(
    "name", ["", "/a", "a/", "a//b", "../a", "a/../b", ".", "a\nb", "a?b", "a\\b"]
)
def test_names_that_lead_elsewhere_are_refused(name, tmp_path):
    with pytest.raises(UsageError, match="is no name in a store"):
        open_store(tmp_path).write(name, b"x")
