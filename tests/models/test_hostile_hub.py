"""A hub that means harm: sizes, addresses and parts that no hub sends."""

import contextlib
import os

import fake_hub
import pytest
import tiny_bert

from closecall.errors import ClosecallError, ConfigurationError, ModelError, UsageError
from closecall.models import graph_builder
from closecall.models.hub import Hub
from closecall.models.keeping import Wanted
from closecall.models.patience import Patience
from closecall.models.pull import pull
from closecall.models.web import CA_VARIABLES

pytestmark = pytest.mark.loopback

REPO = "acme/tiny"
WEIGHTS = "model.safetensors"


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch):
    for name in ("HF_TOKEN", *CA_VARIABLES):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    made = fake_hub.Hub()
    tiny_bert.write_folder(tmp_path / "published")
    made.add(REPO, tmp_path / "published")
    monkeypatch.setenv("HF_ENDPOINT", made.endpoint)
    yield made
    made.close()


def fetch(**options):
    patience = Patience(tries=2, sleep=lambda _: None)
    return pull(Wanted(name=REPO, **options), hub=Hub("pulling"), patience=patience)


def relisted(hub, change):
    listing = hub.listing

    def other(repo, commit):
        document = listing(repo, commit)
        change(document["siblings"])
        return document

    hub.listing = other


def head(text, body=b""):
    def fault(handler):
        handler.wfile.write(text.encode("latin-1") + b"\r\n\r\n" + body)
        handler.close_connection = True

    return fault


@pytest.mark.parametrize("size", [1 << 63, 10**30, 10**400])
def test_a_size_beyond_all_bounds_is_refused(hub, size):
    def change(files):
        for file in files:
            if file["rfilename"] == WEIGHTS:
                file["lfs"]["size"] = size

    relisted(hub, change)
    with pytest.raises(ModelError, match=r"list of files cannot be read: .* more bytes than"):
        fetch()


def test_names_of_megabytes_are_not_repeated(hub):
    relisted(
        hub, lambda files: files.__setitem__(slice(None), [{"rfilename": "x" * 10**6, "size": 1}])
    )
    with pytest.raises(ClosecallError, match=r"holds no model\.safetensors") as caught:
        fetch()
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "target",
    [
        "http://[",
        "https://127.0.0.1:abc/",
        "https://127.0.0.1:99999/",
        "https://a..b/",
        f"https://{'a' * 70}.example/",
        "/\xfc",
    ],
)
def test_a_redirect_to_no_address_is_told(hub, target):
    hub.fault("listing", head(f"HTTP/1.1 302 Found\r\nLocation: {target}"))
    with pytest.raises(ModelError, match=r"a redirect to no address|cannot be one"):
        fetch()


@pytest.mark.parametrize("endpoint", ["https://a..b", f"https://{'a' * 70}.example"])
def test_an_endpoint_that_no_name_can_be_of_is_told(endpoint, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises((ModelError, ConfigurationError), match="cannot be one"):
        fetch()


def test_a_proxy_that_is_none_is_told_without_its_password(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example")
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http:/somebody:sesame@proxy")
    with pytest.raises(ModelError, match="HTTPS_PROXY") as caught:
        fetch()
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("what", ["listing", WEIGHTS])
def test_a_length_of_thousands_of_digits_is_no_length(hub, what):
    hub.fault(what, *[head("HTTP/1.1 200 OK\r\nContent-Length: " + "9" * 5000, b"{}")] * 9)
    with pytest.raises(ModelError):
        fetch()


def without_end(handler):
    """A part of negative size, which is read as one that does not end."""
    with contextlib.suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n")
        for _ in range(1000):
            handler.wfile.write(bytes(60_000))
    handler.close_connection = True


def test_parts_of_negative_size_fill_no_disk(hub, tmp_path):
    hub.fault(WEIGHTS, *[without_end] * 9)
    with pytest.raises(ModelError, match=r"broke off|more comes than"):
        fetch(to=tmp_path / "here" / "model")
    most = max(path.stat().st_size for path in (tmp_path / "here").rglob("*.part"))
    assert most <= len(hub.repos[REPO][hub.repos[REPO]["main"]][WEIGHTS])


@pytest.mark.skipif(os.name != "posix", reason="links take rights elsewhere")
def test_a_link_where_a_file_is_to_come_is_not_written_through(hub, tmp_path):
    """Where others may write, too, somebody may have put it there beforehand."""
    mine = tmp_path / "mine"
    mine.write_bytes(b"mine")
    commit = hub.repos[REPO]["main"]
    work = tmp_path / "shared" / ".pulling" / f"tiny@{commit[:12]}"
    work.mkdir(parents=True)
    for name in (f"{WEIGHTS}.part", "config.json.part", "tokenizer.json"):
        (work / name).symlink_to(mine)
    found = fetch(to=tmp_path / "shared" / "model")
    assert mine.read_bytes() == b"mine"
    assert not any(path.is_symlink() for path in found.folder.iterdir())


@pytest.mark.parametrize("name", ["my model", "../../outside", ".hidden", "", "a" * 200])
def test_a_name_that_cannot_be_is_refused_before_anything_comes(hub, tmp_path, name):
    if not name:
        assert fetch(save_as=name, to=tmp_path / "here").name == "tiny"
        return
    with pytest.raises(UsageError, match=r"--as .* cannot name a model"):
        fetch(save_as=name, to=tmp_path / "here")
    assert not hub.asked
    assert not list(tmp_path.rglob("*outside*"))


def test_a_model_too_large_for_a_graph_is_kept_as_published_and_says_how_to_compile_it(
    hub, monkeypatch
):
    monkeypatch.setattr(graph_builder, "MOST_GRAPH", graph_builder._SPARE + 10_000)
    found = fetch()
    assert found.outcome == "published"
    assert "compile with storage fp16" in found.reason
