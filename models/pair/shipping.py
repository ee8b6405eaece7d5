"""Make the bundled pair model out of a trained one.

::

    python -m pair.shipping TRAINED      # in models/; writes models/pair-minilm

``TRAINED`` is a folder of the transformers library: ``config.json`` and ``model.safetensors`` of a
``BertForSequenceClassification`` with one label. Its word embeddings were frozen, so they are the
bundled model's and are left there; the rest is stored in 8 bits. The same folder gives the same
bytes. Needs ``pip install 'closecall[compile]'``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from closecall.errors import ModelError
from closecall.metrics.support.model import PairModel
from closecall.models.bundled_pair import StoredPair, load_pair
from closecall.models.cards import CARD_FILE, GRAPH_FILE, TOKENIZER_FILE, Origin, read_card
from closecall.models.encoder_config import ACTIVATIONS, BertConfig, read_config
from closecall.models.hashing import hash_file
from closecall.models.pair_card import (
    PAIR_MODEL,
    Canary,
    PairCard,
    PairFacts,
    WordTable,
    format_pair_card,
)
from closecall.models.weights import Weights, weights_path
from closecall.models.word_table import Words, read_words
from pair.forward import Forward, as_trained
from pair.graph import WINDOW, pair_graph, restored
from pair.samples import SAMPLES

MODELS = Path(__file__).resolve().parent.parent
WORDS_FOLDER = MODELS / "all-MiniLM-L6-v2"
TARGET = MODELS / PAIR_MODEL

MOST_BYTES = 11_800_000
"""Most that the graph may weigh."""

TENSOR = "words"
"""What the bundled model's graph calls its word table."""

GRAPH_ERROR = 2e-5
"""Most that the graph may differ from the same weights computed in float64, in P(acceptable)."""

FACTS = PairFacts(licence="Apache-2.0", languages=("en",))
"""What stands on the card where nothing else is said: what the bundled model's card says."""

DIGITS = 6
"""Decimals of a canary's value; a processor of another kind moves the seventh."""


class Lost(NamedTuple):
    """What 8 bits cost on the samples: the largest and the mean difference in P(acceptable)."""

    largest: float
    mean: float


def ship(
    source_folder: Path,
    target_folder: Path = TARGET,
    words_folder: Path = WORDS_FOLDER,
    facts: PairFacts = FACTS,
    samples: Sequence[tuple[str, str]] = SAMPLES,
) -> PairCard:
    """Write ``model.onnx``, ``card.toml``, ``LICENSE`` and ``NOTICE``, and return the card.

    The graph is run on the samples and held against the same weights in float64; the canaries'
    values are the latter's, which are the same on every machine.

    Parameters
    ----------
    source_folder
        The trained model.
    target_folder
        Made if it is not there; what is there is replaced.
    words_folder
        The bundled model whose word table and tokenizer it reads with.
    facts
        What only those who trained it know; stands on the card.
    samples
        Pairs that it is held against, and that become its canaries.

    Raises
    ------
    ModelError
        If the folder is not such a model, its words are not the bundled model's, the graph would
        be too large, or does not compute what the weights do.
    """
    config = _config(source_folder)
    path = weights_path(source_folder)
    weights = Weights(path)
    words = _words(config, weights, words_folder)
    graph = pair_graph(config, weights)
    if len(graph) > MOST_BYTES:
        raise ModelError(f"{source_folder}: makes {len(graph):,} bytes, more than {MOST_BYTES:,}")
    origin = hash_file(path)
    with tempfile.TemporaryDirectory() as work:
        made = Path(work) / GRAPH_FILE
        made.write_bytes(graph)
        card = PairCard(
            **{name: getattr(facts, name) for name in PairFacts.__struct_fields__},
            name=PAIR_MODEL,
            dims=config.hidden_size,
            window=min(WINDOW, config.positions),
            precision="int8-weights",
            tokenizer=hash_file(words_folder / TOKENIZER_FILE),
            words=WordTable(
                read_card(words_folder / CARD_FILE).name,
                GRAPH_FILE,
                TENSOR,
                config.vocab_size,
                hashlib.sha256(words.tobytes()).hexdigest(),
            ),
            weights=Origin(origin.name, origin.sha256),
            files=(hash_file(made),),
            canaries=tuple(Canary(first, second, 0.0) for first, second in samples),
        )
        model = PairModel(StoredPair(card, made.parent, words_folder))
        exact = _forward(model, Forward(config, weights, words, restored), samples)
        _require_near(source_folder, model.score(samples), exact)
    card = msgspec.structs.replace(
        card,
        canaries=tuple(
            Canary(first, second, round(float(value), DIGITS))
            for (first, second), value in zip(samples, exact, strict=True)
        ),
    )
    target_folder.mkdir(parents=True, exist_ok=True)
    (target_folder / GRAPH_FILE).write_bytes(graph)
    (target_folder / CARD_FILE).write_bytes(format_pair_card(card).encode("utf-8"))
    (target_folder / "LICENSE").write_bytes((words_folder / "LICENSE").read_bytes())
    (target_folder / "NOTICE").write_bytes(notice(card).encode("utf-8"))
    return card


def lost(
    source_folder: Path,
    target_folder: Path = TARGET,
    words_folder: Path = WORDS_FOLDER,
    samples: Sequence[tuple[str, str]] = SAMPLES,
) -> Lost:
    """Return how far the shipped model stands from the trained one, on the samples."""
    config = _config(source_folder)
    weights = Weights(weights_path(source_folder))
    words = _words(config, weights, words_folder)
    model = PairModel(load_pair(target_folder, words_folder))
    trained = _forward(model, Forward(config, weights, words, as_trained), samples)
    apart = np.abs(model.score(samples) - trained)
    return Lost(float(apart.max()), float(apart.mean()))


def main(arguments: list[str] | None = None) -> int:
    """Ship a model, and print its hashes and what 8 bits cost."""
    parser = argparse.ArgumentParser(description="Make the bundled pair model of a trained one.")
    parser.add_argument("trained", type=Path, help="folder of the trained model")
    parser.add_argument("--output", type=Path, default=TARGET, help=f"default: {TARGET}")
    parser.add_argument("--facts", type=Path, help="JSON of what stands on the card")
    options = parser.parse_args(arguments)
    facts = FACTS
    if options.facts is not None:
        facts = msgspec.json.decode(options.facts.read_bytes(), type=PairFacts)
    card = ship(options.trained, options.output, facts=facts)
    for entry in card.files:
        print(f"{entry.sha256}  {entry.size:>10}  {options.output / entry.name}")
    cost = lost(options.trained, options.output)
    print(f"8 bits move P(acceptable) by {cost.largest:.4f} at most, {cost.mean:.4f} on average")
    return 0


def _config(folder: Path) -> BertConfig:
    path = folder / "config.json"
    config = read_config(path)
    raw = json.loads(path.read_text(encoding="utf-8"))
    labels = raw.get("num_labels", len(raw.get("id2label", {"0": "", "1": ""})))
    wanted = (config.model_type, ACTIVATIONS[config.hidden_act], labels)
    if wanted != ("bert", "erf", 1):
        raise ModelError(f"{path}: expected bert, gelu and one label, got {wanted}")
    return config


def _words(config: BertConfig, weights: Weights, folder: Path) -> Words:
    """Return the bundled model's word table, once it is known to be the trained model's."""
    path = folder / GRAPH_FILE
    data = np.frombuffer(read_words(path, TENSOR), dtype="<f2")
    shape = (config.vocab_size, config.hidden_size)
    if data.size != shape[0] * shape[1]:
        raise ModelError(f"{path}: its word table has {data.size:,} numbers, not those of {shape}")
    table: Words = data.reshape(shape)
    trained = weights.tensor(f"{config.family.names.words}.weight", shape)
    with np.errstate(over="ignore"):
        moved = np.flatnonzero((trained.astype(np.float16) != table).any(axis=1))
    if len(moved):
        raise ModelError(
            f"{len(moved):,} of {len(table):,} word embeddings are not the bundled model's, the "
            f"first that of token {moved[0]}: freeze them while training"
        )
    return table


def _forward(
    model: PairModel, forward: Forward, samples: Sequence[tuple[str, str]]
) -> NDArray[np.float64]:
    """Return P(acceptable) of the samples: float64 (n,)."""
    return np.array([forward.probability(*model.row(*pair)) for pair in samples])


def _require_near(folder: Path, found: NDArray[np.float64], exact: NDArray[np.float64]) -> None:
    apart = float(np.abs(found - exact).max())
    if apart > GRAPH_ERROR:
        raise ModelError(
            f"{folder}: the graph's values differ from those of the weights by {apart:.2g}, "
            f"more than {GRAPH_ERROR:g}"
        )


def notice(card: PairCard) -> str:
    """Return the text that goes with the weights: whose they were, and what they learnt from."""
    lines = [
        PAIR_MODEL,
        "",
        "This folder holds a model that reads two texts together. Its weights were trained by",
        f"the closecall project from those of {card.words.model}, whose NOTICE says where they",
        "come from, and are under the Apache License, Version 2.0, as that model is.",
        "",
        "Changes: further training with word embeddings kept as they were; matrices stored as",
        "8-bit integers. The word embeddings and the tokenizer are read from that model's folder.",
    ]
    if card.data:
        lines += ["", "It was trained on pairs made of these sets; their texts are not in it:", ""]
        lines += [f"- {one.name}, {one.licence}, {one.source}" for one in card.data]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
