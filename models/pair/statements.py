"""Statements made from small grammars: who did what to whom, how many, before or after, not both.

Each maker returns one row from a generator of random numbers. The words are everyday ones; what
follows from what is by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from pair.everyday import (
    ACTS,
    COMPARED,
    DONE,
    FULLER,
    KINDS,
    NUMBERS,
    OWNED,
    PEOPLE,
    SOMEONE,
    THING,
    VERBS,
)
from pair.rows import Row
from pair.wording import lowered, many, row

Maker = Callable[[Random], Row]


def two(rng: Random) -> tuple[str, str]:
    """Return two different people, by name or by what they are."""
    if rng.random() < 0.6:
        first, second = rng.sample(PEOPLE, 2)
    else:
        first, second = rng.sample(SOMEONE, 2)
    return first, second


def roles(rng: Random) -> Row:
    """Who did it and to whom: swapped is another story, the passive the same."""
    doer, done_to = two(rng)
    _, past, participle = rng.choice(DONE)
    active = f"{doer} {past} {lowered(done_to)}"
    swapped = f"{done_to} {past} {lowered(doer)}"
    passive = f"{done_to} was {participle} by {lowered(doer)}"
    wrong = f"{doer} was {participle} by {lowered(done_to)}"
    first, response, accept = rng.choice(
        [
            (active, swapped, False), (active, passive, True), (active, wrong, False),
            (passive, active, True), (passive, swapped, False), (passive, wrong, False),
            (active, f"It was {lowered(doer)} who {past} {lowered(done_to)}", True),
            (active, f"It was {lowered(done_to)} who {past} {lowered(doer)}", False),
            (active, f"{doer} never {past} {lowered(done_to)}", False),
        ]
    )  # fmt: skip
    return row(rng, first, response, accept=accept, kind="roles")


def denied(rng: Random) -> Row:
    """Something done or not done, in several ways to say so."""
    who = rng.choice(PEOPLE + SOMEONE)
    past, base = rng.choice(ACTS)
    yes = [f"{who} {past}", f"{who} did {base}", f"It is not the case that {lowered(who)} did not {base}",
           f"{who} did not fail to {base}", f"{who} managed to {base}"]  # fmt: skip
    no = [f"{who} did not {base}", f"{who} didn't {base}", f"{who} never {past}",
          f"It is not true that {lowered(who)} {past}", f"{who} failed to {base}",
          f"Nobody saw {lowered(who)} {base}, because {lowered(who)} did not {base}"]  # fmt: skip
    same = rng.random() < 0.5
    one, other = (yes, no) if rng.random() < 0.5 else (no, yes)
    first = rng.choice(one[:2])
    response = rng.choice([text for text in one if text != first] if same else other)
    return row(rng, first, response, accept=same, kind="denied")


def opposed(rng: Random) -> Row:
    """Verbs that deny each other, and the denial of one that means the other."""
    who = rng.choice(PEOPLE + SOMEONE)
    past, base, against, against_base = rng.choice(VERBS)
    if rng.random() < 0.5:
        past, base, against, against_base = against, against_base, past, base

    def negated(said: str, bare: str) -> str:
        if bare.startswith("be "):
            return f"{who} was not {bare[3:]}"
        how = rng.choice(["did not", "didn\u2019t", "did not"])
        return f"{who} {how} {bare}" if said else ""

    yes = [f"{who} {past}", negated(against, against_base)]
    no = [f"{who} {against}", negated(past, base)]
    first = rng.choice(yes)
    same = rng.random() < 0.5
    response = rng.choice([text for text in yes if text != first] if same else no)
    return row(rng, first, response, accept=same, kind="opposed")


def amounts(rng: Random) -> Row:
    """At least, at most, exactly, more than: what follows from a number and what does not."""
    at = rng.randrange(1, len(NUMBERS) - 1)
    less, same, more = NUMBERS[at - 1], NUMBERS[at], NUMBERS[at + 1]
    kind = rng.choice(list(KINDS))
    noun = rng.choice(KINDS[kind]) if rng.random() < 0.5 else kind
    plural = many(noun)
    who = rng.choice(PEOPLE)
    verb = rng.choice(["saw", "counted", "drew", "photographed", "mentioned"])
    s = f"{who} {verb}"
    first, response, accept = rng.choice(
        [
            (f"{s} {same} {plural}", f"{s} {more} {plural}", False),
            (f"{s} {same} {plural}", f"{s} {less} {plural}", False),
            (f"{s} {same} {plural}", f"{s} at least {less} {plural}", True),
            (f"{s} exactly {same} {plural}", f"{s} {same} {plural}", True),
            (f"{s} at least {same} {plural}", f"{s} at least {less} {plural}", True),
            (f"{s} at least {same} {plural}", f"{s} at least {more} {plural}", False),
            (f"{s} at most {same} {plural}", f"{s} at most {more} {plural}", True),
            (f"{s} at most {same} {plural}", f"{s} at most {less} {plural}", False),
            (f"{s} more than {same} {plural}", f"{s} more than {less} {plural}", True),
            (f"{s} fewer than {same} {plural}", f"{s} fewer than {more} {plural}", True),
            (f"{s} fewer than {same} {plural}", f"{s} more than {same} {plural}", False),
            (f"{s} more than {same} {plural}", f"{s} fewer than {same} {plural}", False),
            (f"{s} {same} {plural}", f"{s} some {plural}", True),
            (f"{s} some {plural}", f"{s} {same} {plural}", False),
            (f"{s} {same} {plural}", f"{s} no {plural}", False),
            (f"{s} no {plural}", f"{s} {same} {plural}", False),
        ]
    )
    return row(rng, first, response, accept=accept, kind="amounts")


def monotone(rng: Random) -> Row:
    """All, some, no, few, most: which way a narrower or wider word keeps a statement true."""
    kind = rng.choice([*OWNED, "child", "artist", "scientist", "athlete"])
    narrow, wide = many(rng.choice(KINDS[kind])), many(kind)
    if rng.random() < 0.4:
        mark_ = rng.choice(["small", "old", "black", "young", "new", "large", "white", "Spanish"])
        narrow, wide = rng.choice([(f"{mark_} {wide}", wide), (f"{mark_} {narrow}", narrow)])
    fuller, less = rng.choice(FULLER)
    who = rng.choice(PEOPLE)
    verb = rng.choice(["saw", "bought", "likes", "found", "painted", "described", "knows"])
    base = {"saw": "see", "bought": "buy", "likes": "like", "found": "find", "painted": "paint",
            "described": "describe", "knows": "know"}[verb]  # fmt: skip
    aux = "does" if verb in ("likes", "knows") else "did"
    act = rng.choice(["were sold", "were missing", "look healthy", "are here", "were found"])
    up = [
        (f"{who} {verb} some {{}}", "object"), (f"{who} {verb} several {{}}", "object"),
        (f"Some {{}} {act}", "subject"), (f"At least three {{}} {act}", "subject"),
        ("Many of us saw the {}", "object"), ("There are {} in the picture", "object"),
        (f"{who} {verb} two {{}}", "object"),
    ]  # fmt: skip
    down = [
        (f"{who} {verb} no {{}}", ""), (f"{who} {aux} not {base} any {{}}", ""),
        (f"No {{}} {act}", ""), (f"All {{}} {act}", ""), ("Every one of the {} here was checked", ""),
        (f"Hardly any {{}} {act}", ""), (f"{who} left without seeing {{}}", ""),
        (f"If {{}} {act.replace('were', 'are')}, {who} will be told", ""),
        (f"{who} never {verb} any {{}}" if aux == "did" else f"{who} never {verb} {{}}", ""),
        (f"None of the {{}} {act}", ""), (f"At most three {{}} {act}", ""),
    ]  # fmt: skip
    draw = rng.random()
    if draw < 0.4:
        frame = rng.choice(up)[0]
        pair = (frame.format(narrow), frame.format(wide), True)
    elif draw < 0.75:
        frame = rng.choice(down)[0]
        pair = (frame.format(wide), frame.format(narrow), True)
    else:
        upward = rng.random() < 0.6
        subject = rng.choice(
            ["Somebody", "Everybody", "Most people", who] if upward
            else ["Nobody", "No student", "None of them", "Few people", "Neither of us"]
        )  # fmt: skip
        one, other = f"{subject} {fuller}", f"{subject} {less}"
        pair = (one, other, True) if upward else (other, one, True)
    first, response, accept = pair
    if rng.random() < 0.5:
        first, response, accept = response, first, False
    return row(rng, first, response, accept=accept, kind="monotone")


def joined(rng: Random) -> Row:
    """And, or, neither, only, but not: what two facts in one sentence say of each."""
    one, other = rng.sample(PEOPLE, 2)
    (past, base), (past2, _) = rng.sample(ACTS, 2)
    first, response, accept = rng.choice(
        [
            (f"{one} and {other} {past}", f"{other} {past}", True),
            (f"{one} or {other} {past}", f"{one} {past}", False),
            (f"{one} {past}", f"{one} or {other} {past}", True),
            (f"{one} {past}", f"{one} and {other} {past}", False),
            (f"Neither {one} nor {other} {past}", f"{other} did not {base}", True),
            (f"Neither {one} nor {other} {past}", f"{one} {past}", False),
            (f"{one} {past}, but {other} did not", f"{other} {past}", False),
            (f"{one} {past}, but {other} did not", f"{one} {past}", True),
            (f"{one} {past}, but {other} did not", f"{other} did not {base}", True),
            (f"Only {one} {past}", f"{other} {past}", False),
            (f"Only {one} {past}", f"{one} {past}", True),
            (f"{one} {past} and {past2}", f"{one} {past2}", True),
            (f"{one} {past}", f"{one} {past} and {past2}", False),
            (f"{one} {past} without {other}", f"{other} {past} with {one}", False),
            (f"Everyone except {one} {past}", f"{one} {past}", False),
            (f"Everyone except {one} {past}", f"{one} did not {base}", True),
            (f"{one} {past} instead of {other}", f"{other} {past}", False),
            (f"Not only {one} but also {other} {past}", f"{one} {past}", True),
            (f"Not everyone {past}", f"Nobody {past}", False),
            (f"Not everyone {past}", f"Someone did not {base}", True),
            (f"Everyone {past}", f"{one} {past}", True),
            (f"Nobody {past}", f"{one} {past}", False),
            (f"Nobody {past}", f"{one} did not {base}", True),
            (f"{one} wanted to {base}", f"{one} {past}", False),
            (f"{one} forgot to {base}", f"{one} did not {base}", True),
            (f"{one} regrets that {other} {past}", f"{other} {past}", True),
            (f"{one} refused to {base}", f"{one} {past}", False),
            (f"{one} will not {base} unless {other} does", f"{one} will certainly {base}", False),
            (f"{one} was not the one who {past}", f"{one} {past}", False),
            (f"{one}, not {other}, {past}", f"{one} {past}", True),
            (f"{one}, not {other}, {past}", f"{other} {past}", False),
            (f"{one} {past} for no reason", f"{one} did not {base}", False),
            (f"{one} {past} in no time", f"{one} {past}", True),
            (f"{one} almost {past}", f"{one} {past}", False),
            (f"{one} no longer has to {base}", f"{one} used to have to {base}", True),
            (f"{one} has not yet been asked to {base}", f"{one} was asked to {base}", False),
            (f"It was {one} who {past}, not {other}", f"{other} did not {base}", True),
            (f"{one} could not {base}", f"{one} {past}", False),
            (f"{one} could not help but {base}", f"{one} {past}", True),
        ]
    )
    return row(rng, first, response, accept=accept, kind="joined")


def compared(rng: Random) -> Row:
    """More and less, said from either side."""
    one, other = rng.sample(PEOPLE, 2)
    if rng.random() < 0.4:
        one, other = rng.sample(THING, 2)
    more, less, plain = rng.choice(COMPARED)
    if rng.random() < 0.5 and plain != "early":
        more, less = less, more
    first = f"{one} is {more} than {lowered(other)}"
    response, accept = rng.choice(
        [
            (f"{other} is {less} than {lowered(one)}", True), (f"{other} is {more} than {lowered(one)}", False),
            (f"{one} is {less} than {lowered(other)}", False), (f"{one} is not {more} than {lowered(other)}", False),
            (f"{other} is not {more} than {lowered(one)}", True), (f"{one} is as {plain} as {lowered(other)}", False),
            (f"Of the two, {lowered(one)} is {more}", True), (f"Of the two, {lowered(other)} is {more}", False),
        ]
    )  # fmt: skip
    return row(rng, first, response, accept=accept, kind="compared")


def ordered(rng: Random) -> Row:
    """Before and after, cause and effect, from and to."""
    one, other = rng.sample(PEOPLE, 2)
    (past, _), (past2, _) = rng.sample(ACTS, 2)
    here, there = rng.sample(["Berlin", "Lima", "Oslo", "Cairo", "Delhi", "Seoul", "Rome"], 2)
    a, b = f"{one} {past}", f"{other} {past2}"
    first, response, accept = rng.choice(
        [
            (f"{a} before {b}", f"{b} after {a}", True), (f"{a} before {b}", f"{a} after {b}", False),
            (f"{a} before {b}", f"{b} before {a}", False), (f"After {b}, {a}", f"{b} before {a}", True),
            (f"{a} because {b}", f"{b} because {a}", False), (f"{a} because {b}", f"{b}, so {a}", True),
            (f"{one} flew from {here} to {there}", f"{one} flew from {there} to {here}", False),
            (f"{one} flew from {here} to {there}", f"{one} flew to {there} from {here}", True),
            (f"{one} lent {other} some money", f"{one} borrowed some money from {other}", False),
            (f"{one} lent {other} some money", f"{other} borrowed some money from {one}", True),
            (f"{one} sold the car to {other}", f"{other} bought the car from {one}", True),
            (f"{one} sold the car to {other}", f"{one} bought the car from {other}", False),
            (f"{one} is the parent of {other}", f"{other} is the child of {one}", True),
            (f"{one} is the parent of {other}", f"{one} is the child of {other}", False),
            (f"{one} taught {other} chess", f"{other} learned chess from {one}", True),
            (f"{one} taught {other} chess", f"{one} learned chess from {other}", False),
        ]
    )  # fmt: skip
    return row(rng, first, response, accept=accept, kind="ordered")


MAKERS: tuple[Maker, ...] = (
    roles, roles, roles, denied, opposed, amounts, monotone, joined, joined, compared, compared,
    ordered, ordered,
)  # fmt: skip


def made_statements(rng: Random, most: int) -> list[Row]:
    """Return so many different rows, the makers by turns."""
    found: dict[tuple[str, str], Row] = {}
    turn = 0
    while len(found) < most:
        made = MAKERS[turn % len(MAKERS)](rng)
        found.setdefault((made.first, made.response), made)
        turn += 1
    return list(found.values())
