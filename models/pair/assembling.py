"""All rows of a side, in an order that the seed decides, and an account of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from pair import edits
from pair.adjectives import Adjectives
from pair.denials import EACH as DENIED
from pair.denials import Denials
from pair.directions import Directions
from pair.judged import Count, Judged
from pair.made import ASKED, READ, Made
from pair.partial import partial_denials
from pair.replaced import EACH, Replaced, summary_sentences
from pair.replacing import UNFIT
from pair.rows import Row, digest
from pair.short_answers import ShortAnswers
from pair.statements import made_statements
from pair.voices import exchanged, voices
from pair.wordnet import WordNet
from pair.words_in_use import held_out, rows_in_use

DATA_SEED = 20261201
"""Seeds of training change the order and the head, never the rows."""

WORDS = {
    "wordnet antonym": 2400, "wordnet negated": 900, "wordnet negated antonym": 900,
    "wordnet synonym": 2400, "wordnet wider": 1500, "wordnet narrower": 1500,
}  # fmt: skip
"""Rows of each kind at most, on the train side; a tenth on the other."""

SHORT = {
    "right": 2400, "wrong": 1800, "beside": 1700, "sentence": 1600, "denied": 900, "rather": 900,
    "replaced": 600, "surname": 400,
}  # fmt: skip
"""The same of ``ShortAnswers``."""

CHANGED = 0.55
"""Of the rows that ``Replaced`` can make of each kind: they are long."""

DRESSED = 0.12
"""Share of rows whose response gets words or marks that change nothing."""


def all_rows(data: Path, archive: Path, count: Count, embed: Any, which: str) -> list[Row]:
    """Return the rows of ``train`` or ``dev``, each text pair once, blank ones out.

    A pair that two ways made with two labels is out as well: one of them is mistaken.
    """
    rng = Random(DATA_SEED if which == "train" else DATA_SEED + 1)
    share = 1.0 if which == "train" else 0.1
    judged = Judged(data, count, which)
    rows: list[Row] = []
    for name in (*ASKED, "answers/truthfulqa_human"):
        rows += judged.answers(name, rng)
    for name in READ:
        rows += judged.passages(name, rng)
    rows += ShortAnswers(judged).rows(rng, _share(SHORT, share))
    made = Made(judged, embed)
    rows += made.edited_sentences(rng, int(600 * share))
    rows += made.edited_answers(rng, int(450 * share))
    rows += made.right_again(rng, int(1700 * share))
    rows += made.near_misses(rng, int(1900 * share))
    rows += made.subsets(rng, int(1800 * share))
    net = WordNet(archive)
    told = made.sentences()
    among = [(text, made.passage_of(text), group) for text, group in told]
    rows += Replaced(net, judged, among + summary_sentences(judged)).rows(
        rng, _share(EACH, CHANGED * share)
    )
    denials = Denials(net)
    plain = among + summary_sentences(judged) + judged.said(ASKED)
    pool = _beside(judged, [found for found in plain if not UNFIT.search(found[0])], rng)
    rows += denials.rows(pool, rng, _share(DENIED, share))
    rows += voices(pool, denials, rng, int(2400 * share))
    rows += exchanged(pool, rng, int(900 * share))
    words = rows_in_use(net, rng, _share(WORDS, share))
    words += Adjectives(net).rows(rng, int(3200 * share))
    words += Directions(net, told).rows(rng, int(10000 * share))
    rows += [row for row in words if held_out(row) == (which == "dev")]
    rows += made_statements(rng, int(7000 * share))
    rows += partial_denials(rng, int(1500 * share))
    rows = [_dressed(row, rng) for row in rows]
    labels: dict[tuple[str, str], set[bool]] = {}
    for row in rows:
        labels.setdefault((row.first, row.response), set()).add(row.accept)
    once: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = (row.first, row.response)
        if len(labels[key]) == 1 and row.first.strip() and row.response.strip():
            once.setdefault(key, row)
    kept = list(once.values())
    rng.shuffle(kept)
    return kept


def _share(most: dict[str, int], share: float) -> dict[str, int]:
    return {kind: int(count * share) for kind, count in most.items()}


def _beside(
    judged: Judged, found: list[tuple[str, str, str]], rng: Random
) -> list[tuple[str, str, str]]:
    """Return sentences, three in ten of those with a passage beside what of it covers them."""
    return [
        (text, judged.context("", passage, text, accept=True, kind="", group="").first, group)
        if passage and rng.random() < 0.3
        else (text, "", group)
        for text, passage, group in found
    ]


def _dressed(row: Row, rng: Random) -> Row:
    """Return a row, now and then with words or marks around its response that change nothing."""
    if rng.random() >= DRESSED or row.kind.startswith(("edited", "answer ")):
        return row
    edit = rng.choice((edits.polite, edits.polite, edits.marked))
    return row._replace(response=edit(row.response, rng) or row.response)


def account(rows: list[Row]) -> dict[str, Any]:
    """Return counts by what made the rows, and their digest."""
    kinds = Counter((row.kind, row.accept) for row in rows)
    return {
        "rows": len(rows),
        "accept": sum(row.accept for row in rows),
        "sha256": digest(rows),
        "kinds": {
            kind: {"accept": kinds[kind, True], "reject": kinds[kind, False]}
            for kind in sorted({kind for kind, _ in kinds})
        },
    }
