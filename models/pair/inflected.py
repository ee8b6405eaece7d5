"""Forms of words: a verb's past and third person, a noun that can be counted, its article."""

from __future__ import annotations

import re

IRREGULAR = dict(
    pair.split(" ")
    for pair in (
        "be was|bear bore|beat beat|become became|begin began|bend bent|bet bet|bind bound|"
        "bite bit|bleed bled|blow blew|break broke|breed bred|bring brought|build built|buy "
        "bought|"
        "burst burst|cast cast|catch caught|choose chose|cling clung|come came|cost cost|"
        "creep crept|cut cut|deal dealt|dig dug|do did|draw drew|drink drank|drive drove|"
        "eat ate|"
        "fall fell|feed fed|feel felt|fight fought|find found|flee fled|fling flung|fly flew|"
        "forget forgot|forgive forgave|freeze froze|get got|give gave|go went|grind ground|"
        "grow grew|hang hung|have had|hear heard|hide hid|hit hit|hold held|hurt hurt|keep kept|"
        "know knew|lay laid|lead led|leave left|lend lent|let let|lie lay|lose lost|make made|"
        "mean meant|meet met|pay paid|put put|quit quit|read read|ride rode|ring rang|rise rose|"
        "run ran|say said|see saw|seek sought|sell sold|send sent|set set|shake shook|shed shed|"
        "shine shone|shoot shot|show showed|shrink shrank|shut shut|sing sang|sink sank|sit sat|"
        "sleep slept|slide slid|speak spoke|spend spent|spin spun|split split|spread spread|"
        "spring sprang|stand stood|steal stole|stick stuck|sting stung|strike struck|swear "
        "swore|"
        "sweep swept|swell swelled|swim swam|swing swung|take took|teach taught|tear tore|"
        "tell told|"
        "think thought|throw threw|understand understood|upset upset|wake woke|wear wore|"
        "weave wove|weep wept|win won|wind wound|withdraw withdrew|write wrote|spit spat|"
        "tread trod|thrust thrust|overcome overcame|undergo underwent|undertake undertook"
    ).split("|")
)
_DOUBLED = frozenset(
    "refer prefer occur admit commit permit submit omit transfer control compel expel "
    "regret equip "
    "deter incur confer defer infer rebel propel patrol excel commit".split()
)
_PLURAL_ODD = re.compile(r"(?:man|f|fe|foot|tooth|mouse|goose|s|is|us|um|on|child|person|o)$")
MASS = frozenset(
    "food equipment furniture clothing information knowledge money work music matter "
    "material power "
    "property evidence advice water air activity artifact location unit content wealth".split()
)


def article(text: str) -> str:
    """Return *a* or *an*, as the text needs."""
    return "an" if re.match(r"(?!one\b|eu)[aeio]|hour|hono|u(?!ni|s[aeu]|ti)", text) else "a"


def counted(text: str) -> bool:
    """Return whether a noun, or one with a word before it, has a plain plural."""
    words = text.split()
    return len(words) <= 2 and not _PLURAL_ODD.search(words[-1]) and words[-1] not in MASS


def past(word: str) -> str:
    """Return the past of a verb, *walked* or *went*."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word.endswith("e"):
        return word + "d"
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ied"
    if word in _DOUBLED or re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", word):
        return word + word[-1] + "ed"
    return word + "ed"


def third(word: str) -> str:
    """Return a verb as *he* has it, *walks* or *goes*."""
    if word in ("have", "be"):
        return {"have": "has", "be": "is"}[word]
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(?:s|x|z|ch|sh|o)$", word) else "s")
