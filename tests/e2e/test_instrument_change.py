"""A model that changed in any one way decides nothing by an old cutoff, until it is refreshed."""

import functools
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer

sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))
from labelled_rows import rows, write

from closecall import evaluate, load_calibration, load_embedder
from closecall.calibration.decisions import decide
from closecall.calibration.drift.canary_record import record_canaries
from closecall.cli import run as command_line
from closecall.embedders import onnx as embedder_module
from closecall.errors import InstrumentMismatchError
from closecall.models.cards import CARD_FILE, GRAPH_FILE, TOKENIZER_FILE, format_card
from closecall.models.hashing import hash_file
from closecall.models.store import find_model

CARD = msgspec.structs.replace(
    find_model().card, name="copied", aliases=(), prefixes={"text": "answer: "}
)


def folder(place, card=CARD, graph=None, tokenizer=None):
    """Write a copy of the bundled model with these things changed; the card says what it is."""
    place.mkdir()
    usual = find_model()
    if graph is None:
        link(usual.graph, place / GRAPH_FILE)
    else:
        model = onnx.load(usual.graph)
        graph(model.graph)
        onnx.save(model, place / GRAPH_FILE)
    if tokenizer is None:
        link(usual.folder / TOKENIZER_FILE, place / TOKENIZER_FILE)
    else:
        tokenizer.save(str(place / TOKENIZER_FILE))
    files = tuple(hash_file(place / name) for name in (GRAPH_FILE, TOKENIZER_FILE))
    card = msgspec.structs.replace(card, files=files)
    (place / CARD_FILE).write_text(format_card(card), encoding="utf-8")
    return place


def link(source, target):
    try:
        os.link(source, target)
    except OSError:
        target.write_bytes(source.read_bytes())


def first_token(graph):
    graph.initializer.append(numpy_helper.from_array(np.array(0, np.int64), "zero"))
    at = next(at for at, node in enumerate(graph.node) if node.op_type == "LpNormalization")
    graph.node[at].input[0] = "first"
    graph.node.insert(at, helper.make_node("Gather", ["tokens", "zero"], ["first"], axis=1))


def each_matrix(change, layer):
    """Return what changes every matrix of a layer in a graph."""

    def changed(graph):
        found = [
            tensor
            for tensor in graph.initializer
            if tensor.data_type == onnx.TensorProto.FLOAT16 and tensor.name.startswith(layer)
        ]
        assert found
        for tensor in found:
            values = numpy_helper.to_array(tensor).astype(np.float32)
            new = change(values).astype(np.float16)
            tensor.CopyFrom(numpy_helper.from_array(new, tensor.name))

    return changed


def nudged(values):
    return values + np.random.default_rng(5).normal(0, 0.1 * values.std(), values.shape)


def in_8_bits(values):
    scale = np.abs(values).max(axis=0, keepdims=True) / 127
    return np.round(values / scale) * scale


def with_case():
    made = Tokenizer.from_file(str(find_model().folder / TOKENIZER_FILE))
    made.normalizer = BertNormalizer(lowercase=False)
    return made


class Change(NamedTuple):
    """What is changed, the fields it is told by, and what the canaries say of it."""

    card: dict
    files: dict
    fields: list
    seen: str


SAME = "the test texts embed as they did"
ANY = "[a-z0-9-]+"
MOVED = r"verdict of the test texts: {}\n.*?canary '{}' moved by [\d.e-]+ \(1 - cosine\)"
OTHER = MOVED.format("different instrument", ANY)
CHANGES = {
    "prefix": Change({"prefixes": {"text": "reply: "}}, {}, ["prefixes"], OTHER),
    "pooling": Change(
        {"pooling": "cls"}, {"graph": first_token}, ["weights", "pooling"], OTHER
    ),
    "weights": Change({}, {"graph": each_matrix(nudged, "layer.3.")}, ["weights"], OTHER),
    "weights in 8 bits": Change(
        {}, {"graph": each_matrix(in_8_bits, "layer.")}, ["weights"],
        MOVED.format("precision change", ANY),
    ),
    "precision": Change({"precision": "fp32"}, {}, ["precision"], SAME),
    "window": Change(
        {"max_tokens": 64}, {}, ["max_tokens", "overlap"],
        MOVED.format("different instrument", "longe?r?"),
    ),
    "case": Change(
        {}, {"tokenizer": with_case()}, ["tokenizer"],
        MOVED.format("different instrument", "accents")
        + ".*canary 'case-upper' had a vector at calibration and has none now",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _each_model_and_record_once(monkeypatch):
    monkeypatch.setattr(embedder_module, "OnnxEmbedder", lambda m, **o: ONCE(m.folder, **o))
    monkeypatch.setattr("closecall.runs.calibrate.record_canaries", RECORDS)


ONCE = functools.cache(embedder_module.OnnxEmbedder)
RECORDS = functools.cache(record_canaries)


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    """Labelled cases, a copied model and the calibration made with it."""
    place = tmp_path_factory.mktemp("instrument")
    folder(place / "model")
    cases = write(place / "cases.jsonl", rows(36, 36))
    cutoff = place / "cutoff.json"
    args = ["calibrate", cases, "--max-far", "0.1", "--embedder", f"onnx:{place / 'model'}"]
    assert command_line([*map(str, args), "-o", str(cutoff), "-q", "--no-cache"]) == 0
    return place


@pytest.fixture
def cli(capsys):
    def call(*args):
        code = command_line([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_named_refused_and_repaired(name, setting, cli, tmp_path):
    change = CHANGES[name]
    card = msgspec.structs.replace(CARD, **change.card)
    changed = f"onnx:{folder(tmp_path / 'changed', card, **change.files)}"
    cutoff, cases = setting / "cutoff.json", setting / "cases.jsonl"
    before = load_calibration(cutoff)
    cache = tmp_path / "cache"
    common = ("--embedder", changed, "--cache-dir", cache)
    args = ("eval", cases, *common, "--no-aef", "--calibration")

    code, out, err = cli(*args, cutoff)
    assert (code, out) == (6, "")
    fields = re.findall(r"^  (\w+) .* then, .* now$", err, re.MULTILINE)
    assert "belongs to another embedder" in err
    assert fields == change.fields
    assert re.search(change.seen, err, re.DOTALL), err
    assert f"closecall calibrate --refresh {cutoff} --embedder {changed}" in err

    new = tmp_path / "new.json"
    code, out, err = cli("calibrate", "--refresh", cutoff, *common, "-o", new)
    assert code == 0, err
    after = load_calibration(new)
    values = {
        row.case.id: row.results[0].measurement.value
        for row in evaluate(cases, embedder=changed, cache=cache)
    }
    flips = [
        f"  {case}: {decide(before.rule, score)} then, {decide(after.rule, values[case])} now"
        for case, score in zip(before.sample.ids, before.sample.scores, strict=True)
        if decide(before.rule, score) is not decide(after.rule, values[case])
    ]
    said = " ".join(out[out.index("Was ") :].split())  # wrapped at the width of the terminal
    assert f"; {len(flips)} of 72 labelled answers are decided otherwise now" in said
    head = f"; {len(flips)} of 72 labelled answers are decided otherwise now"
    told = said[said.index(head) + len(head) :].removeprefix(":").removeprefix(".")
    listed = " ".join(["", *(" ".join(flip.split()) for flip in flips[:20])])
    assert told.startswith(listed)
    assert len(flips) > 20 or told == listed
    assert bool(flips) == (name in {"prefix", "pooling", "weights"})

    code, out, err = cli(*args, new)
    assert code in {0, 1}, err
    assert "calibrated " in out


def test_an_embedder_that_only_keeps_its_identity_is_refused_by_its_canaries(setting):
    class Wrapper:
        def __init__(self, inner):
            self._inner, self.instrument = inner, inner.instrument

        def embed(self, texts, role="text"):
            return self._inner.embed([text.upper()[:40] for text in texts], role)

    inner = load_embedder(f"onnx:{setting / 'model'}")
    cases, cutoff = setting / "cases.jsonl", setting / "cutoff.json"
    run = evaluate(cases, embedder=inner, calibration=cutoff, cache=False)
    assert run.metrics[0].cutoff_source == "calibrated"
    with pytest.raises(InstrumentMismatchError, match="is called the same and no longer is") as e:
        evaluate(cases, embedder=Wrapper(inner), calibration=cutoff, cache=False)
    assert re.search(OTHER, str(e.value))
