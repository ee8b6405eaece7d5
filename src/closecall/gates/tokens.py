"""The words of a rule, each with its place, and the error that points at one of them."""

from __future__ import annotations

import re
from typing import NamedTuple

from closecall.errors import UsageError

MAX_RULE = 1000
"""Characters of a rule; nobody writes a longer one by hand."""
SHOWN = 72
"""Characters of a rule that an error shows around the place."""

_LEAD = "  "
_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)
    |(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?%?(?![\w.]))
    |(?P<name>[^\W\d][\w.+/-]*(?::[\w.+/-]+(?:=(?!=)[\w.+/-]+)?)*)
    |(?P<text>"[^"]*"|'[^']*')
    |(?P<op><=|>=|==|!=|<|>|=)
    |(?P<bracket>[()])""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """One word: what kind it is, its text, and where it begins. The last one has kind ``end``."""

    kind: str
    text: str
    at: int


class RuleError(UsageError):
    """A rule that cannot be read; ``position`` is the character at fault, from 0 to its length."""

    def __init__(self, rule: str, position: int, message: str) -> None:
        self.rule, self.position = rule, position
        start = max(0, min(position - SHOWN // 2, len(rule) - SHOWN))
        shown = "".join(c if c.isprintable() else "\ufffd" for c in rule[start : start + SHOWN])
        caret = " " * (position - start)
        super().__init__(f"gate: {message}\n{_LEAD}{shown}\n{_LEAD}{caret}^")


def tokens(rule: str) -> list[Token]:
    """Return the words of a rule, the end last.

    Raises
    ------
    RuleError
        A character that no rule has, a text that does not end, or a rule that is too long.
    """
    if len(rule) > MAX_RULE:
        raise RuleError(rule, MAX_RULE, f"a rule has at most {MAX_RULE:,} characters")
    found, at = [], 0
    while at < len(rule):
        match = _TOKEN.match(rule, at)
        if match is None:
            raise RuleError(rule, at, _why_not(rule[at]))
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(Token(kind, match.group(), at))
        if kind == "text":
            bad = next((i for i, c in enumerate(match.group()) if not c.isprintable()), None)
            if bad is not None:
                raise RuleError(rule, at + bad, "a text in a rule has no control characters")
        at = match.end()
    return [*found, Token("end", "", len(rule))]


def _why_not(char: str) -> str:
    if char in "\"'":
        return f"the text that begins here has no closing {char}"
    if not char.isprintable():
        return "a rule is one line of printable characters"
    if char.isdecimal() or char in "+-.":
        return "no number: write 3.5, 0.9 or 90%"
    return f"{char!r} has no place in a rule; a name that needs it stands in quotation marks"
