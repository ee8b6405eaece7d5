"""Words and patterns of the edits of ``replaced``, and edits that need no dictionary."""

from __future__ import annotations

import re
from random import Random

from pair import edits
from pair.inflected import inflected

_DIRECTIONS = (
    "increase decrease|accept reject|buy sell|rise fall|win lose|begin stop|start stop|open close|"
    "improve worsen|agree disagree|approve reject|include exclude|allow forbid|gain lose|"
    "support oppose|arrive depart|join leave|add remove|expand shrink|love hate|"
    "succeed fail|strengthen weaken|encourage discourage|appear disappear|"
    "attack defend|create destroy|enter leave|export import|borrow lend|simplify complicate|"
    "enhance reduce|outperform underperform|confirm deny|publish withdraw|"
    "remember forget|praise criticize|build destroy|teach learn|"
    "propose criticize|extend shorten|discover overlook|protect harm|hire dismiss|send receive"
).split("|")  # fmt: skip
_MODALS = [tuple(line.split("=")) for line in (
    "will=may|may=will|must=can|can=must|should=need not|might=will|would=might|could=must|"
    "some=all|most=all|many=all|often=always|usually=never|sometimes=always|plans to=refused to|"
    "wants to=does not want to|want to=do not want to|agreed to=refused to|decided to=declined to|"
    "tried to=managed to|began to=stopped trying to|continued to=ceased to|suggests=proves|"
    "suggest=prove|generally=always|several=all|probably=certainly|likely=certain|"
    "is interested in=is not interested in|offers to=refuses to|needs to=does not need to|"
    "need to=do not need to|aims to=fails to|was able to=was unable to|about=exactly|"
    "at least=at most|up to=more than|almost=more than|possible=certain|tends to=always has to|"
    "intends to=hesitates to|believed to=proven to|considered=no longer considered"
).split("|")]  # fmt: skip
_ADDED = (
    ", although nobody was hurt|, without telling anyone| for the third time|, despite the cost|"
    ", which surprised many people|, and was later praised for it|, but only on weekends|"
    ", with help from a neighbour| after a long delay|, at no extra charge|, against all advice|"
    ", mainly for financial reasons| in less than a week|, as a newspaper reported| in secret|"
    ", and plans to do so again next year|, which ended in a court case| with government support|"
    ", after months of debate|, to the delight of the critics|, and later apologised|"
    ", which cost about two million dollars| because of bad weather|, unlike in earlier years|"
    ", following a vote|, but this was kept from the public| for the first time in a decade|"
    ", thanks to a private donation|, which is now forbidden by law| in front of a large crowd|"
    ", though experts disagree|, and an award was given for this| on the advice of a lawyer|"
    ", which led to many complaints|, as part of an experiment in Canada|, free of charge|"
    ", and this was shown on television|, mostly at night|, for safety reasons|, by mistake|"
    ", except during the winter|, which took twelve years|, and this was not planned|"
    ", at the request of a friend|, in spite of strong protests|, with some exceptions"
).split("|")  # fmt: skip
_FRAMES = (
    "According to the text, {}|The text says that {}|As described, {}|It is stated that {}|"
    "In other words, {}|We learn that {}|The passage explains that {}|In short, {}|"
    "As the text points out, {}|It is mentioned that {}|Put simply, {}|The source tells us that {}"
).split("|")
_AFTER = (
    ", according to the text|, as the text says|, as described|, it is said|, as mentioned|"
    ", the passage explains|, as the source points out"
).split("|")
_QUANTITIES = [(re.compile(rf"(?<![\w.,]){pattern}(?![\w%]|[.,-]\d)"), new) for pattern, new in (
    (r"(?i:half) of(?= the\b)", "50% of"), (r"50(?:%| percent) of", "half of"),
    (r"25(?:%| percent) of", "a quarter of"), (r"(?i:a quarter) of(?= the\b)", "25% of"),
    (r"1,000", "a thousand"), (r"a thousand", "1,000"), (r"a million", "1,000,000"),
    (r"1,000,000", "one million"), (r"(\d+)\.(\d) million", r"\1,\g<2>00,000"),
    (r"(\d{1,3}),(\d)00,000", r"\1.\2 million"), (r"(\d+) million", r"\1,000,000"),
    (r"(\d{1,3}) thousand", r"\1,000"), (r"(\d{1,3}),000", r"\1 thousand"),
    (r"(\d+) percent", r"\1%"), (r"(\d+(?:\.\d+)?)\s?%", r"\1 percent"),
    (r"a dozen", "twelve"), (r"twelve", "a dozen"), (r"twice", "two times"),
    (r"a decade", "ten years"), (r"ten years", "a decade"), (r"a century", "a hundred years"),
    (r"two weeks", "a fortnight"), (r"(\d{3}\d) to (\d{4})", r"\1 until \2"),
    (r"one hundred", "100"), (r"third", "3rd"), (r"nineteenth", "19th"), (r"20th", "twentieth"),
    (r"19th", "nineteenth"), (r"18th", "eighteenth"), (r"21st", "twenty-first"),
)]  # fmt: skip
BASES = frozenset(word for line in _DIRECTIONS for word in line.split())
DETERMINERS = frozenset("a an the his her its their of this our your".split())
UNFIT = re.compile(
    r"\?|^\s*$|^[\w ]+: | [.,!]|\b(?:Mr|Mrs|Dr|Ms|Inc|vs|etc)\.$|[^.!\"”)\w]$"
    r"|^[^\"]*\"[^\"]*$|^\W"
)
"""Sentences that were cut apart wrongly, and turns of a talk."""
_NUMBER_WORDS = "two three four five six seven eight nine ten eleven twelve".split()
_NUMBER = re.compile(r"(?<![\w.,/-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w/]|[.,-]\d)")
_NAME = re.compile(
    r"\b[A-Z][\w’'-]*[a-z](?: (?:(?:of|the|de|van) )*[A-Z][\w’-]*[a-z])*\b"  # noqa: RUF001
)
_NO_NAMES = set(
    "The A An In On At It He She They We His Her Its Their This That These Those There When While "
    "As After For From But And Or If By With Most Some Many All One Two What Who Which Where How "
    "Also However Although Though Not No Yes Our You Your My I Mr Mrs Dr Here Due Once Another "
    "Each Such Both Since During "
    "January February March April May June July August September October November December Monday "
    "Tuesday Wednesday Thursday Friday Saturday Sunday".split()
)
_ALWAYS_LARGE = set(
    "I Mr Mrs Dr January February March April May June July August September October November "
    "December Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
)
DENIED = re.compile(
    r"(?i)\b(?:not?|never|nobody|nothing|none|nor|without|only|all|every|each|any|few|less|fewer|"
    r"hardly|rarely|least|most|best|first|last|both|if|unless|same|than|exactly|neither|largest|"
    r"\w\w\w+(?:iest|gest|dest|test|lest|nest|hest|rest|west))\b|n['’]t|\?"  # noqa: RUF001
)
KEPT = set(  # leaving them out says more, or something else
    "other same own such only former late alleged fake false artificial potential possible likely "
    "main next new much more less several many few certain various different similar equal self "
    "common single final initial entire whole early old previous current original own half net "
    "united high low".split()
)
MANNER = set(
    "quickly slowly greatly strongly widely significantly successfully carefully rapidly highly "
    "heavily clearly directly easily actively officially extremely particularly especially deeply "
    "closely severely simply suddenly traditionally eventually subsequently finally also very "
    "currently recently effectively largely fully openly initially originally famously".split()
)
MODAL_WORDS = set("to will would can could may might must should cannot".split())
PERFECT = set("has have had having been was were is are be being got get not".split())
TAIL = re.compile(
    r"(\w+)(,? (?:in|on|at|during|near|since|throughout|across|alongside)"
    r" (?:[\w’'-]+,? ){0,5}[\w’'-]+)(?=\.$)"  # noqa: RUF001
)
CLAUSE = re.compile(
    r", (?:which|who|whose|where) [^,;:()]{5,90}"
    r"(?:,(?= (?:is|are|was|were|has|have|had|can|will|would|became) )|(?=\.$))"
)
SECOND = re.compile(r",? (?:and|but) (?:he|she|it|they|there|this) \w+ [^;:]{5,}(?=\.$)")
BRACKET = re.compile(r" \([^()]{2,60}\)")
WORD = re.compile(r"(?<![\w-])[a-z]{3,}(?![\w’'-])")  # noqa: RUF001
SKIPPED = set(
    "have has had but being been was were are the and for not one first can may will use used "
    "day way "
    "more most less much such other same able well even then now still here there very also back "
    "before after out off down over under many few due own like name part kind sort type number "
    "people person thing time year fact order addition another example case lot bit point "
    "rest".split()
)


def directions() -> dict[str, str]:
    """Return forms of verbs, each with the same form of what goes the other way."""
    found: dict[str, str] = {}
    for line in _DIRECTIONS:
        one, other = line.split()
        for tag in ("", "s", "ed", "en", "ing"):
            a, b = inflected(one, tag), inflected(other, tag)
            if a and b:
                found.setdefault(a, b)
                found.setdefault(b, a)
    return found


def names(text: str) -> list[re.Match[str]]:
    """Return where names are; a first word of a sentence only where it is several words."""
    found = []
    for match in _NAME.finditer(text):
        first = re.search(r"(?:^|[.!?:\"“]\s*)$", text[: match.start()]) is not None
        parts = match.group().split()
        if not _NO_NAMES & set(parts) and (len(parts) > 1 or not first):
            found.append(match)
    return found


def shape(name: str) -> tuple[bool, bool]:
    """Return what two names must share for one to stand in the other's place."""
    return " " in name, name.endswith(("an", "ish", "ese", "ic", "ch"))


def number(text: str, passage: str, rng: Random) -> str | None:
    """Put another number of the passage in a number's place, or one that is near."""
    found = [m for m in _NUMBER.finditer(text) if m.group().strip("0,.")]
    spelled = [m for m in WORD.finditer(text) if m.group() in _NUMBER_WORDS]
    if not found and not spelled:
        return None
    match = rng.choice(found + spelled)
    here = match.group()
    if here in _NUMBER_WORDS:
        near = [word for word in _NUMBER_WORDS if word != here and word not in text]
        return text[: match.start()] + rng.choice(near) + text[match.end() :]
    year = re.compile(r"1\d{3}|20\d\d")
    others = [m.group() for m in _NUMBER.finditer(passage)]
    others = [o for o in others if o not in text
              and bool(year.fullmatch(o)) == bool(year.fullmatch(here))
              and ("," in o or "." in o) == ("," in here or "." in here)]  # fmt: skip
    if others and rng.random() < 0.6:
        return text[: match.start()] + rng.choice(others) + text[match.end() :]
    if year.fullmatch(here):
        other = str(int(here) + rng.choice([-60, -20, -10, -7, -3, -2, -1, 1, 2, 3, 5, 8, 10]))
        return text[: match.start()] + other + text[match.end() :]
    return edits.number(text, rng)


def added(text: str, _: str, rng: Random) -> str | None:
    """Add what the passage does not say."""
    if not re.search(r"[a-z]\.$", text):
        return None
    phrase = rng.choice(_ADDED)
    commas = [m.start() for m in re.finditer(r"(?<=[a-z])(?=, (?:but|and|while|which) )", text)]
    if commas and phrase[0] == " " and rng.random() < 0.5:
        return text[: commas[0]] + phrase + text[commas[0] :]
    return f"{text[:-1]}{phrase}."


def modal(text: str, _: str, rng: Random) -> str | None:
    """Make what may be certain, what must be possible, what some do done by all."""
    found = [(m, new) for old, new in _MODALS for m in re.finditer(rf"\b{old}\b", text)]
    found = [(m, new) for m, new in found if not re.match(r" (?:not\b|\d+\b.*%)", text[m.end() :])
             and not re.search(r"(?i)\b(?:the|a|not|this|at|and|or|our|his|its|their|your|"
                               r"is|are|was) $",
                               text[: m.start()])]  # fmt: skip
    if not found:
        return None
    match, new = rng.choice(found)
    some = r" (?:of (?:the|them|these|those|its|his)|[a-z]+s)\b"
    if new.startswith("all") and not re.match(some, text[match.end() :]):
        return None
    return text[: match.start()] + new + text[match.end() :]


def quantity(text: str, _: str, rng: Random) -> str | None:
    """Say a quantity otherwise."""
    found = [(m, new) for pattern, new in _QUANTITIES for m in pattern.finditer(text)]
    if not found:
        return None
    match, new = rng.choice(found)
    said = match.expand(new)
    if match.start() == 0:
        said = capital(said)
    return text[: match.start()] + said + text[match.end() :]


def framed(text: str, _: str, rng: Random) -> str | None:
    """Add words that say nothing."""
    if rng.random() < 0.4 and text.endswith("."):
        return f"{text[:-1]}{rng.choice(_AFTER)}."
    return rng.choice(_FRAMES).format(small(text))


def capital(text: str) -> str:
    """Return a text that starts a sentence."""
    return text[:1].upper() + text[1:]


def small(text: str) -> str:
    """Return a text that stands within a sentence: an article or pronoun in small letters."""
    first = text.split(" ", maxsplit=1)[0]
    return text[:1].lower() + text[1:] if first in _NO_NAMES - _ALWAYS_LARGE else text


def replaced(text: str, match: re.Match[str], new: str) -> str:
    """Return a text with another word, *a* and *an* right before it."""
    before = text[: match.start()]
    article = re.search(r"\b([Aa])n? $", before)
    if article:
        before = before[: article.start()] + article[1] + ("n " if new[0] in "aeiou" else " ")
    return before + new + text[match.end() :]


def denial(text: str, _: str, rng: Random) -> str | None:
    """Put *not* after a verb, or take one away, where nothing else denies."""
    if re.search(r"(?i)\b(?:nothing|nobody|none|nor?|never|neither|hardly)\b", text):
        return None
    found = edits.denial(text, rng)
    clumsy = r"\b(?:has|had|have)(?: not|n't| no longer) (?!\w+(?:ed|en|wn)\b)"
    return None if found and re.search(clumsy, found) else found
