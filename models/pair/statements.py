"""Statements made from small grammars: who did what to whom, how many, before or after, not both.

Each maker returns one row from a generator of random numbers. The words are everyday ones; what
follows from what is by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from pair.rows import Row

PEOPLE = (
    "Anna Ben Clara David Elena Farid Grace Hugo Ines Jonas Karen Liam Maria Noah Olga Peter Rosa "
    "Samuel Tara Victor Wendy Yusuf Zoe Mei Omar Priya Ivan Lucia Kofi Hana"
).split()
SOMEONE = (
    "The teacher|My neighbour|The nurse|Our manager|The driver|His sister|The old man|The mayor|"
    "A friend of mine|The young woman|The company|The committee|The police|Her brother|The chef|"
    "The lawyer|The pilot|The coach|The tenant|The customer|The scientist|The author|The farmer"
).split("|")
THING = (
    "The room|The soup|This book|The road|Her house|The water|The film|His car|The bridge|"
    "The weather|Your idea|The box|My phone|The exam|The garden|The museum|The meeting|The river|"
    "That dress|The bread|The plan|The new office|The engine|The ticket|The answer|The city"
).split("|")
KINDS = {
    "animal": ("dog", "cat", "horse", "cow", "rabbit", "fox", "bear", "lion", "goat", "monkey"),
    "bird": ("sparrow", "eagle", "owl", "crow", "pigeon", "parrot", "swan"),
    "fruit": ("apple", "orange", "pear", "banana", "mango", "plum", "peach"),
    "vegetable": ("carrot", "potato", "onion", "cabbage", "tomato"),
    "vehicle": ("car", "truck", "bus", "van", "bicycle", "motorcycle", "tractor"),
    "tool": ("hammer", "saw", "drill", "screwdriver", "wrench"),
    "flower": ("rose", "tulip", "lily", "daisy", "orchid"),
    "tree": ("oak", "pine", "maple", "birch", "willow"),
    "building": ("house", "church", "hotel", "school", "hospital", "library", "barn"),
    "instrument": ("piano", "violin", "guitar", "flute", "trumpet", "drum"),
    "drink": ("coffee", "tea", "juice", "milk", "beer", "lemonade"),
    "scientist": ("chemist", "biologist", "physicist", "geologist"),
    "athlete": ("swimmer", "runner", "boxer", "gymnast", "cyclist"),
    "artist": ("painter", "sculptor", "musician", "dancer"),
    "insect": ("ant", "bee", "butterfly", "beetle", "wasp"),
    "fish": ("salmon", "trout", "shark", "tuna"),
    "weapon": ("sword", "gun", "spear", "bow"),
    "child": ("boy", "girl", "toddler"),
}
OWNED = "animal bird fruit vegetable vehicle tool flower tree instrument".split()
DONE = (  # present, past, participle, base form's ending for he
    ("chase", "chased", "chased"), ("see", "saw", "seen"), ("help", "helped", "helped"),
    ("follow", "followed", "followed"), ("push", "pushed", "pushed"), ("call", "called", "called"),
    ("hit", "hit", "hit"), ("kiss", "kissed", "kissed"), ("invite", "invited", "invited"),
    ("thank", "thanked", "thanked"), ("beat", "beat", "beaten"), ("catch", "caught", "caught"),
    ("teach", "taught", "taught"), ("praise", "praised", "praised"), ("sue", "sued", "sued"),
    ("hire", "hired", "hired"), ("wake", "woke", "woken"), ("visit", "visited", "visited"),
)  # fmt: skip
ACTS = (  # of one alone: past, base
    ("left early", "leave early"), ("sang a song", "sing a song"), ("slept", "sleep"),
    ("passed the exam", "pass the exam"), ("bought a house", "buy a house"), ("swam", "swim"),
    ("ate breakfast", "eat breakfast"), ("came home late", "come home late"),
    ("paid the bill", "pay the bill"), ("opened the window", "open the window"),
    ("read the letter", "read the letter"), ("went to Paris", "go to Paris"),
    ("answered the question", "answer the question"), ("ran away", "run away"),
    ("won a prize", "win a prize"), ("wrote a report", "write a report"),
    ("cooked dinner", "cook dinner"), ("missed the train", "miss the train"),
    ("called a doctor", "call a doctor"), ("smiled", "smile"), ("lost the keys", "lose the keys"),
    ("bought a red car", "buy a red car"), ("ate two large apples", "eat two large apples"),
    ("walked slowly through the park", "walk slowly through the park"),
)  # fmt: skip
FULLER = (  # the first says more than the second
    ("bought a red car", "bought a car"), ("sang an old song", "sang a song"),
    ("ran quickly", "ran"), ("slept on the sofa", "slept"), ("ate a green apple", "ate an apple"),
    ("came home late", "came home"), ("bought a house in Rome", "bought a house"),
    ("wrote a long report", "wrote a report"), ("walked slowly", "walked"),
    ("won a prize last year", "won a prize"), ("smiled at the baby", "smiled"),
    ("read the letter twice", "read the letter"), ("cooked dinner for six", "cooked dinner"),
    ("swam across the lake", "swam"), ("painted the door blue", "painted the door"),
    ("went to Paris by train", "went to Paris"), ("danced in the rain", "danced"),
    ("speaks French fluently", "speaks French"), ("owns a small boat", "owns a boat"),
    ("works in a large hospital", "works in a hospital"), ("has a twin sister", "has a sister"),
)  # fmt: skip
VERBS = (  # one denies the other: past and base of both
    ("remembered the meeting", "remember the meeting", "forgot the meeting", "forget the meeting"),
    ("accepted the offer", "accept the offer", "rejected the offer", "reject the offer"),
    ("won the match", "win the match", "lost the match", "lose the match"),
    ("passed the test", "pass the test", "failed the test", "fail the test"),
    ("arrived on time", "arrive on time", "arrived late", "arrive late"),
    ("told the truth", "tell the truth", "lied", "lie"),
    ("agreed with the plan", "agree with the plan", "opposed the plan", "oppose the plan"),
    ("stayed at home", "stay at home", "went out", "go out"),
    ("kept the promise", "keep the promise", "broke the promise", "break the promise"),
    ("survived the accident", "survive the accident", "died in the accident",
     "die in the accident"),
    ("finished the work", "finish the work", "left the work undone", "leave the work undone"),
    ("liked the film", "like the film", "disliked the film", "dislike the film"),
    ("allowed the visit", "allow the visit", "forbade the visit", "forbid the visit"),
    ("was awake", "be awake", "was asleep", "be asleep"),
    ("locked the door", "lock the door", "left the door unlocked", "leave the door unlocked"),
)  # fmt: skip
NEAR = ("I think that {}", "It is true that {}", "They say that {}", "As far as I know, {}",
        "{}, as everyone knows", "In the end {}", "Yesterday {}", "{} today", "Well, {}")  # fmt: skip
COMPARED = (
    ("taller", "shorter", "tall"), ("older", "younger", "old"), ("faster", "slower", "fast"),
    ("heavier", "lighter", "heavy"), ("richer", "poorer", "rich"), ("larger", "smaller", "large"),
    ("stronger", "weaker", "strong"), ("louder", "quieter", "loud"), ("earlier", "later", "early"),
)  # fmt: skip
NUMBERS = (
    "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty fifty"
).split()

Maker = Callable[[Random], Row]


def row(rng: Random, first: str, response: str, *, accept: bool, kind: str) -> Row:
    """Return a row, both texts now and then in the same frame, with or without a full stop."""
    if rng.random() < 0.15:
        frame = rng.choice(NEAR)
        first, response = (frame.format(_low(text)) for text in (first, response))
        first, response = first[0].upper() + first[1:], response[0].upper() + response[1:]
    if rng.random() < 0.8:
        first, response = first + ".", response + "."
    if rng.random() < 0.1:
        first, response = first.lower(), response.lower()
    return Row(first, response, accept, f"made {kind}", f"made {kind} {first}")


def _low(text: str) -> str:
    word = text.split(" ", 1)[0]
    return text if word in PEOPLE or word == "I" else text[0].lower() + text[1:]


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
    active = f"{doer} {past} {_low(done_to)}"
    swapped = f"{done_to} {past} {_low(doer)}"
    passive = f"{done_to} was {participle} by {_low(doer)}"
    wrong = f"{doer} was {participle} by {_low(done_to)}"
    first, response, accept = rng.choice(
        [
            (active, swapped, False), (active, passive, True), (active, wrong, False),
            (passive, active, True), (passive, swapped, False), (passive, wrong, False),
            (active, f"It was {_low(doer)} who {past} {_low(done_to)}", True),
            (active, f"It was {_low(done_to)} who {past} {_low(doer)}", False),
            (active, f"{doer} never {past} {_low(done_to)}", False),
        ]
    )  # fmt: skip
    return row(rng, first, response, accept=accept, kind="roles")


def denied(rng: Random) -> Row:
    """Something done or not done, in several ways to say so."""
    who = rng.choice(PEOPLE + SOMEONE)
    past, base = rng.choice(ACTS)
    yes = [f"{who} {past}", f"{who} did {base}", f"It is not the case that {_low(who)} did not {base}",
           f"{who} did not fail to {base}", f"{who} managed to {base}"]  # fmt: skip
    no = [f"{who} did not {base}", f"{who} didn't {base}", f"{who} never {past}",
          f"It is not true that {_low(who)} {past}", f"{who} failed to {base}",
          f"Nobody saw {_low(who)} {base}, because {_low(who)} did not {base}"]  # fmt: skip
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


def many(noun: str) -> str:
    """Return the plural of one of our nouns."""
    if noun == "child":
        return "children"
    if noun in ("salmon", "trout", "tuna", "fish"):
        return noun
    if noun[-1] == "y" and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh", "o")) and noun != "piano" else "s")


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
    first = f"{one} is {more} than {_low(other)}"
    response, accept = rng.choice(
        [
            (f"{other} is {less} than {_low(one)}", True), (f"{other} is {more} than {_low(one)}", False),
            (f"{one} is {less} than {_low(other)}", False), (f"{one} is not {more} than {_low(other)}", False),
            (f"{other} is not {more} than {_low(one)}", True), (f"{one} is as {plain} as {_low(other)}", False),
            (f"Of the two, {_low(one)} is {more}", True), (f"Of the two, {_low(other)} is {more}", False),
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
