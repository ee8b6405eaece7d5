"""Weights run by sentence-transformers: the numbers of CrossEncoder.predict, and of the graph."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import RobertaProcessing, TemplateProcessing

from closecall.errors import ModelError
from closecall.metrics.base import SCORE_NOISE
from closecall.metrics.pairs.metric import CrossEncoderScore
from closecall.records import Case, Measured

WHY = "the extra 'torch' is not installed"
torch = pytest.importorskip("torch", reason=WHY)
pytest.importorskip("sentence_transformers", reason=WHY)

pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # of the libraries, not ours

LABELS = ("contradiction", "entailment", "neutral")
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("the", "a", "b", "cat", "dog", "is", "red", "blue", "tall", "what", "colour")
PAIRS = [
    ("the cat is red", "the dog is blue"),
    ("a red cat", "a blue cat is tall"),
    ("what colour is the cat", "red"),
    ("the dog is tall the dog is blue a b", "the cat"),
]


def tokenizer(kind):
    from transformers import PreTrainedTokenizerFast

    ids = {word: at for at, word in enumerate((*SPECIALS, *WORDS))}
    made = Tokenizer(WordLevel(ids, unk_token="[UNK]"))  # noqa: S106 - a token, no password
    made.pre_tokenizer = Whitespace()
    made.post_processor = (
        RobertaProcessing(("[SEP]", 3), ("[CLS]", 2))
        if kind == "roberta"
        else TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        )
    )
    names = ["input_ids", "attention_mask"]
    if kind == "bert":
        names.insert(1, "token_type_ids")
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_max_length=40,
        model_input_names=names,
        **{f"{name[1:-1].lower()}_token": name for name in SPECIALS},
    )


def model(kind, labels, seed=0):
    import transformers

    torch.manual_seed(seed)
    names = dict(enumerate(labels))
    shape = {"vocab_size": len(SPECIALS) + len(WORDS), "num_labels": len(labels)}
    shape |= {"id2label": names, "label2id": {name: at for at, name in names.items()}}
    shape |= {"initializer_range": 0.5, "pad_token_id": 0}
    if kind == "distilbert":
        config = transformers.DistilBertConfig(
            dim=24, n_layers=2, n_heads=3, hidden_dim=40, max_position_embeddings=48, **shape
        )
        return transformers.DistilBertForSequenceClassification(config)
    size = {
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 40,
        "max_position_embeddings": 48,
    }
    if kind == "roberta":
        config = transformers.RobertaConfig(**size, **shape | {"type_vocab_size": 1})
        return transformers.RobertaForSequenceClassification(config)
    return transformers.BertForSequenceClassification(transformers.BertConfig(**size, **shape))


def write(folder, kind="bert", labels=LABELS, **config):
    made = model(kind, labels)
    made.config.update(config)
    made.save_pretrained(folder)
    tokenizer(kind).save_pretrained(folder)
    return made


def predicted(folder, pairs, **options):
    from sentence_transformers import CrossEncoder

    return CrossEncoder(str(folder), local_files_only=True, device="cpu").predict(pairs, **options)


def values(metric):
    cases = [Case(id="1", response=b, references=(a,)) for a, b in PAIRS]
    found = metric.measure_batch(cases, {})
    assert all(isinstance(one, Measured) for one in found), found
    return found


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
def test_shares_are_those_of_predict(tmp_path, kind):
    write(tmp_path, kind)
    metric = CrossEncoderScore(model=tmp_path, direction="to_response")
    shares = predicted(tmp_path, PAIRS, apply_softmax=True)
    for found, expected in zip(values(metric), shares, strict=True):
        assert found.value == pytest.approx(expected[1], abs=2e-6)
        assert list(found.details["toResponse"]) == list(LABELS)
        assert list(found.details["toResponse"].values()) == pytest.approx(
            expected.tolist(), abs=2e-6
        )
    turned = predicted(tmp_path, [(b, a) for a, b in PAIRS], apply_softmax=True)
    both = values(CrossEncoderScore(model=tmp_path))
    lower = np.minimum(shares[:, 1], turned[:, 1])
    assert [one.value for one in both] == pytest.approx(lower.tolist(), abs=2e-6)


@pytest.mark.parametrize("activation", [None, "torch.nn.modules.linear.Identity"])
def test_one_score_is_that_of_predict(tmp_path, activation):
    said = {} if activation is None else {"sentence_transformers": {"activation_fn": activation}}
    write(tmp_path, labels=("LABEL_0",), **said)
    metric = CrossEncoderScore(model=tmp_path)
    assert (metric.spec.high is None) == (activation is not None)
    expected = predicted(tmp_path, PAIRS).tolist()
    assert [one.value for one in values(metric)] == pytest.approx(expected, abs=5e-6)


def test_a_folder_saved_by_the_library_is_read(tmp_path):
    from sentence_transformers import CrossEncoder

    write(tmp_path / "raw", labels=("LABEL_0",))
    CrossEncoder(str(tmp_path / "raw"), local_files_only=True).save_pretrained(
        str(tmp_path / "saved"), create_model_card=False
    )
    first, second = (
        [one.value for one in values(CrossEncoderScore(model=tmp_path / name))]
        for name in ("raw", "saved")
    )
    assert first == second


def test_a_graph_and_its_weights_agree(tmp_path):
    made = write(tmp_path / "torch").eval()
    graph = tmp_path / "onnx"
    graph.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (graph / name).write_bytes((tmp_path / "torch" / name).read_bytes())
    ids = torch.ones(2, 12, dtype=torch.long)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            made,
            (ids, torch.ones_like(ids), torch.zeros_like(ids)),
            graph / "model.onnx",
            input_names=names,
            output_names=["logits"],
            dynamic_axes={name: {0: "pairs", 1: "tokens"} for name in names},
            opset_version=17,
            dynamo=False,
        )
    weights, exported = (
        CrossEncoderScore(model=tmp_path / name, question=False) for name in ("torch", "onnx")
    )
    assert weights.folder.kind == "torch"
    assert exported.folder.kind == "onnx"
    left, right = (
        [(one.value, one.tokens) for one in values(metric)] for metric in (weights, exported)
    )
    for (value, tokens), (other, same) in zip(left, right, strict=True):
        assert value == pytest.approx(other, abs=SCORE_NOISE)
        assert tokens == same


def test_half_precision_is_computed_in_single(tmp_path):
    made = model("bert", LABELS).half()
    made.save_pretrained(tmp_path)
    tokenizer("bert").save_pretrained(tmp_path)
    metric = CrossEncoderScore(model=tmp_path)
    values(metric)
    assert {p.dtype for p in metric._ready().runner._model.parameters()} == {torch.float32}


def test_weights_without_the_layer_that_scores_are_refused(tmp_path):
    write(tmp_path)
    made = model("bert", LABELS)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    made.bert.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match=r"lacks classifier\.weight.*scores at random"):
        CrossEncoderScore(model=tmp_path).load()


def test_damaged_weights_are_refused(tmp_path):
    write(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(ModelError, match="sentence-transformers cannot load it"):
        CrossEncoderScore(model=tmp_path).load()


def test_nothing_heavy_loads_before_the_first_pair_and_nothing_is_shown(tmp_path):
    write(tmp_path)
    code = f"""
import sys
from closecall.metrics.registry import load_metric
from closecall.records import Case
metric = load_metric("cross_encoder:model={tmp_path.as_posix()}")
assert "torch" not in sys.modules
print(metric.measure(Case(id="1", response="the cat", references=("the dog",)), {{}}).value)
"""
    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH")])),
        },
        timeout=300,
    )
    assert 0 <= float(said.stdout) <= 1
    assert "Loading" not in said.stderr
