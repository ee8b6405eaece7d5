"""How refusals in English usually begin; for systems whose own words for it are not known.

Made to miss a refusal rather than to take an answer for one: the words must stand at the start,
and a turn after them (*however*, *but it is*) means that an answer follows.
"""

from __future__ import annotations

import re

from closecall.instrument import canonical_text

LOOKED_AT = 2_000
"""Characters of a response that are looked at: a refusal is short."""

_OPENING = r"""
    (?:(?:oh|well|hmm)\b[,.!]?\s*)?
    (?:(?:(?:i\ am|i'm|we\ are|we're)\ )?(?:(?:very|so|really)\ )?(?:sorry|afraid)\b[,.!:]?\s*
        | unfortunately\b,?\s*
        | (?:i|we|my)\ apologi[sz]e?s?\b[,.!:]?\s*
        | as\ an?\ (?:ai|artificial\ intelligence|large)\b[^,.]{0,40},\s*
        | (?:based|going)\ (?:only\ |solely\ )?(?:up)?on\ the\b[^,.]{0,60},\s*
        | (?:according\ to|from|in)\ the\b[^,.]{0,60},\s*
    ){0,3}
    (?:but\ |that\ |and\ )?
"""
_NOT = (
    r"(?:do\ not|don't|did\ not|didn't|cannot|can't|can\ not|could\ not|couldn't|will\ not|won't)"
)
_UNABLE = r"(?:am|'m|are|'re)\ (?:not\ able|unable|not\ allowed|not\ permitted)\ to"
_SOURCE = (
    r"(?:the|this|that|your|my|any|no)\s(?:(?:given|provided|retrieved|above|available)\s)?"
    r"(?:contexts?|passages?|documents?|texts?|articles?|sources?|information|materials?|excerpts?)"
    r"(?:\s(?:provided|given|above|available))?"
)
_TELL = (
    r"(?:answer|assist|help|provide|give|tell|determine|find|identify|confirm|comment|discuss|"
    r"share|disclose|comply|fulfil|do\ (?:that|this)|say|verify|access|locate|recommend|support|"
    r"engage|generate|create|produce|write|offer|advise|respond)"
)
_HOLDS = (
    r"(?:mention|provide|contain|specify|say|state|include|give|answer|tell|discuss|indicate|"
    r"address|cover)"
)

_CUE = re.compile(
    rf"""
    {_OPENING}
    (?:
        (?:i|we)\ (?:really\ |simply\ |just\ )?{_NOT}\ (?:\w+ly\ )?(?:be\ able\ to\ )?
            (?:{_TELL}|know|have\ (?:\w+\ ){{0,3}}(?:information|knowledge|data|details?|access|
            answer|idea|context|evidence))\b
        | (?:i|we)\ ?{_UNABLE}\ {_TELL}\b
        | (?:i|we)\ (?:have\ no|lack|lack\ the)\ (?:\w+\ ){{0,2}}
            (?:information|knowledge|data|details?|idea|comment|access|answer|context)\b
        | (?:i\ am|i'm|we\ are|we're)\ not\ (?:sure|certain|aware|familiar)\b
        | (?:there\ (?:is|was|are)\ )?(?:no|not\ enough|insufficient)\ (?:\w+\ ){{0,2}}
            (?:information|context|data|comment|details?|evidence)\b
        | {_SOURCE}\ (?:do|does|did)(?:\ not|n't)\ (?:\w+ly\ )?{_HOLDS}\b
        | (?:it|this|that|the\ answer)\ (?:is|was)(?:\ not|n't)\ (?:\w+ly\ )?
            (?:mentioned|stated|specified|provided|known|given|available|clear|in\ the)\b
        | not\ (?:mentioned|stated|specified|provided|given|available)\b
        | (?:unknown|unanswerable|no\ answer|not\ known|n/a)\s*[.!]*\s*$
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TURN = re.compile(
    r"\b(?:however|nevertheless|nonetheless|that said|that being said|having said that"
    r"|but (?:i|we) (?:can|could|know|will|would|do|did|believe|think)\b(?!'t| not)"
    r"|but (?!(?:i|we|that|this|not|it's not|no)\b))",
    re.IGNORECASE,
)


def refusal_cue(response: str) -> str | None:
    """Return the words that make this look like a refusal, None where it does not.

    O(1): only the start is looked at.

    >>> refusal_cue("I'm sorry, but I can't answer that.")
    "I'm sorry, but I can't answer"
    >>> refusal_cue("I don't know the day; however, it was in May.") is None
    True
    """
    start = canonical_text(response[:LOOKED_AT]).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    start = " ".join(start.split())
    found = _CUE.match(start)
    if found is None or _TURN.search(start, found.end()):
        return None
    return found[0]
