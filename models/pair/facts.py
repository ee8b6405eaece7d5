"""What stands on the card of a trained model: what it learnt from, how, and what it gets wrong.

::

    python -m pair.facts ACCOUNT     # in models/; prints the JSON that pair.shipping takes
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from closecall.models.pair_card import Learnt, PairFacts
from pair.sets import LEARNT
from pair.wordnet import SHA256, URL

SOURCES = {
    "answers/evouna_nq": "wangcunxiang/QA-Eval, EVOUNA/NQ.json",
    "answers/evouna_tq": "wangcunxiang/QA-Eval, EVOUNA/TQ.json",
    "answers/diver_qa": "saishridhar/DIVER-QA",
    "answers/truthfulqa_refs": "sylinrl/TruthfulQA, TruthfulQA.csv",
    "answers/truthfulqa_human": "sylinrl/TruthfulQA, finetune_truth.jsonl and finetune_info.jsonl",
    "grounded/condaqa_contrast": "AbhilashaRavichander/CondaQA, condaqa_dev.json",
    "grounded/begin_wow": "google/BEGIN-dataset, wow",
    "grounded/summedits_open": "salesforce/factualNLG, SummEdits",
}
WORDS_OF = "wordnet"
LIMITS = (
    "English only.",
    "Statements under no, every or few: right more often than not, not to be relied upon.",
    "Roles: two names that change places within a longer sentence are often not noticed.",
    "Yes and no beside a long passage (CondaQA): little better than chance.",
    "One edited fact in a long document's summary (SummEdits): AUC 0.65, where 0.5 is chance.",
    "It knows no facts: an answer right by other words than the reference's may be refused.",
)


def facts(account: Mapping[str, Any]) -> PairFacts:
    """Return the facts of a model from what ``train_pair.py`` wrote of its training."""
    kinds = account["train"]["kinds"]

    def pairs(name: str) -> int:
        return sum(sum(count.values()) for kind, count in kinds.items() if kind.startswith(name))

    learnt = [Learnt(name, LEARNT[name], SOURCES[name], pairs(name)) for name in LEARNT]
    learnt.append(Learnt("WordNet 3.1", "LicenseRef-WordNet", f"{URL} (sha256 {SHA256})",
                         pairs(WORDS_OF)))  # fmt: skip
    plan, train, dev = account["plan"], account["train"], account["dev"]
    made = train["rows"] - sum(one.pairs for one in learnt)
    learnt.append(Learnt("made by program from those sets and of our own", "Apache-2.0",
                         "models/pair", made))  # fmt: skip
    kept = account["figures"]["all"]
    return PairFacts(
        licence="Apache-2.0",
        languages=("en",),
        trained=(
            f"models/train_pair.py --seed {plan['seed']} --epochs {plan['epochs']} "
            f"--again {plan['again']}: "
            f"{train['rows']:,} pairs ({train['accept']:,} acceptable), sha256 {train['sha256']}; "
            f"calibrated on {account['calibration']['n']:,} pairs that people judged, of "
            f"{dev['rows']:,} kept apart, sha256 {dev['sha256']}"
        ),
        limits=LIMITS,
        figures={
            "pairs kept apart": kept["n"],
            "pairs kept apart that are told right at one half": kept["right"],
            "AUC on the pairs kept apart": kept["auc"],
        },
        data=tuple(learnt),
    )


def main() -> int:
    """Print the facts of an account as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m pair.facts", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "account",
        type=Path,
        metavar="ACCOUNT",
        help="the JSON that train_pair.py wrote of its training, account.json in its --output",
    )
    options = parser.parse_args()
    try:
        account = json.loads(options.account.read_text("utf-8"))
    except OSError as error:
        parser.error(f"{options.account} cannot be read: {error.strerror}")
    print(msgspec.json.format(msgspec.json.encode(facts(account)), indent=1).decode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
