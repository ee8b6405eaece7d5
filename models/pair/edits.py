"""Edits of real sentences: those that make a statement another one, and those that do not.

They share no code with ``closecall.stress``, whose families are what the model is tried on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

Edit = Callable[[str, Random], "str | None"]

_AUX = (
    "is are was were has had can could will would should may might must does do did have"
).split()
_AUX_RE = re.compile(rf"\b({'|'.join(_AUX)})\b(?! not\b|n't|n’t)(?=\s+[a-z])")  # noqa: RUF001
_DENIAL = re.compile(r"\b({})(?: not|n't|n’t)\b".format("|".join(_AUX)))  # noqa: RUF001
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,])\d+(?:\.\d+)?(?![\w])")
_NAME = re.compile(r"(?<=[a-z,;] )(?:[A-Z][a-zà-ÿ]+(?: (?:of|the|de|van) )?(?: ?[A-Z][a-zà-ÿ]+)*)")
_EITHER_WAY = re.compile(r"(?:,|,? (?:and|or|and the|or the|with|nor)|/) ?(?:[A-Z]\w* )*")
"""Between two names: the sentence says the same when they change places."""
_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_MORE = {
    "all": "some", "every": "no", "always": "never", "never": "always", "most": "few",
    "more": "less", "less": "more", "before": "after", "after": "before", "first": "last",
    "only": "never", "many": "few", "few": "many", "increased": "decreased", "largest": "smallest",
    "rose": "fell", "above": "below", "below": "above", "north": "south", "south": "north",
    "east": "west", "west": "east", "with": "without", "best": "worst", "highest": "lowest",
    "both": "neither of", "some": "no", "often": "rarely", "until": "since", "oldest": "youngest",
    "won": "lost", "born": "buried", "men": "women", "father": "mother", "husband": "wife",
    "his": "her", "everyone": "no one", "cannot": "can", "older": "younger", "early": "late",
}  # fmt: skip
_UNITS = {
    "km": "miles", "miles": "metres", "kg": "pounds", "million": "billion", "billion": "million",
    "years": "months", "months": "years", "hours": "minutes", "minutes": "hours", "days": "weeks",
    "weeks": "days", "metres": "feet", "feet": "inches", "dollars": "euros", "%": " per mille",
    "thousand": "hundred", "hundred": "thousand", "percent": "per mille", "meters": "kilometers",
}  # fmt: skip
_SPELLED = {
    "2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight",
    "9": "nine", "10": "ten", "11": "eleven", "12": "twelve", "20": "twenty", "100": "one hundred",
}  # fmt: skip
_SHORTER = {
    "is not": "isn't", "are not": "aren't", "was not": "wasn't", "were not": "weren't",
    "do not": "don't", "does not": "doesn't", "did not": "didn't", "cannot": "can't",
    "will not": "won't", "would not": "wouldn't", "it is": "it's", "there is": "there's",
    "has not": "hasn't", "have not": "haven't", "that is": "that's", "they are": "they're",
    "he is": "he's", "she is": "she's", "I am": "I'm", "you are": "you're", "could not": "couldn't",
}  # fmt: skip
_OPENINGS = (
    "", "", "", "Great question! ", "Yes, happy to help: ", "In short: ", "Here you go: ", "Well, ",
    "Good question. ", "To answer your question: ", "Answer: ", "Sure, ", "Thanks for your message. ",
    "Hello! ", "Dear customer, ", "Okay, so ", "No problem. ", "Happy to look into that for you. ",
    "I'm glad you asked. ", "Let me see. ", "Right, ", "Hi there, thank you for your patience. ",
    "Based on what I have, ", "You are welcome to know this: ", "Interesting! ", "My pleasure. ",
)  # fmt: skip
_FRAMES = (
    "{}", "{}", "{}", "{}", "As far as I know, {}", "According to my information, {}", "{}, I think",
    "the answer to that is: {}", "{}, if I may say so", "please note: {}", "I think: {}",
)  # fmt: skip
_NAMING = ("It's {}", "That would be {}", "I believe it is {}", "it is {}", "The answer is {}")
"""Frames for a name, a number or a few words; a sentence does not fit into them."""
_FEW = 5
_CLOSINGS = (
    "", "", "", " Hope that answers it!", " Anything else?", " Have a nice day.", " Thank you!",
    " I am always here if you need more.", " Please ask again at any time.", " Cheers!",
    " Do you want to know more?", " Kind regards, your assistant", " All the best!", " :)",
    " Do not hesitate to write back.", " Is there something else you would like to know?",
    " Thanks for asking.", " Wishing you a good evening.", " That is all I can say about it.",
)  # fmt: skip


def denial(text: str, rng: Random) -> str | None:
    """Put *not* after a verb that can take it, or take one away."""
    if found := list(_DENIAL.finditer(text)):
        match = rng.choice(found)
        return text[: match.start()] + match[1] + text[match.end() :]
    found = list(_AUX_RE.finditer(text))
    if not found:
        return None
    match = rng.choice(found[:2])
    how = rng.choice([" not", " not", " not", "n't", " never", " no longer"])
    if how == "n't" and match[1] in ("may", "might", "can", "will"):
        how = " not"
    return text[: match.end()] + how + text[match.end() :]


def number(text: str, rng: Random) -> str | None:
    """Change one number a little, or much."""
    found = [match for match in _NUMBER.finditer(text) if match.group().strip("0,.")]
    if not found:
        return None
    match = rng.choice(found)
    written = match.group()
    digits = [at for at, char in enumerate(written) if char.isdigit()]
    at = rng.choice(digits)
    least = 1 if at == digits[0] else 0
    other = rng.choice([str(d) for d in range(least, 10) if str(d) != written[at]])
    changed = written[:at] + other + written[at + 1 :]
    if rng.random() < 0.25 and "." not in written and "," not in written:
        value = int(written)
        changed = str(rng.choice([value + 1, value * 2, value * 10, max(value - 1, 0)]))
    return text[: match.start()] + changed + text[match.end() :] if changed != written else None


def spelled(text: str, rng: Random) -> str | None:
    """Change a number that is written as a word, a month or a day of the week."""
    for group in rng.sample([list(_SPELLED.values()), _MONTHS, _DAYS], 3):
        found = [m for m in re.finditer(r"\b[A-Za-z]+\b", text) if m.group() in group]
        if found:
            match = rng.choice(found)
            if match.group() in ("May", "one"):
                continue
            other = rng.choice([word for word in group if word != match.group()])
            return text[: match.start()] + other + text[match.end() :]
    return None


def swapped(text: str, rng: Random) -> str | None:
    """Change a word for one that turns it round: all, before, more, north, won."""
    return _mapped(text, _MORE, rng)


def unit(text: str, rng: Random) -> str | None:
    """Change what is counted."""
    found = [m for m in re.finditer(r"(?<=\d) ?(%|[a-z]+)", text) if m[1] in _UNITS]
    found += [m for m in re.finditer(r"(?<=[a-z] )([a-z]+)", text) if m[1] in _UNITS and
              m[1] not in ("hundred", "%")]  # fmt: skip
    if not found:
        return None
    match = rng.choice(found)
    return text[: match.start(1)] + _UNITS[match[1]] + text[match.end(1) :]


def name(pool: Sequence[str]) -> Edit:
    """Return an edit that puts another name of the pool in a name's place."""

    def edit(text: str, rng: Random) -> str | None:
        found = [m for m in _NAME.finditer(text) if m.group() not in _MONTHS + _DAYS]
        if not found:
            return None
        match = rng.choice(found)
        here = match.group()
        others = [o for o in rng.sample(pool, min(len(pool), 40))
                  if len(o.split()) == len(here.split()) and o not in text]  # fmt: skip
        return text[: match.start()] + others[0] + text[match.end() :] if others else None

    return edit


def names_exchanged(text: str, rng: Random) -> str | None:
    """Let two names of one sentence change places."""
    return changed_places(text, list(_NAME.finditer(text)), rng)


def changed_places(text: str, found: Sequence[re.Match[str]], rng: Random) -> str | None:
    """Let two of the places found in a text change their words; not two items of a list."""
    apart = list({m.group(): m for m in found}.values())
    if len(apart) < 2:
        return None
    one, other = sorted(rng.sample(apart, 2), key=lambda m: m.start())
    if one.group() in other.group() or other.group() in one.group():
        return None
    if _EITHER_WAY.fullmatch(text[one.end() : other.start()]):
        return None
    return (text[: one.start()] + other.group() + text[one.end() : other.start()] + one.group()
            + text[other.end() :])  # fmt: skip


def names_of(texts: Sequence[str]) -> list[str]:
    """Return the names in texts, each once, in their order."""
    return list(dict.fromkeys(m.group() for text in texts for m in _NAME.finditer(text)))


def shorter(text: str, rng: Random) -> str | None:
    """Contract what can be contracted, or write it out."""
    table = _SHORTER if rng.random() < 0.6 else {b: a for a, b in _SHORTER.items()}
    found = [
        (match, after)
        for before, after in table.items()
        for match in re.finditer(rf"(?<![\w']){before}(?![\w'])", text, re.IGNORECASE)
    ]
    if not found:
        return None
    match, after = rng.choice(found)
    if match.group()[0].isupper():
        after = after[0].upper() + after[1:]
    return text[: match.start()] + after + text[match.end() :]


def digits(text: str, rng: Random) -> str | None:
    """Write a small number as a word, or a number word in digits."""
    if rng.random() < 0.5:
        found = [
            m for m in re.finditer(r"(?<![\w.,])\d+(?![\w.,%]|-)", text) if m.group() in _SPELLED
        ]
        if found:
            match = rng.choice(found)
            return text[: match.start()] + _SPELLED[match.group()] + text[match.end() :]
    return _mapped(text, {b: a for a, b in _SPELLED.items()}, rng)


def same(text: str, rng: Random) -> str | None:
    """Leave a text as it is; the tokenizer knows no capitals, so other capitals are the same."""
    del rng
    return text


def polite(text: str, rng: Random) -> str | None:
    """Words around the answer that say nothing."""
    frames = _FRAMES + _NAMING if len(text.split()) <= _FEW else _FRAMES
    opening, frame, closing = (rng.choice(pool) for pool in (_OPENINGS, frames, _CLOSINGS))
    if not opening + closing:
        opening = rng.choice(_OPENINGS[3:])
    said = frame.format(text)
    if closing and said[-1:].isalnum():
        said += "."
    return f"{opening}{said}{closing}"


def marked(text: str, rng: Random) -> str | None:
    """Other marks: a full stop more or less, quotes, bold, an item of a list."""
    bare = text.rstrip(".")
    return rng.choice([bare if bare != text else text + ".", f'"{text}"', f"**{text}**", f"- {text}",
                       f"`{text}`", f"{text}!", f" {text} "])  # fmt: skip


def again(text: str, rng: Random) -> str | None:
    """Say the same once more: *X. So the answer is X.*"""
    if len(text.split()) > 8:
        return None
    return rng.choice(["{0}. So the answer is {0}.", "{0} ({0})", "It is {0}, yes, {0}."]).format(
        text
    )


def ordered(text: str, rng: Random) -> str | None:
    """Put the items of a list in another order."""
    match = re.search(r"\b(\w+(?: \w+)?), (\w+(?: \w+)?),? and (\w+(?: \w+)?)\b", text)
    if match:
        items = list(match.groups())
        rng.shuffle(items)
        new = f"{items[0]}, {items[1]} and {items[2]}"
        return text[: match.start()] + new + text[match.end() :]
    match = re.fullmatch(r"([A-Z]\w+) and ([A-Z]\w+)\.?", text.strip())
    return f"{match[2]} and {match[1]}" if match else None


def _mapped(text: str, table: dict[str, str], rng: Random) -> str | None:
    found = [m for m in re.finditer(r"\b[A-Za-z]+(?:'[a-z]+| not\b| is\b| are\b| am\b)?", text)
             if m.group() in table]  # fmt: skip
    if not found:
        found = [m for m in re.finditer(r"\b[A-Za-z]+\b", text) if m.group() in table]
    if not found:
        return None
    match = rng.choice(found)
    return text[: match.start()] + table[match.group()] + text[match.end() :]


WRONG: dict[str, Edit] = {
    "denial": denial, "number": number, "spelled": spelled, "swapped": swapped, "unit": unit,
    "names exchanged": names_exchanged,
}  # fmt: skip
HARMLESS: dict[str, Edit] = {
    "shorter": shorter, "digits": digits, "same": same, "polite": polite, "marked": marked,
    "again": again, "ordered": ordered,
}  # fmt: skip
