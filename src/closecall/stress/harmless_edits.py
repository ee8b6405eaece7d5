"""Edits that leave an answer as right as it was: case, punctuation, politeness, Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closecall.metrics.guards.words import Language
from closecall.stress.choice import Chooser
from closecall.stress.edits import Edit, whole

_FIRST: dict[str, tuple[str, ...]] = {
    "en": ("Sure! {}", "Of course. {}", "Certainly! {}", "Thank you for your question. {}"),
    "de": ("Gerne! {}", "Natürlich. {}", "Danke für Ihre Frage. {}"),
    "fr": ("Bien sûr ! {}", "Avec plaisir. {}", "Merci pour votre question. {}"),
    "es": ("¡Claro! {}", "Por supuesto. {}", "Gracias por su pregunta. {}"),
}
_LAST: dict[str, tuple[str, ...]] = {
    "en": ("{} I hope this helps.", "{} Let me know if you have more questions."),
    "de": ("{} Ich hoffe, das hilft Ihnen weiter.",),
    "fr": ("{} J'espère que cela vous aide.",),
    "es": ("{} Espero que le sirva.",),
}
_ENDS = ".!?\N{HORIZONTAL ELLIPSIS}\N{IDEOGRAPHIC FULL STOP}"
_QUOTES = "\"'\u201c\u201d\u201e\u00ab\u00bb"
_SHORT_CAPITALS = re.compile(r"(?<!\w)[A-Z]{2,3}(?!\w)")


def case_edits(text: str, language: Language | None, chooser: Chooser) -> Iterator[Edit]:
    """Yield the text in small letters, in capitals, or with the first letters capital.

    Capitals only without digits: *5 mg* and *5 MG* are two amounts. Small letters only without
    short words in capitals: *US* and *us* are two words.
    """
    del language
    forms = [] if _SHORT_CAPITALS.search(text) else [text.lower()]
    if not any(char.isdigit() for char in text):
        forms += [text.upper(), re.sub(r"(?<![\w'\u2019])\w", lambda m: m.group().upper(), text)]
    yield from _drawn(text, "case", forms, chooser)


def punctuation_edits(text: str, language: Language | None, chooser: Chooser) -> Iterator[Edit]:
    """Yield the text with a final dot more or less, in quotation marks, with blanks doubled."""
    del language
    bare = text.strip()
    forms = []
    if bare[-1:] == "." and not re.search(r"(?:\b\w|etc)\.$", bare):
        forms.append(bare[:-1])
    elif bare[-1:] not in _ENDS:
        forms.append(bare + ".")
    if not set(bare) & set(_QUOTES):
        forms += [f'"{bare}"', f"\u201c{bare}\u201d"]
    if " " in bare:
        forms.append(re.sub(" ", "  ", bare))
    if ", " in bare and not re.search(r"\d,", bare):
        forms.append(bare.replace(", ", " , "))
    yield from _drawn(text, "punctuation", forms, chooser)


def politeness_edits(text: str, language: Language | None, chooser: Chooser) -> Iterator[Edit]:
    """Yield the text with a polite sentence before or after it, in its language."""
    name = language or "en"
    bare = text.strip()
    ended = bare if bare[-1:] in _ENDS else bare + "."
    forms = [form.format(bare) for form in _FIRST.get(name, ())]
    forms += [form.format(ended) for form in _LAST.get(name, ())]
    yield from _drawn(text, "politeness", forms, chooser)


def markdown_edits(text: str, language: Language | None, chooser: Chooser) -> Iterator[Edit]:
    """Yield the text in bold type, as an item of a list, or with a line for each sentence."""
    del language
    bare = text.strip()
    forms = [f"- {bare}", f"> {bare}"] if "\n" not in bare else []
    if "*" not in bare and "\n" not in bare:
        forms.append(f"**{bare}**")
    lines = re.sub(r"(?<=[a-z)][.!?]) +(?=[A-Z])", "\n\n", bare)
    if lines != bare:
        forms.append(lines)
    yield from _drawn(text, "markdown", forms, chooser)


def _drawn(text: str, family: str, forms: list[str], chooser: Chooser) -> Iterator[Edit]:
    for form in chooser.mixed([form for form in dict.fromkeys(forms) if form != text]):
        yield whole(text, family, form)
