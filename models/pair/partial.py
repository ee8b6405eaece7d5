"""Statements that deny a part: not all, not long ago, not without, no help, none but.

What they deny is one phrase; the rest of the statement stands. Built like ``statements``: what
follows from what is by construction.
"""

from __future__ import annotations

from random import Random

from pair.everyday import ACTS, COMPARED, PEOPLE, SOMEONE, THING
from pair.rows import Row
from pair.wording import lowered, row

_PLACES = ("in Berlin", "at home", "in the park", "at school", "on the train", "in the kitchen")
_DAYS = ("Monday", "Tuesday", "Friday", "Sunday", "Saturday", "Thursday")
_HELP = ("help", "permission", "money", "luggage", "warning", "difficulty", "a break", "a ticket")
_GROUPS = ("the guests", "the students", "the players", "my friends", "the neighbours", "us")
_HOLDERS = (
    ("a brother", "brothers"), ("a car", "cars"), ("a garden", "gardens"), ("a key", "keys"),
    ("a plan", "plans"), ("a job", "jobs"), ("a phone", "phones"), ("a passport", "passports"),
    ("an idea", "ideas"), ("an answer", "answers"),
)  # fmt: skip
_PREFIXED = (
    ("known", "unknown"), ("happy", "unhappy"), ("married", "unmarried"), ("safe", "unsafe"),
    ("usual", "unusual"), ("legal", "illegal"), ("possible", "impossible"), ("polite", "impolite"),
    ("complete", "incomplete"), ("honest", "dishonest"), ("regular", "irregular"),
    ("armed", "unarmed"), ("paid", "unpaid"), ("finished", "unfinished"), ("fair", "unfair"),
    ("correct", "incorrect"), ("necessary", "unnecessary"), ("visible", "invisible"),
    ("employed", "unemployed"), ("reliable", "unreliable"), ("common", "uncommon"),
)  # fmt: skip

Choice = tuple[str, str, bool]


def partial_denials(rng: Random, most: int) -> list[Row]:
    """Return so many different rows, the makers by turns."""
    found: dict[tuple[str, str], Row] = {}
    turn = 0
    while len(found) < most:
        first, response, accept = rng.choice(MAKERS[turn % len(MAKERS)](rng))
        if rng.random() < 0.12:  # the same twice is right, and a denial of it wrong
            response, accept = (first, True) if rng.random() < 0.5 else (_denied(first), False)
        made = row(rng, first, response, accept=accept, kind="partly denied")
        found.setdefault((made.first, made.response), made)
        turn += 1
    return list(found.values())


def _denied(text: str) -> str:
    return f"It is not true that {lowered(text)}"


def _quantified(rng: Random) -> list[Choice]:
    them, (past, base) = rng.choice(_GROUPS), rng.choice(ACTS)
    return [
        (f"Not all of {them} {past}", f"Some of {them} did not {base}", True),
        (f"Not all of {them} {past}", f"None of {them} {past}", False),
        (f"Not all of {them} {past}", f"All of {them} {past}", False),
        (f"Not one of {them} {past}", f"None of {them} {past}", True),
        (f"Not one of {them} {past}", f"One of {them} {past}", False),
        (f"Not a single one of {them} {past}", f"One of {them} {past}", False),
        (f"Not many of {them} {past}", f"Few of {them} {past}", True),
        (f"Not many of {them} {past}", f"Most of {them} {past}", False),
        (f"Not many of {them} {past}", f"Many of {them} did not {base}", True),
        (f"No fewer than three of {them} {past}", f"At least three of {them} {past}", True),
        (f"No fewer than three of {them} {past}", f"Only two of {them} {past}", False),
        (f"No more than two of {them} {past}", f"At most two of {them} {past}", True),
        (f"No more than two of {them} {past}", f"Three of {them} {past}", False),
        (f"Not more than half of {them} {past}", f"Most of {them} {past}", False),
        (f"Not every one of {them} {past}", f"Every one of {them} {past}", False),
        (f"Hardly any of {them} {past}", f"Very few of {them} {past}", True),
        (f"Hardly any of {them} {past}", f"Nearly all of {them} {past}", False),
        (f"Some of {them} did not {base}", f"Not all of {them} {past}", True),
        (f"Some of {them} {past}", f"None of {them} {past}", False),
        (f"None of {them} {past}", f"Not one of {them} {past}", True),
        (f"None of {them} {past}", f"Not all of {them} {past}", True),
    ]


def _placed(rng: Random) -> list[Choice]:
    who, (past, base) = rng.choice(PEOPLE + SOMEONE), rng.choice(ACTS)
    they = lowered(who)
    here, there = rng.sample(_PLACES, 2)
    return [
        (f"{who} {past}, but not {here}", f"{who} {past}", True),
        (f"{who} {past}, but not {here}", f"{who} {past} {here}", False),
        (f"{who} {past}, but not {here}", f"{who} did not {base}", False),
        (f"{who} {past}, though not {here}", f"{who} {past} somewhere else", True),
        (f"{who} {past} {there}, not {here}", f"{who} {past} {there}", True),
        (f"{who} {past} {there}, not {here}", f"{who} {past} {here}", False),
        (f"{who} {past} {there}, not {here}", f"{who} did not {base} {here}", True),
        (f"{who} {past} {there}, not {here}", f"{who} did not {base} {there}", False),
        (f"Nowhere did {they} {base}", f"{who} did not {base} anywhere", True),
        (f"Nowhere did {they} {base}", f"{who} {past} {here}", False),
        (f"It was not {here} that {they} {past}", f"{who} {past} {here}", False),
        (f"It was not {here} that {they} {past}", f"{who} {past}", True),
        (f"It was not {here} that {they} {past}", f"{who} did not {base} at all", False),
    ]


def _timed(rng: Random) -> list[Choice]:
    who, (past, base) = rng.choice(PEOPLE + SOMEONE), rng.choice(ACTS)
    they = lowered(who)
    day, other = rng.sample(_DAYS, 2)
    return [
        (f"Not long ago {they} {past}", f"Recently {they} {past}", True),
        (f"Not long ago {they} {past}", f"{who} {past} a long time ago", False),
        (f"Not long ago {they} {past}", f"{who} did not {base}", False),
        (f"Not until {day} did {they} {base}", f"{who} did not {base} before {day}", True),
        (f"Not until {day} did {they} {base}", f"{who} never {past}", False),
        (f"{who} {past} on {other}, not on {day}", f"{who} {past} on {other}", True),
        (f"{who} {past} on {other}, not on {day}", f"{who} {past} on {day}", False),
        (f"Not for the first time, {they} {past}", f"{who} had {_done(past)} before", True),
        (f"Not for the first time, {they} {past}", f"{who} {past} for the first time", False),
        (f"Not once did {they} {base}", f"{who} never {past}", True),
        (f"Not once did {they} {base}", f"{who} {past} once", False),
        (
            f"Never before had {they} {_done(past)}",
            f"It was the first time that {they} {past}",
            True,
        ),
        (f"At no time did {they} {base}", f"{who} did not {base}", True),
        (f"At no time did {they} {base}", f"{who} {past}", False),
        (f"More than once {they} {past}", f"{who} {past} only once", False),
        (f"{who} {past} not only on {day} but also on {other}", f"{who} {past} on {day}", True),
    ]


def _without(rng: Random) -> list[Choice]:
    who, (past, base) = rng.choice(PEOPLE + SOMEONE), rng.choice(ACTS)
    thing = rng.choice(_HELP)
    bare = thing.split(" ")[-1]
    return [
        (f"{who} {past} without {thing}", f"{who} {past} with no {bare}", True),
        (f"{who} {past} with no {bare}", f"{who} {past} without {thing}", True),
        (f"{who} {past} without {thing}", f"{who} {past} with {thing}", False),
        (f"{who} {past} with {thing}", f"{who} {past} with no {bare}", False),
        (f"{who} {past} without {thing}", f"{who} {past}", True),
        (f"{who} {past} with no {bare}", f"{who} {past}", True),
        (f"{who} {past} without {thing}", f"{who} did not {base}", False),
        (f"{who} {past} with no {bare}", f"{who} did not {base}", False),
        (f"{who} {past} not without {thing}", f"{who} {past} with {thing}", True),
        (f"{who} {past} not without {thing}", f"{who} {past} without {thing}", False),
        (f"{who} did not {base} without {thing}", f"{who} {past} without {thing}", False),
    ]


def _owned(rng: Random) -> list[Choice]:
    who, (one, many) = rng.choice(PEOPLE + SOMEONE), rng.choice(_HOLDERS)
    bare = one.split(" ")[1]
    return [
        (f"{who} has no {bare}", f"{who} does not have {one}", True),
        (f"{who} does not have {one}", f"{who} has no {bare}", True),
        (f"{who} has no {many}", f"{who} has {one}", False),
        (f"{who} has no {bare}", f"{who} has {one}", False),
        (f"{who} has {one}", f"{who} has no {bare}", False),
        (f"{who} has {one}", f"{who} does not have any {many}", False),
        (f"{who} has not a single {bare}", f"{who} has no {many}", True),
        (f"{who} has not only one {bare}", f"{who} has several {many}", True),
        (f"{who} has not only one {bare}", f"{who} has just one {bare}", False),
        (f"There are no {many} here", f"There is {one} here", False),
        (f"There are no {many} here", f"There are not any {many} here", True),
        (f"Nobody here has {one}", f"Somebody here has {one}", False),
        (f"Nobody here has {one}", f"No one here has {one}", True),
        (f"{who} lacks {one}", f"{who} does not have {one}", True),
        (f"{who} lacks {one}", f"{who} has {one}", False),
    ]


def _prefixed(rng: Random) -> list[Choice]:
    what = rng.choice(THING)
    plain, denied = rng.choice(_PREFIXED)
    return [
        (f"{what} is {denied}", f"{what} is not {plain}", True),
        (f"{what} is not {plain}", f"{what} is {denied}", True),
        (f"{what} is {denied}", f"{what} is {plain}", False),
        (f"{what} is {plain}", f"{what} is {denied}", False),
        (f"{what} is not {denied}", f"{what} is {denied}", False),
        (f"{what} is {plain}", f"{what} is not {denied}", True),
        (f"{what} is anything but {plain}", f"{what} is not {plain}", True),
        (f"{what} is anything but {plain}", f"{what} is {plain}", False),
        (f"{what} is far from {plain}", f"{what} is {plain}", False),
        (f"{what} is by no means {plain}", f"{what} is not {plain}", True),
        (f"{what} is by no means {plain}", f"{what} is {plain}", False),
        (f"{what} is not at all {plain}", f"{what} is very {plain}", False),
    ]


def _contrasted(rng: Random) -> list[Choice]:
    one, other = rng.sample(PEOPLE, 2)
    past, base = rng.choice(ACTS)
    return [
        (f"Not {one} but {other} {past}", f"{other} {past}", True),
        (f"Not {one} but {other} {past}", f"{one} {past}", False),
        (f"Nobody but {one} {past}", f"{one} {past}", True),
        (f"Nobody but {one} {past}", f"{other} {past}", False),
        (f"Nobody but {one} {past}", f"Only {one} {past}", True),
        (f"None other than {one} {past}", f"{one} {past}", True),
        (f"None other than {one} {past}", f"{one} did not {base}", False),
        (f"It was not {one} who {past}", f"{one} {past}", False),
        (f"It was not {one} who {past}", f"{one} did not {base}", True),
        (f"It was not {one} who {past}", f"Nobody {past}", False),
        (f"{one} did nothing but {base}", f"{one} {past}", True),
        (f"{one} did anything but {base}", f"{one} {past}", False),
        (f"{one} did not only {base}", f"{one} {past}", True),
        (f"{one} did not just {base}", f"{one} did not {base}", False),
        (f"{one} {past}, and so did {other}", f"{other} {past}", True),
        (f"{one} did not {base}, and neither did {other}", f"{other} {past}", False),
        (f"{one} did not {base}, and neither did {other}", f"{other} did not {base}", True),
    ]


def _compared(rng: Random) -> list[Choice]:
    one, other = rng.sample(PEOPLE, 2)
    more, less, plain = rng.choice(COMPARED)
    return [
        (f"{one} is no {more} than {other}", f"{one} is {more} than {other}", False),
        (f"{one} is no {more} than {other}", f"{one} is not {more} than {other}", True),
        (f"{one} is not as {plain} as {other}", f"{other} is {more} than {one}", True),
        (f"{one} is not as {plain} as {other}", f"{one} is {more} than {other}", False),
        (f"{one} is not as {plain} as {other}", f"{one} is {less} than {other}", True),
        (f"Nobody is {more} than {one}", f"{other} is {more} than {one}", False),
        (f"Nobody is {more} than {one}", f"{other} is not {more} than {one}", True),
        (f"Nobody is as {plain} as {one}", f"{other} is as {plain} as {one}", False),
        (f"{one} is not the only one who is {plain}", f"Others are {plain}, too", True),
        (f"{one} is not the only one who is {plain}", f"Nobody else is {plain}", False),
    ]


def _done(past: str) -> str:
    """Return the participle of one of ``ACTS``."""
    verb, _, rest = past.partition(" ")
    forms = {"sang": "sung", "swam": "swum", "ate": "eaten", "came": "come", "went": "gone",
             "ran": "run", "wrote": "written"}  # fmt: skip
    return f"{forms.get(verb, verb)} {rest}".strip()


MAKERS = (_quantified, _placed, _timed, _without, _owned, _prefixed, _contrasted, _compared)
"""Each returns what it can say of the words it drew: a text, another, and whether it follows."""
