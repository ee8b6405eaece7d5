"""Somebody is kind, is not unkind, is not kind: every way around, with WordNet's antonyms."""

from __future__ import annotations

from random import Random

from pair.everyday import PEOPLE, SOMEONE, THING
from pair.rows import Row
from pair.wording import row
from pair.wordnet import WordNet

BEING = (  # subject, affirmed, denied
    ("{}", "is", "is not"), ("{}", "is", "isn't"), ("{}", "was", "was not"), ("{}", "was", "wasn't"),
    ("{}", "seems", "does not seem"), ("{}", "looked", "did not look"), ("{}", "felt", "did not feel"),
    ("{}", "has become", "has not become"), ("{}", "will be", "will not be"), ("{}", "will be", "won't be"),
    ("You", "are", "are not"), ("You're", "", "not"), ("I'm", "", "not"), ("We were", "", "not"),
    ("They", "are", "aren't"), ("She's", "", "not"), ("It's", "", "not"), ("He", "was", "wasn't"),
    ("My parents", "are", "are not"), ("The streets", "were", "weren't"), ("I", "am", "am not"),
    ("{}", "is", "is by no means"), ("{}", "is", "is anything but"), ("{}", "is", "is hardly"),
)  # fmt: skip
DEGREE = ("", "", "", "", "very ", "really ", "so ", "quite ", "that ")
AFTER = ("", "", "", " today", " at all", " anymore", " these days", " to me", " in my opinion")


class Adjectives:
    """Pairs of adjectives that deny each other, and words that mean the same."""

    def __init__(self, net: WordNet) -> None:
        found = set()
        for sense in net.synsets.values():
            if sense.key[0] != "a":
                continue
            for at, word in enumerate(sense.words):
                if not net.common(word, "a") or net.totals.get((word, "a"), 0) < 2:
                    continue
                for other in net.antonyms(sense, at):
                    if net.common(other, "a"):
                        found.add((word, other))
        self.pairs = sorted(found)

    def rows(self, rng: Random, most: int) -> list[Row]:
        """Return so many different rows."""
        made: dict[tuple[str, str], Row] = {}
        while len(made) < most:
            one = self._row(rng)
            made.setdefault((one.first, one.response), one)
        return list(made.values())

    def _row(self, rng: Random) -> Row:
        word, other = rng.choice(self.pairs)
        subject, yes, no = rng.choice(BEING)
        who = subject.format(rng.choice(PEOPLE + SOMEONE if rng.random() < 0.5 else THING))
        after = rng.choice(AFTER) if rng.random() < 0.3 else ""

        def said(verb: str, adjective: str, degree: str = "") -> str:
            return " ".join(f"{who} {verb} {degree}{adjective}{after}".split())

        degree = rng.choice(DEGREE)
        affirmed, denied = said(yes, word), said(no, word)
        against, against_denied = said(yes, other), said(no, other)
        strong = said(yes, word, degree if degree != "that " else "")
        first, response, accept = rng.choice(
            [
                (affirmed, denied, False), (denied, affirmed, False), (affirmed, against, False),
                (denied, against, True), (against_denied, affirmed, True), (denied, against, True),
                (affirmed, against_denied, True), (strong, denied, False), (strong, affirmed, True),
                (denied, against_denied, False), (against_denied, denied, False),
                (strong, against_denied, True), (strong, against, False),
                (said(no, word, degree), against, True), (said(no, word, degree), strong, False),
            ]
        )  # fmt: skip
        made = row(rng, first, response, accept=accept, kind="adjective")
        return made._replace(group=min(word, other))
