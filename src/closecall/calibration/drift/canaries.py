"""The canaries: fixed texts whose vectors tell whether an embedder still is what it was.

A changed tokenizer, prefix, window, pooling or weight file moves some texts far and others not
at all, so the texts are chosen to cover what can change, and the one that moves most decides,
never the mean. Near-duplicates stand in pairs: two texts that used to have one vector and no
longer do, or the other way round, name the cause.

Recorded vectors belong to these very texts: whoever changes a name, a role, a text or a pair
raises ``VERSION`` too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from closecall.instrument import canonical_json
from closecall.records import Role

VERSION = 1


class Canary(NamedTuple):
    """One fixed text; ``group`` names the kind of text it stands for."""

    name: str
    group: str
    text: str
    role: Role = Role.TEXT


class CanaryPair(NamedTuple):
    """Two canaries whose cosine is kept; ``what`` says how they are related."""

    name: str
    first: str
    second: str
    what: str


class CanaryAnswers(NamedTuple):
    """The canaries that are a question, a reference, a right answer and a wrong one."""

    name: str
    question: str
    reference: str
    right: str
    wrong: str


# About 400 tokens of a word-piece vocabulary.
_LONG = """\
How to borrow a boat from the rowing club. Members may take out any boat that hangs on the left \
side of the shed. The boats on the right belong to the school and are locked. Before you carry a \
boat down to the water, write your name, the name of the boat and the time into the green book \
beside the door. Check that both plugs are closed, that the oars have the same number as the \
boat and that no screw is missing from the seat. If something is broken, hang the red card on \
the bow and choose another one; please do not try to mend it yourself, because wrong screws have \
cost us two hulls already.

On the river, keep to the right bank and leave the middle free for the ferry, which cannot stop \
quickly and does not turn for anybody. Stay above the old bridge when the water stands higher \
than the white line on its second pillar, for the current behind it pulls small boats towards \
the mill. Children under twelve wear a life jacket at all times, and so does everybody else from \
the first of November until the end of March. A crew that has never rowed together goes no \
farther than the island on its first evening.

When you come back, lift the boat out before you take the oars away, rinse it with fresh water, \
open the plugs and let it drip for a few minutes. Dry the rails of the seat with the cloth that \
lies in the basket. Hang the boat in its place with the bow to the river, return the oars, and \
write into the green book when you returned and how far you went. The last crew of the day \
counts the boats, switches off the lamp on the jetty and locks both doors. Whoever finds a boat \
missing after dark calls the keeper first and the river police second; the two numbers are \
painted on the inside of the door."""

# The rest is about something else, so that a reader who stops early reads another text.
_REST = """\


Appendix: pancakes for the summer party. Beat six eggs with a pinch of salt, stir in half a \
litre of milk and then, spoon by spoon, three hundred grams of flour, until the batter runs \
slowly from the ladle without lumps. Let it stand for half an hour in the shade. Melt a little \
butter in a heavy pan over a small fire, pour in just enough batter to cover the bottom and tilt \
the pan until it does. As soon as the edge turns brown and lifts, toss the pancake or turn it \
with a wooden spatula. Keep the finished ones warm between two plates. Children like them with \
sugar and cinnamon, the older guests with mushrooms, cheese and chives. One bowl of batter gives \
about fourteen pancakes, and nobody has ever carried any of them home. Leftover batter keeps \
until the next morning in a closed jar, if it is cooled at once; thin it with mineral water \
before use."""

CANARIES: tuple[Canary, ...] = (
    Canary("plain-1", "plain", "The ferry to the island leaves every morning at first light."),
    Canary("plain-2", "plain", "Heavy rain closed the mountain road for two days."),
    Canary("plain-3", "plain", "She repaired the old clock and hung it in the kitchen."),
    Canary(
        "plain-4",
        "plain",
        "Our neighbours grow tomatoes on the roof of their garage.",
        Role.DOCUMENT,
    ),
    Canary("plain-5", "plain", "The committee postponed its vote until the budget is known."),
    Canary("plain-6", "plain", "Salt lowers the temperature at which water freezes."),
    Canary("case-lower", "case", "please return all books to the library before it closes"),
    Canary("case-upper", "case", "PLEASE RETURN ALL BOOKS TO THE LIBRARY BEFORE IT CLOSES"),
    Canary("accents", "accents", "Zoë prépara thé, café et gâteau à l'hôtel près de Nîmes."),
    Canary("accents-none", "accents", "Zoe prepara the, cafe et gateau a l'hotel pres de Nimes."),
    Canary("cjk", "cjk", "図書館は月曜日に休みです。本は駅の前の箱に入れてください。"),
    Canary("emoji-1", "emoji", "What a day at sea 🚢🌊 we will come again 👍🏽"),
    Canary("emoji-2", "emoji", "What a day at sea 🏔️🎿 we will come again 👎"),
    Canary(
        "whitespace",
        "whitespace",
        " \t\n  The ferry to the island leaves every morning at first light. \n\n ",
    ),
    Canary("punctuation", "punctuation", "Heavy rain closed the mountain road for two days"),
    Canary("word", "word", "water"),
    Canary(
        "code",
        "code",
        "curl -s 'https://example.org/v2/items?page=3&sort=-price' | jq '.items[].id' > ids.txt",
        Role.DOCUMENT,
    ),
    Canary("long", "long", _LONG, Role.DOCUMENT),
    Canary("longer", "long", _LONG + _REST, Role.DOCUMENT),
    Canary("oven-question", "answers", "How long does the bread stay in the oven?", Role.QUERY),
    Canary("oven", "numbers", "Bake the bread at 220 °C for 45 minutes, then cool it for 10."),
    Canary(
        "oven-wrong", "numbers", "Bake the bread at 220 °C for 54 minutes, then cool it for 10."
    ),
    Canary(
        "oven-cold", "numbers", "Bake the bread at 120 °C for 45 minutes, then cool it for 10."
    ),
    Canary("oven-right", "answers", "Three quarters of an hour, and ten minutes to cool."),
    Canary("drug-question", "answers", "Where should this medicine be stored?", Role.QUERY),
    Canary("drug", "negation", "This medicine must be kept in a refrigerator."),
    Canary("drug-wrong", "negation", "This medicine must not be kept in a refrigerator."),
    Canary("drug-right", "answers", "Put it in the fridge and leave it there."),
    Canary("vote-question", "answers", "When will the committee vote?", Role.QUERY),
    Canary("vote-right", "answers", "It votes once it knows how much money there is."),
    Canary("vote-wrong", "answers", "It voted last week, long before any budget was known."),
    Canary("salt-question", "answers", "Why is salt scattered on icy roads?", Role.QUERY),
    Canary("salt-right", "answers", "Because salty water stays liquid a few degrees below zero."),
    Canary("salt-wrong", "answers", "Because salt makes the rubber of tyres soft and sticky."),
)

ANSWERS: tuple[CanaryAnswers, ...] = (
    CanaryAnswers("oven", "oven-question", "oven", "oven-right", "oven-wrong"),
    CanaryAnswers("drug", "drug-question", "drug", "drug-right", "drug-wrong"),
    CanaryAnswers("vote", "vote-question", "plain-5", "vote-right", "vote-wrong"),
    CanaryAnswers("salt", "salt-question", "plain-6", "salt-right", "salt-wrong"),
)

_NEAR: tuple[CanaryPair, ...] = (
    CanaryPair("case", "case-lower", "case-upper", "one sentence in lower and upper case"),
    CanaryPair("accents", "accents", "accents-none", "one sentence with and without accents"),
    CanaryPair("emoji", "emoji-1", "emoji-2", "one sentence with other emoji"),
    CanaryPair(
        "whitespace", "plain-1", "whitespace", "one sentence with and without white space around"
    ),
    CanaryPair(
        "punctuation", "plain-2", "punctuation", "one sentence with and without its full stop"
    ),
    CanaryPair("minutes", "oven", "oven-wrong", "one sentence with another number"),
    CanaryPair("degrees", "oven", "oven-cold", "one sentence with another number"),
    CanaryPair("negation", "drug", "drug-wrong", "one sentence with and without 'not'"),
    CanaryPair("length", "long", "longer", "one text with and without its last part"),
    CanaryPair("apart", "plain-2", "plain-3", "two sentences that have nothing in common"),
    CanaryPair("garden", "plain-3", "plain-4", "two sentences about a house"),
    CanaryPair("languages", "case-lower", "cjk", "two sentences about a library"),
    CanaryPair("sea", "plain-1", "emoji-1", "two sentences about a ship"),
    CanaryPair("word", "word", "plain-6", "a word and a sentence with it"),
    CanaryPair("code", "code", "plain-5", "a command and a sentence"),
)


def _with_answers() -> tuple[CanaryPair, ...]:
    """Return all pairs: the near ones, and those of questions, references and answers."""
    found = {(pair.first, pair.second): pair for pair in _NEAR}
    for name, question, *texts in ANSWERS:
        reference, right, wrong = texts
        for kind, first, second in (
            ("question-reference", question, reference),
            ("question-right", question, right),
            ("question-wrong", question, wrong),
            ("reference-right", reference, right),
            ("reference-wrong", reference, wrong),
        ):
            one, other = kind.split("-")
            what = f"the {one} and {other} texts of '{name}'"
            found.setdefault((first, second), CanaryPair(f"{name}:{kind}", first, second, what))
    return tuple(found.values())


PAIRS: tuple[CanaryPair, ...] = _with_answers()

BETWEEN: Mapping[tuple[str, str], CanaryPair] = {(pair.first, pair.second): pair for pair in PAIRS}
"""The pair of two canaries, named in the order of the pair."""

DIGEST = hashlib.sha256(
    canonical_json(
        [
            [[canary.name, canary.role.value, canary.text] for canary in CANARIES],
            [[pair.name, pair.first, pair.second] for pair in PAIRS],
        ]
    )
).hexdigest()
"""Sha256 (hex) over names, roles and texts, and the pairs: what recorded vectors belong to."""
