"""Pairs from WordNet's example sentences: a word replaced by what denies, equals or widens it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from pair.rows import Row, mark
from pair.wordnet import Synset, WordNet

_DENIED = re.compile(
    r"\b(?:no|not|never|nobody|nothing|without|few|hardly|all|every|each|n't)\b|n't"
)
_BEING = re.compile(
    r"\b(is|are|was|were|am|be|been|felt|feels|seems|seemed|looked|looks|remained)\b"
)
_COPULA = r"\b(is|are|was|were|am)( (?:very|too|so|quite|rather|still|always))? {}\b"
_FEWEST, _MOST = 3, 30
"""Words of an example that is used."""


def rows_in_use(net: WordNet, rng: Random, most: dict[str, int]) -> list[Row]:
    """Return at most so many rows of each kind, in an order that the generator decides."""
    found: dict[str, list[Row]] = {kind: [] for kind in most}
    for sense in net.synsets.values():
        for row in _of(sense, net, rng):
            if row.kind in found:
                found[row.kind].append(row)
    chosen = []
    for kind, rows in found.items():
        rng.shuffle(rows)
        chosen += rows[: most[kind]]
    return chosen


def _of(sense: Synset, net: WordNet, rng: Random) -> Iterator[Row]:
    part = sense.key[0]
    for at, word in enumerate(sense.words):
        if not net.common(word, part):
            continue
        for example in sense.examples:
            pattern = re.compile(rf"\b{word}\b")
            if not _FEWEST <= len(example.split()) <= _MOST or len(pattern.findall(example)) != 1:
                continue
            yield from _denied(example, word, sense, at, net, rng)
            yield from _equal(example, word, sense, net, rng)
            yield from _widened(example, word, sense, net, rng)


def _denied(
    example: str, word: str, sense: Synset, at: int, net: WordNet, rng: Random
) -> Iterator[Row]:
    part = sense.key[0]
    others = [a for a in net.antonyms(sense, at) if net.common(a, part)]
    if not others:
        return
    other = rng.choice(others)
    changed = put(example, word, other)
    group = min(word, other)
    first, second = (example, changed) if rng.random() < 0.5 else (changed, example)
    yield Row(first, second, False, "wordnet antonym", group)
    copula = re.compile(_COPULA.format(word))
    if part == "a" and copula.search(example) and not _DENIED.search(example):
        negated = copula.sub(lambda m: f"{m[1]} not{m[2] or ''} {word}", example)
        denied = copula.sub(lambda m: f"{m[1]} not {other}", example)
        yield Row(example, negated, False, "wordnet negated", group)
        yield Row(negated, example, False, "wordnet negated", group)
        yield Row(example, denied, True, "wordnet negated antonym", group)
        yield Row(denied, example, True, "wordnet negated antonym", group)
        yield Row(negated, changed, True, "wordnet negated antonym", group)
        yield Row(changed, denied, False, "wordnet negated", group)


def _equal(example: str, word: str, sense: Synset, net: WordNet, rng: Random) -> Iterator[Row]:
    part = sense.key[0]
    others = [
        other
        for other in sense.words
        if other != word and net.common(other, part) and net.counts.get((other, sense.key), 0) >= 1
    ]
    if others:
        other = rng.choice(others)
        yield Row(example, put(example, word, other), True, "wordnet synonym", min(word, other))


def _widened(example: str, word: str, sense: Synset, net: WordNet, rng: Random) -> Iterator[Row]:
    part = sense.key[0]
    if part not in "nv" or _DENIED.search(example):
        return
    wider = [
        other
        for above in net.wider(sense)
        for other in above.words[:1]
        if net.common(other, part) and net.counts.get((other, above.key), 0) >= 2
    ]
    if wider:
        other = rng.choice(wider)
        changed = put(example, word, other)
        yield Row(example, changed, True, "wordnet wider", min(word, other))
        yield Row(changed, example, False, "wordnet narrower", min(word, other))


def put(example: str, word: str, other: str) -> str:
    """Return the example with another word, *a* and *an* set right before it."""
    changed = re.sub(rf"\b{word}\b", other, example, count=1)
    article = "an" if other[0] in "aeiou" else "a"
    return re.sub(rf"\b[Aa]n? (?={other}\b)", lambda m: _as(m.group(), article) + " ", changed)


def _as(was: str, article: str) -> str:
    return article.capitalize() if was[0] == "A" else article


def held_out(row: Row) -> bool:
    """Return whether a row's words are kept out of training, to tell transfer to other words."""
    return mark(row.group) < 10
