"""Pulling models, over real HTTP from a hub on this machine."""

import dataclasses
import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc

import fake_certificate
import fake_hub
import pytest
import tiny_bert

from closecall.errors import (
    ConfigurationError,
    ModelError,
    ModelIntegrityError,
    UnknownNameError,
    UnsupportedArchitectureError,
    UsageError,
)
from closecall.models import keeping, store, verifying
from closecall.models.hub import Hub
from closecall.models.keeping import Wanted
from closecall.models.patience import Patience
from closecall.models.published import read_published
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
def hub(monkeypatch):
    made = fake_hub.Hub()
    monkeypatch.setenv("HF_ENDPOINT", made.endpoint)
    yield made
    made.close()


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "published"
    tiny_bert.write_folder(folder, prompts={"query": "query: "})
    (folder / "README.md").write_text("A small model.", encoding="utf-8")
    return folder


@pytest.fixture
def commit(hub, source):
    return hub.add(REPO, source)


class Waits(list):
    def __call__(self, seconds):
        self.append(seconds)


def fetch(name=REPO, *, waits=None, tries=3, timeout=60.0, **options):
    patience = Patience(tries=tries, sleep=waits if waits is not None else Waits())
    hub = Hub("pulling", timeout=timeout)
    return pull(Wanted(name=name, **options), hub=hub, patience=patience)


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def cut(keep):
    """A reply that announces all and ends after some bytes."""

    def fault(handler):
        repo = handler.hub.repos[REPO]
        data = repo[repo["main"]][WEIGHTS]
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:keep])
        handler.close_connection = True

    return fault


def status(code, **headers):
    return lambda handler: handler.answer(code, **headers)


def body(data, **headers):
    return lambda handler: handler.answer(200, data, **headers)


# What comes of it


def test_a_model_the_compiler_knows_is_compiled_and_verified(hub, commit, source):
    found = fetch()
    assert (found.outcome, found.name, found.revision) == ("compiled", "tiny", commit)
    model = store.find_model("tiny")
    assert (model.card.source, model.card.revision, model.card.licence) == (REPO, commit, "MIT")
    published = hashlib.sha256((source / WEIGHTS).read_bytes()).hexdigest()
    assert model.card.weights.sha256 == published
    assert model.card.prefixes == {"query": "query: "}
    assert all(check.ok for check in verifying.verify_named("tiny"))
    # The same files compiled by hand give the same bytes: fetching changes nothing.
    assert store.add_model(source, "by-hand").card.files == model.card.files
    assert names(store.store_folder() / ".pulling") == ["tiny.lock"]


def test_large_files_come_from_the_storage_and_small_ones_from_the_hub(hub, commit):
    fetch()
    assert hub.times(WEIGHTS) == hub.times("tokenizer.json") == hub.times("listing") == 1


def test_pulled_again_it_is_here_and_nothing_is_fetched(hub, commit):
    fetch()
    asked = len(hub.asked)
    again = fetch(revision=commit)
    assert (again.outcome, again.fetched) == ("here", 0)
    assert len(hub.asked) == asked
    assert fetch().outcome == "here"


def test_another_revision_does_not_replace_a_model_unasked(hub, commit, source):
    fetch()
    tiny_bert.write_folder(source, seed=3)
    newer = hub.add(REPO, source)
    with pytest.raises(UsageError, match="already there"):
        fetch(revision=newer)
    assert store.find_model("tiny").card.revision == commit
    assert fetch(revision=newer, force=True).revision == newer
    assert store.find_model("tiny").card.revision == newer


def test_a_damaged_model_is_not_taken_for_being_here(hub, commit):
    folder = fetch().folder
    (folder / "tokenizer.json").write_bytes(b"{}")
    with pytest.raises(UsageError, match="--force"):
        fetch()
    assert fetch(force=True).outcome == "compiled"


def test_an_architecture_the_compiler_does_not_know_is_kept_as_published(hub, source):
    config = {**tiny_bert.CONFIG, "model_type": "mamba"}
    tiny_bert.write_json(source / "config.json", config)
    commit = hub.add(REPO, source)
    found = fetch()
    assert found.outcome == "published"
    assert "'mamba'" in found.reason
    record = read_published(found.folder).model
    assert (record.repo, record.revision) == (REPO, commit)
    assert {entry.path for entry in record.files} >= {WEIGHTS, "1_Pooling/config.json"}
    assert all(check.ok for check in verifying.verify_named("tiny"))
    with pytest.raises(ModelError, match=f"st:{found.folder}"):
        store.find_model("tiny")
    asked = len(hub.asked)
    assert fetch().outcome == "here"
    assert fetch(revision=commit).outcome == "here"
    assert len(hub.asked) == asked
    assert fetch(revision="main").outcome == "here"
    assert len(hub.asked) == asked + 1  # which commit that is


def test_published_files_are_verified_and_strangers_among_them_told(hub, commit):
    folder = fetch(raw=True).folder
    (folder / "model.py").write_text("print()", encoding="utf-8")
    data = bytearray((folder / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (folder / WEIGHTS).write_bytes(data)
    bad = {check.path.name for check in verifying.verify_all() if not check.ok}
    assert bad == {"model.py", WEIGHTS}


def test_without_the_compiler_the_files_are_kept_and_compiled_later(hub, commit, monkeypatch):
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "onnx", None)
        found = fetch()
    assert found.outcome == "published"
    assert "closecall[compile]" in found.reason
    later = fetch()
    assert (later.outcome, later.fetched) == ("compiled", 0)
    assert store.find_model("tiny").folder == found.folder


def test_to_a_folder_of_its_own(hub, commit, tmp_path):
    found = fetch(to=tmp_path / "mine")
    assert found.outcome == "published"
    assert (tmp_path / "mine" / WEIGHTS).is_file()
    assert names(store.store_folder()) == []
    with pytest.raises(UsageError, match="something is there"):
        fetch(to=tmp_path / "mine")


def test_onnx_in_place_of_the_safetensors(hub, source):
    model = store.add_model(source, "made").graph.read_bytes()
    files = {"onnx/model.onnx": model, "config.json": b"{}", "tokenizer.json": b"{}"}
    hub.add("acme/graph", files={**files, WEIGHTS: b"x"})
    found = fetch("acme/graph", onnx=True)
    assert found.outcome == "published"
    assert (found.folder / "onnx/model.onnx").read_bytes() == model
    assert not (found.folder / WEIGHTS).exists()
    hub.add("acme/split", files={**files, "onnx/model.onnx_data": b"x"})
    with pytest.raises(UnsupportedArchitectureError, match=r"model\.onnx_data"):
        fetch("acme/split", onnx=True)


def test_a_static_model_is_kept_whole_whatever_its_layout(hub):
    first = {
        "0_StaticEmbedding/model.safetensors": b"w",
        "0_StaticEmbedding/tokenizer.json": b"{}",
    }
    hub.add("acme/static", files={**first, "modules.json": b"[]", "pytorch_model.bin": b"x"})
    folder = fetch("acme/static").folder
    assert (folder / "0_StaticEmbedding/model.safetensors").read_bytes() == b"w"
    later = {"2_Dense/model.safetensors": b"w", "pytorch_model.bin": b"x", "modules.json": b"[]"}
    hub.add("acme/pickled", files=later)
    with pytest.raises(UnsupportedArchitectureError, match=r"pytorch_model\.bin"):
        fetch("acme/pickled")


def test_a_name_of_ones_own_and_names_that_are_taken(hub, commit):
    assert fetch(save_as="mine").folder.name == "mine"
    with pytest.raises(UsageError, match="already names"):
        fetch(save_as="minilm")
    for name in ("..", "cards", "a/b"):
        with pytest.raises(UsageError, match="cannot name a model"):
            fetch(save_as=name)


def test_a_card_gives_names_licence_languages_and_missing_prefixes(
    hub, commit, tmp_path, monkeypatch
):
    cards = tmp_path / "own"
    cards.mkdir()
    (cards / "t.toml").write_text(
        f'format = 1\nname = "wee"\naliases = ["tiny-one"]\nrepo = "{REPO}"\nrevision = "{commit}"\n'
        'licence = "Apache-2.0"\nlanguages = ["de"]\n'
        '[prefixes]\nquery = "ask: "\ndocument = "say: "\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("CLOSECALL_CARDS_DIR", str(cards))
    with pytest.raises(UnknownNameError, match="closecall models pull wee"):
        store.find_model("tiny-one")
    fetch("tiny-one")
    card = store.find_model("tiny-one").card
    assert (card.name, card.licence, card.languages) == ("wee", "Apache-2.0", ("de",))
    assert card.prefixes == {"query": "query: ", "document": "say: "}


def test_weights_other_than_the_card_names_are_refused(hub, commit, tmp_path, monkeypatch):
    (tmp_path / "t.toml").write_text(
        f'format = 1\nname = "wee"\nrepo = "{REPO}"\nrevision = "{commit}"\n'
        f'weights_sha256 = "{"0" * 64}"\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("CLOSECALL_CARDS_DIR", str(tmp_path))
    with pytest.raises(ModelIntegrityError, match="cannot be trusted"):
        fetch("wee")
    assert hub.times(WEIGHTS) == 0


# What is refused


def test_pickles_are_refused_by_name_and_not_fetched(hub, source):
    (source / WEIGHTS).rename(source / "pytorch_model.bin")
    hub.add(REPO, source)
    with pytest.raises(UnsupportedArchitectureError, match=r"pytorch_model\.bin"):
        fetch()
    assert len(hub.asked) == 1


def test_pickles_beside_safetensors_and_code_are_left(hub, source):
    for name in ("pytorch_model.bin", "modeling.py", "flax_model.msgpack", "weird/config.json"):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_bytes(b"x")
    hub.add(REPO, source)
    folder = fetch(raw=True).folder
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == {
        "1_Pooling/config.json", "README.md", "config.json", "config_sentence_transformers.json",
        WEIGHTS, "modules.json", "pulled.toml", "sentence_bert_config.json", "tokenizer.json",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("config.json", {**tiny_bert.CONFIG, "auto_map": {"AutoModel": "modeling.Mine"}}),
        ("tokenizer_config.json", {"inner": [{"auto_map": {"AutoTokenizer": "t.Mine"}}]}),
        ("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "custom_st.Transformer"}]),
    ],
)
def test_code_of_its_own_is_refused_before_the_weights_come(hub, source, name, value):
    tiny_bert.write_json(source / name, value)
    hub.add(REPO, source)
    with pytest.raises(UnsupportedArchitectureError, match="never runs"):
        fetch()
    assert hub.times(WEIGHTS) == 0
    assert names(store.store_folder()) == [".pulling"]


@pytest.mark.parametrize("name", ["gte-base-en-v1.5", "nomic-embed-text-v1.5", "bge-m3"])
def test_models_known_to_be_refused_are_refused_without_asking(hub, name):
    with pytest.raises(UnsupportedArchitectureError, match="never r"):
        fetch(name)
    assert hub.asked == []


@pytest.mark.parametrize(
    "name",
    ["../../evil.safetensors", "/etc/passwd", "1_Pooling/../config.json", "a\\b", "con.json"],
)
def test_names_that_lead_elsewhere_are_never_written(hub, source, commit, name, tmp_path):
    held = hub.repos[REPO][commit]
    held[name] = b"evil"
    folder = fetch(raw=True).folder
    assert not any(b"evil" in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert not (tmp_path / "evil.safetensors").exists()


def test_a_model_larger_than_allowed_is_not_begun(hub, commit):
    with pytest.raises(ModelError, match="--at-most"):
        fetch(most_bytes=1000)
    assert hub.times("config.json") == 0


def test_a_full_disk_is_told_before_it_is_full(hub, commit, monkeypatch):
    def usage(_):
        return dataclasses.make_dataclass("Usage", ["free"])(1000)

    monkeypatch.setattr("shutil.disk_usage", usage)
    with pytest.raises(ModelError, match="make room"):
        fetch()
    assert hub.times("config.json") == 0


def test_files_without_a_hash_are_not_taken(hub, commit, monkeypatch):
    made = fake_hub.Hub.listing

    def without(self, *args):
        document = made(self, *args)
        for entry in document["siblings"]:
            entry.pop("lfs", None)
        return document

    monkeypatch.setattr(fake_hub.Hub, "listing", without)
    with pytest.raises(ModelError, match="no hash"):
        fetch()


def test_unknown_names_suggest_the_nearest(hub):
    with pytest.raises(UnknownNameError, match=r"Did you mean bge-small-en-v1\.5\?"):
        fetch("bge-smal-en-v1.5")
    assert hub.asked == []


@pytest.mark.parametrize("revision", ["../main", "a b", "-x", "x" * 300])
def test_a_revision_that_cannot_be_one(hub, commit, revision):
    with pytest.raises(UsageError, match="--revision"):
        fetch(revision=revision)


def test_the_network_forbidden(monkeypatch):
    monkeypatch.setenv("CLOSECALL_OFFLINE", "1")
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    with pytest.raises(ConfigurationError, match="CLOSECALL_OFFLINE"):
        fetch("bge-small-en-v1.5")


def test_the_network_forbidden_leaves_this_machine_and_follows_nowhere(hub, commit, monkeypatch):
    monkeypatch.setenv("CLOSECALL_OFFLINE", "1")
    hub.fault("config.json", status(302, Location="https://example.org/x"))
    with pytest.raises(ConfigurationError, match="CLOSECALL_OFFLINE"):
        fetch()
    assert fetch().outcome == "compiled"


# What goes wrong on the way


def test_a_body_cut_short_is_gone_on_with(hub, commit, source):
    size = (source / WEIGHTS).stat().st_size
    hub.fault(WEIGHTS, cut(1000), cut(1200))
    waits = Waits()
    found = fetch(waits=waits)
    assert found.outcome == "compiled"
    ranges = [asked for name, asked, _ in hub.asked if name == WEIGHTS]
    # The second reply is cut as well, and is of the whole file: it begins anew.
    assert ranges == [None, "bytes=1000-", "bytes=1200-"]
    assert size < found.fetched
    assert waits == [1.0, 1.0]  # the count began anew, because each try got further


def test_a_storage_that_knows_no_ranges_begins_anew(hub, commit, source):
    data = (source / WEIGHTS).read_bytes()
    hub.fault(WEIGHTS, cut(500), body(data))
    assert fetch().outcome == "compiled"


def test_tries_are_counted_between_steps_forward_only(hub, commit):
    hub.fault(WEIGHTS, *[cut(10 + at) for at in range(8)])
    assert fetch(tries=2).outcome == "compiled"


def test_a_file_that_never_gets_further_is_given_up(hub, commit):
    hub.fault(WEIGHTS, *[cut(700)] * 20)  # each from its beginning: no ranges
    with pytest.raises(ModelError, match="Tried 3 times without getting further"):
        fetch(tries=3)
    assert hub.times(WEIGHTS) == 3


def test_a_damaged_part_is_fetched_afresh(hub, commit):
    hub.fault(WEIGHTS, cut(900), status(503), status(503))
    with pytest.raises(ModelError, match="type the same again"):
        fetch(tries=2)
    (part,) = store.store_folder().rglob("*.part")
    assert part.stat().st_size == 900
    part.write_bytes(b"x" * 900)
    assert fetch().outcome == "compiled"


def test_wrong_bytes_are_refused_and_nothing_is_left_of_them(hub, commit, source):
    data = bytearray((source / WEIGHTS).read_bytes())
    data[100] ^= 1
    hub.fault(WEIGHTS, body(bytes(data)))
    with pytest.raises(ModelIntegrityError, match="expected sha256"):
        fetch()
    assert not list(store.store_folder().rglob(f"{WEIGHTS}*"))
    assert fetch().outcome == "compiled"


def test_small_files_are_held_against_gits_hash(hub, commit, source):
    data = (source / "config.json").read_bytes().replace(b"gelu", b"GELU")
    hub.fault("config.json", body(data))
    with pytest.raises(ModelIntegrityError, match="git blob"):
        fetch()


def test_a_length_other_than_listed_is_refused(hub, commit):
    hub.fault(WEIGHTS, lambda handler: handler.answer(200, b"", Content_Length=10**15))
    with pytest.raises(ModelError, match="its storage 1,000,000,000,000,000"):
        fetch()


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(hub, commit, code):
    hub.fault("listing", status(code))
    hub.fault(WEIGHTS, status(code, Retry_After=7))
    waits = Waits()
    assert fetch(waits=waits).outcome == "compiled"
    assert waits == [1.0, 7.0]


def test_a_wait_of_hours_is_not_waited(hub, commit):
    hub.fault("listing", status(429, Retry_After=7200))
    waits = Waits()
    with pytest.raises(ModelError, match="asks to wait 7200 s"):
        fetch(waits=waits)
    assert waits == []


def test_a_slow_storage_is_given_up_and_gone_on_with(hub, commit, source):
    data = (source / WEIGHTS).read_bytes()

    def slow(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:700])
        handler.wfile.flush()
        handler.connection.settimeout(60)
        handler.connection.recv(1)  # until the client has gone
        handler.close_connection = True

    hub.fault(WEIGHTS, slow)
    assert fetch(timeout=2.0).outcome == "compiled"
    assert [r for name, r, _ in hub.asked if name == WEIGHTS] == [None, "bytes=700-"]


def test_a_hub_that_is_not_there(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(ModelError, match="refused"):
        fetch()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (status(401), "it is private, or there is no such model"),
        (status(403, X_Error_Code="GatedRepo"), "Accept its terms at http"),
        (status(404), "no such model"),
        (status(404, X_Error_Code="RevisionNotFound"), "has no revision main"),
        (status(418), "the hub answered 418"),
        (body(b"<html>Log in</html>", Content_Type="text/html"), "text/html"),
        (body(b'{"sha": "x", "siblings": []}'), "cannot be read: sha"),
        (body(b'{"siblings": []}'), "cannot be read"),
        (body(b"[]"), "cannot be read"),
        (body(b'{"siblings": [{"rfilename": "a", "lfs": "x"}]}'), "cannot be read"),
        (body(b"[" * 100_000), "no list of files"),
        (status(302, Location="http://example.org/"), "only https"),
        (status(302, Location="file:///etc/passwd"), "redirect to no address"),
        (status(302, Location="https://u:p@example.org/"), "a password in it"),
        (status(302), "names no place"),
    ],
)
def test_answers_that_are_none(hub, commit, fault, said):
    hub.fault("listing", fault)
    with pytest.raises(ModelError, match=said):
        fetch()


def packed(handler, data, *, cut=None):
    """Give bytes as a server does that packs whatever was asked for."""
    data = gzip.compress(data)
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data[:cut])
    handler.close_connection = cut is not None


def test_what_comes_packed_with_gzip_is_unpacked(hub, commit, source):
    listing = json.dumps(hub.listing(REPO, commit)).encode()
    hub.fault("listing", lambda handler: packed(handler, listing))
    for name in ("config.json", WEIGHTS):
        data = (source / name).read_bytes()
        hub.fault(name, lambda handler, data=data: packed(handler, data))
    assert fetch().outcome == "compiled"
    assert hub.times("config.json") == hub.times(WEIGHTS) == 1


def test_a_packed_file_that_breaks_off_is_begun_anew_and_not_gone_on_with(hub, source):
    text = random.Random(0).randbytes(50_000).hex().encode()
    (source / "README.md").write_bytes(text)
    hub.add(REPO, source)

    def rest(handler):
        data = gzip.compress(text[10_000:])
        start = handler.headers["Range"].removeprefix("bytes=").removesuffix("-")
        where = f"bytes {start}-{len(text) - 1}/{len(text)}"
        handler.answer(206, data, Content_Range=where, Content_Encoding="gzip")

    hub.fault("README.md", lambda handler: packed(handler, text, cut=30_000), rest)
    hub.fault("README.md", lambda handler: packed(handler, text))
    assert fetch().outcome == "compiled"
    asked = [r for name, r, _ in hub.asked if name == "README.md"]
    assert [r and r[:6] for r in asked] == [None, "bytes=", None]


@pytest.mark.parametrize("what", ["listing", "config.json"])
def test_a_packed_answer_that_unpacks_to_too_much_is_refused(what, hub, commit, monkeypatch):
    monkeypatch.setattr("closecall.models.hub._LISTING_BYTES", 1_000_000)
    hub.fault(what, body(gzip.compress(b" " * 50_000_000), Content_Encoding="gzip"))
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=r"unpacks to more than the [\d,]+ bytes"):
            fetch()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize("what", ["listing", "config.json"])
def test_a_packed_answer_of_nothing_without_end_is_refused(what, hub, commit, monkeypatch):
    monkeypatch.setattr("closecall.models.hub._LISTING_BYTES", 10_000)
    nothing = gzip.compress(b"")[:10] + b"\x00\x00\x00\xff\xff" * 100_000
    hub.fault(what, body(nothing, Content_Encoding="gzip"))
    with pytest.raises(ModelError, match="came as gzip and does not end"):
        fetch()


@pytest.mark.parametrize("what", ["listing", "config.json"])
def test_an_answer_packed_otherwise_or_badly_is_refused(what, hub, commit):
    hub.fault(what, body(b"x" * 400, Content_Encoding="br"))
    with pytest.raises(ModelError, match="came as br, which was not asked for"):
        fetch()
    hub.fault(what, body(b"x" * 400, Content_Encoding="gzip"))
    with pytest.raises(ModelError, match="came as gzip and is no gzip, or damaged"):
        fetch()


def test_redirects_in_a_circle_end(hub, commit):
    again = status(302, Location=f"{hub.endpoint}/api/models/{REPO}/revision/main?blobs=true")
    hub.fault("listing", *[again] * 20)
    with pytest.raises(ModelError, match="redirects"):
        fetch()
    assert hub.times("listing") == 6


def test_a_listing_without_end_is_given_up(hub, commit, monkeypatch):
    monkeypatch.setattr("closecall.models.hub._LISTING_BYTES", 1000)
    hub.fault("listing", body(b" " * 5000))
    with pytest.raises(ModelError, match="does not end"):
        fetch()


def test_another_commit_than_asked_for_is_refused(hub, commit):
    other = "1" * 40
    document = b'{"sha": "%s", "siblings": []}' % commit.encode()
    hub.fault("listing", body(document))
    with pytest.raises(ModelError, match=f"asked for commit {other}"):
        fetch(revision=other)


# Tokens, proxies, certificates


def test_the_token_goes_to_the_hub_only(hub, commit, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.gated[REPO] = "Bearer hf_secret"
    fetch()
    sent = {name: token for name, _, token in hub.asked}
    assert sent["listing"] == sent["config.json"] == "Bearer hf_secret"
    assert sent[WEIGHTS] is None


def test_without_a_token_gated_files_say_what_to_do(hub, commit):
    hub.gated[REPO] = "Bearer hf_secret"
    with pytest.raises(ModelError, match="HF_TOKEN"):
        fetch()


def test_a_token_that_a_server_repeats_is_not_shown(hub, commit, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.fault("listing", status(401, X_Error_Message="bad hf_secret"))
    with pytest.raises(ModelError, match="token is not accepted") as told:
        fetch()
    assert "hf_secret" not in str(told.value)
    assert "[token]" in str(told.value)


@pytest.mark.parametrize("token", ["a\nb", "ä", "x" * 600])
def test_what_is_no_token_is_not_sent_and_not_shown(token, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(ConfigurationError, match="HF_TOKEN") as told:
        Hub("pulling")
    assert token not in str(told.value)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://hub.example.org",
        "ftp://127.0.0.1",
        "hub.example.org",
        "https://u:p@x.org",
        "https://x.org?a=b",
        "https://",
    ],
)
def test_endpoints_that_are_none(endpoint, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(ConfigurationError, match="HF_ENDPOINT"):
        Hub("pulling")


def test_a_proxy_is_asked_for_everything_but_this_machine(hub, commit, monkeypatch):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert fetch().outcome == "compiled"
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example.org")
    with pytest.raises(ModelError, match="refused"):  # by the proxy: no name is looked up
        fetch(save_as="other")


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
def test_certificates_that_are_not_there(variable, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_ENDPOINT", "https://127.0.0.1:1")
    monkeypatch.setenv(variable, str(tmp_path / "none.pem"))
    with pytest.raises(ConfigurationError, match=f"{variable}: there is nothing at"):
        fetch()
    (tmp_path / "none.pem").write_text("x", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="holds no certificates"):
        fetch()


@pytest.fixture
def secured(source, tmp_path, monkeypatch):
    context, certificate = fake_certificate.serving(tmp_path)
    made = fake_hub.Hub(context)
    made.add(REPO, source)
    monkeypatch.setenv("HF_ENDPOINT", made.endpoint)
    yield made, certificate
    made.close()


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
def test_a_certificate_of_ones_own_is_trusted_when_named(secured, variable, monkeypatch):
    hub, certificate = secured
    waits = Waits()
    with pytest.raises(ModelError, match="name the file of its certificate in SSL_CERT_FILE"):
        fetch(waits=waits)
    assert (waits, hub.asked) == ([], [])
    monkeypatch.setenv(variable, str(certificate))
    assert fetch().outcome == "compiled"
    assert hub.times(WEIGHTS) == 1


def test_no_redirect_leaves_https(secured, hub, monkeypatch):
    safe, certificate = secured
    monkeypatch.setenv("HF_ENDPOINT", safe.endpoint)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    safe.fault("config.json", status(302, Location=f"{hub.endpoint}/x"))
    with pytest.raises(ModelError, match="only https"):
        fetch()
    assert hub.asked == []


# Interrupted


CODE = """
import sys
from closecall.models.keeping import Wanted
from closecall.models.pull import pull
pull(Wanted(name=sys.argv[1]))
"""


def test_killed_half_way_it_is_gone_on_with(hub, commit, source):
    data = (source / WEIGHTS).read_bytes()

    def stall(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:5000])
        handler.wfile.flush()
        time.sleep(120)  # no more comes before it is killed

    hub.fault(WEIGHTS, stall)
    child = subprocess.Popen([sys.executable, "-c", CODE, REPO], env=dict(os.environ))
    until = time.monotonic() + 60
    part = None
    while time.monotonic() < until:
        part = next(store.store_folder().rglob(f"{WEIGHTS}.part"), None)
        if part is not None and part.stat().st_size == 5000:
            break
        time.sleep(0.02)
    try:
        with pytest.raises(ModelError, match="another process is fetching it"):
            fetch()
    finally:
        child.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        child.wait()
    have = part.stat().st_size
    assert 0 < have < len(data)
    assert [m.card.name for m in store.list_models().models] == ["all-MiniLM-L6-v2"]
    before = hub.times("tokenizer.json")
    found = fetch()
    assert found.outcome == "compiled"
    assert found.fetched == len(data) - have
    assert hub.times("tokenizer.json") == before
    assert [r for name, r, _ in hub.asked if name == WEIGHTS][-1] == f"bytes={have}-"


def test_what_a_pull_left_that_was_killed_at_its_end_goes_with_the_next(hub, commit):
    folder = fetch().folder
    work = store.store_folder() / ".pulling" / f"tiny@{commit[:12]}"
    work.mkdir()
    (work / WEIGHTS).write_bytes(b"fetched, and not needed any more")
    (folder.parent / ".adding-x").mkdir()
    (folder.parent / ".adding-x" / ".lock").touch()
    assert fetch().outcome == "here"
    assert names(store.store_folder()) == [".pulling", "tiny"]
    assert names(work.parent) == ["tiny.lock"]


def test_an_error_while_compiling_keeps_the_files(hub, source):
    (source / WEIGHTS).write_bytes((8).to_bytes(8, "little") + b"{}      ")
    hub.add(REPO, source)
    found = fetch()
    assert found.outcome == "published"
    assert found.reason
    assert keeping.HERE not in found.reason
