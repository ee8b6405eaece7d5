"""Forms of words: of verbs, nouns and adjectives, and the article of a noun."""

from __future__ import annotations

import re
from functools import lru_cache

_IRREGULAR = {line.split()[0]: line.split()[1:] for line in (
    "be was been|bear bore borne|beat beat beaten|become became become|begin began begun|"
    "bend bent bent|bet bet bet|bind bound bound|bite bit bitten|bleed bled bled|"
    "blow blew blown|break broke broken|breed bred bred|bring brought brought|"
    "build built built|burst burst burst|buy bought bought|cast cast cast|"
    "catch caught caught|choose chose chosen|cling clung clung|come came come|cost cost cost|"
    "creep crept crept|cut cut cut|deal dealt dealt|dig dug dug|do did done|draw drew drawn|"
    "drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed fed|"
    "feel felt felt|fight fought fought|find found found|flee fled fled|fling flung flung|"
    "fly flew flown|forbid forbade forbidden|forget forgot forgotten|"
    "forgive forgave forgiven|freeze froze frozen|get got got|give gave given|go went gone|"
    "grind ground ground|grow grew grown|hang hung hung|have had had|hear heard heard|"
    "hide hid hidden|hit hit hit|hold held held|hurt hurt hurt|keep kept kept|"
    "know knew known|lay laid laid|lead led led|leave left left|lend lent lent|let let let|"
    "lie lay lain|lose lost lost|make made made|mean meant meant|meet met met|"
    "overcome overcame overcome|pay paid paid|put put put|quit quit quit|read read read|"
    "ride rode ridden|ring rang rung|rise rose risen|run ran run|say said said|see saw seen|"
    "seek sought sought|sell sold sold|send sent sent|set set set|shake shook shaken|"
    "shed shed shed|shine shone shone|shoot shot shot|show showed shown|shrink shrank shrunk|"
    "shut shut shut|sing sang sung|sink sank sunk|sit sat sat|sleep slept slept|"
    "slide slid slid|speak spoke spoken|spend spent spent|spin spun spun|spit spat spat|"
    "split split split|spread spread spread|spring sprang sprung|stand stood stood|"
    "steal stole stolen|stick stuck stuck|sting stung stung|strike struck struck|"
    "swear swore sworn|sweep swept swept|swell swelled swollen|swim swam swum|"
    "swing swung swung|take took taken|teach taught taught|tear tore torn|tell told told|"
    "think thought thought|throw threw thrown|thrust thrust thrust|tread trod trodden|"
    "undergo underwent undergone|understand understood understood|"
    "undertake undertook undertaken|upset upset upset|wake woke woken|wear wore worn|"
    "weave wove woven|weep wept wept|win won won|wind wound wound|"
    "withdraw withdrew withdrawn|write wrote written"
).split("|")}  # fmt: skip
"""Past and participle of verbs that do not take *-ed*."""
_PASTS = {form: base for base, forms in _IRREGULAR.items() for form in forms if form != base}
_MANY = {"man": "men", "woman": "women", "child": "children", "wife": "wives", "life": "lives",
         "person": "people", "foot": "feet", "tooth": "teeth", "knife": "knives"}  # fmt: skip
_DOUBLED = frozenset(
    "refer prefer occur admit commit permit submit omit transfer control compel expel regret "
    "equip deter incur confer defer infer rebel propel patrol excel begin".split()
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


@lru_cache(maxsize=100_000)
def inflected(base: str, tag: str) -> str | None:  # noqa: PLR0911
    """Return a form of a word: s, many, ed, en, ing, er, est or the base; None when unsure."""
    if not tag:
        return base
    if tag in ("ed", "en") and base in _IRREGULAR:
        return _IRREGULAR[base][tag == "en"]
    if tag == "many" and (base in _MANY or base.endswith(("f", "fe", "o", "s", "ics"))):
        return _MANY.get(base)
    soft = len(base) > 2 and base[-1] == "y" and base[-2] not in "aeiou"
    if tag in ("s", "many"):
        if soft:
            return base[:-1] + "ies"
        return base + ("es" if base.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
    ending = "ed" if tag == "en" else tag
    short = re.fullmatch(r"[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]", base)
    if base in _DOUBLED or short:
        return base + base[-1] + ending
    if tag == "ing":
        return base[:-1] + "ing" if re.search(r"[^eoy]e$", base) else base + "ing"
    if soft:
        return base[:-1] + "i" + ending
    if tag in ("er", "est") and len(base) > 6:
        return None
    return base + ending[1:] if base.endswith("e") else base + ending


def present_of(word: str) -> str:
    """Return what an irregular past form is a form of, else the word."""
    return _PASTS.get(word, word)


def past(word: str) -> str:
    """Return the past of a verb, *walked* or *went*."""
    return inflected(word, "ed") or word


def third(word: str) -> str:
    """Return a verb as *he* has it, *walks* or *goes*."""
    return {"have": "has", "be": "is"}.get(word) or inflected(word, "s") or word
