"""Which output of a pair model says that two texts agree, by the names its configuration gives.

Published models order the same three labels in different ways, so an order is never guessed. A
name decides only where it can mean nothing else; otherwise the person who knows the model says
which label it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from closecall.errors import ModelError, UsageError
from closecall.records import is_whole_text

MOST = 20
"""Most labels: they stand in the details of every case."""

_LONGEST_NAME = 200

ENTAILMENT = "entailment"

_NLI = {
    ENTAILMENT: ("entailment", "entails", "entail", "entailed"),
    "neutral": ("neutral",),
    "contradiction": ("contradiction", "contradicts", "contradict", "contradictory"),
}
_AGREES = (
    "entailment",
    "entailed",
    "duplicate",
    "paraphrase",
    "equivalent",
    "similar",
    "related",
    "relevant",
    "supported",
    "consistent",
    "faithful",
    "grounded",
)
"""Names that say yes when the other of two is their negation."""

_NEGATIONS = ("not_", "non_", "no_", "non", "un", "in", "ir", "dis")
_OPPOSITES = {
    ("entailment", "contradiction"),
    ("supported", "refuted"),
    ("consistent", "hallucinated"),
}


class Labels(NamedTuple):
    """The labels of a model in the order of its outputs.

    ``positive`` is the index of the one whose share is the value. ``entailment`` says that it
    stands for entailment, which has a direction. A model of one output has one label, empty.
    """

    names: tuple[str, ...]
    positive: int
    entailment: bool


def read_names(config: dict[str, Any], path: Path) -> tuple[str, ...]:
    """Return the names of a model's outputs in their order, from ``id2label`` or ``label2id``.

    One output has the name "": what it is called says nothing.

    Raises
    ------
    ModelError
        The names are missing or do not fit each other; the message says what to write.
    """
    by_id = _by_id(config, path)
    if by_id is None:
        if config.get("num_labels") == 1:
            return ("",)
        raise ModelError(
            f"{path}: no id2label, so nothing says what the model's outputs mean. Write it as "
            '{"0": NAME, "1": NAME, ...} in the order the model was trained with; the page the '
            "model came from says which"
        )
    other = config.get("label2id")
    if other and config.get("id2label") and other != {name: at for at, name in enumerate(by_id)}:
        raise ModelError(
            f"{path}: id2label and label2id give different orders, so nothing is known of either: "
            f"{_listed(by_id)} against {other!r:.400}"
        )
    counted = config.get("num_labels", len(by_id))
    if counted != len(by_id):
        raise ModelError(f"{path}: num_labels is {counted!r}, but {len(by_id)} labels have a name")
    return by_id if len(by_id) > 1 else ("",)


def choose(names: tuple[str, ...], positive: str | None, path: Path) -> Labels:
    """Return the labels with the one that says yes.

    Parameters
    ----------
    names
        As ``read_names`` gives them.
    positive
        The name of that label, in any case; None: what the names themselves make clear.
    path
        The configuration, for messages.

    Raises
    ------
    UsageError
        ``positive`` is not one of the names, or there is nothing to choose.
    ModelError
        The names do not make it clear.
    """
    plain = [_plain(name) for name in names]
    if positive is not None:
        if len(names) == 1:
            raise UsageError(
                f"positive={positive}: the model has one output, so there is nothing to choose"
            )
        if plain.count(_plain(positive)) != 1:
            raise UsageError(
                f"positive={positive}: not a label of this model; {path} has {_listed(names)}"
            )
        at = plain.index(_plain(positive))
        return Labels(names, at, _meaning(plain[at]) == ENTAILMENT)
    if len(names) == 1:
        return Labels(names, 0, entailment=False)
    meanings = [_meaning(name) for name in plain]
    if sorted(filter(None, meanings)) == sorted(_NLI) and len(names) == len(_NLI):
        return Labels(names, meanings.index(ENTAILMENT), entailment=True)
    yes = [at for at, name in enumerate(plain) if _says_yes(name, [*plain[:at], *plain[at + 1 :]])]
    if len(yes) == 1:
        return Labels(names, yes[0], _meaning(plain[yes[0]]) == ENTAILMENT)
    raise ModelError(
        f"{path}: the labels {_listed(names)} do not say which of them means that two texts "
        "agree. Name it with the option positive=NAME, as in "
        "cross_encoder:model=FOLDER:positive=NAME, once you know it from the page the model came "
        "from; a guess would turn the score round"
    )


def _by_id(config: dict[str, Any], path: Path) -> tuple[str, ...] | None:
    """Return names by index from whichever of the two tables is there."""
    table = config.get("id2label")
    if not table:
        other = config.get("label2id")
        if not other:
            return None
        if not isinstance(other, dict):
            raise ModelError(f"{path}: label2id: expected an object")
        if len(set(map(str, other.values()))) < len(other):
            raise ModelError(f"{path}: label2id: two labels have one number: {other!r:.400}")
        table = {str(at): name for name, at in other.items()}
    if not isinstance(table, dict) or not all(isinstance(n, str) for n in table.values()):
        raise ModelError(f"{path}: id2label: expected an object of names")
    if len(table) > MOST:
        raise ModelError(f"{path}: id2label: {len(table)} labels, a pair model has {MOST} at most")
    if sorted(table) != sorted(str(at) for at in range(len(table))):
        raise ModelError(
            f"{path}: id2label: expected the numbers 0 to {len(table) - 1}, got "
            f"{', '.join(map(repr, table))}"
        )
    names = tuple(table[str(at)] for at in range(len(table)))
    _require_readable(names, path)
    if len(names) > 1 and len({_plain(name) for name in names}) < len(names):
        raise ModelError(f"{path}: id2label: a name stands there twice: {_listed(names)}")
    return names


def _require_readable(names: tuple[str, ...], path: Path) -> None:
    """Refuse names that no result could hold: they stand in the details of every case."""
    for name in names:
        if len(name) > _LONGEST_NAME or not is_whole_text(name):
            raise ModelError(
                f"{path}: id2label: {name!r:.80}: expected names of at most {_LONGEST_NAME} "
                "characters, none of them half of a surrogate pair"
            )


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())


def _meaning(name: str) -> str | None:
    return next((meaning for meaning, words in _NLI.items() if name in words), None)


def _says_yes(name: str, others: list[str]) -> bool:
    """Return whether a name of two is the one that says yes."""
    if len(others) != 1 or name not in _AGREES:
        return False
    return (name, others[0]) in _OPPOSITES or any(
        others[0] == negation + name for negation in _NEGATIONS
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names))
