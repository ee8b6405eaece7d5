"""Which language a text is in, by a small kept library that works offline; an optional extra."""

from __future__ import annotations

import unicodedata

from closecall.audit.texts import Detector

NOT_MEASURED = "languages not measured, only scripts: pip install 'closecall[audit]'"

SURE = 0.9
"""Least probability, by the library's own reckoning, for a language to be named."""

FEWEST_LETTERS = 40
"""Letters from which on a language is named; names and short answers read like any language."""

FEWEST_SIGNS = 12
"""The same for scripts of syllables and words, such as Han, kana and Hangul."""

_READ = 2000
"""Characters looked at: more do not change the answer."""

_DENSE = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")


def language_detector() -> Detector | None:
    """Return what names the language of a text (ISO 639-1); None where the extra is missing.

    By py3langid (BSD-3-Clause), naive Bayes over byte n-grams, its model in its wheel. It is a
    guess: related languages are mixed up, and a text of two languages gets one of them.
    """
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    if not hasattr(LanguageIdentifier, "from_model_file"):
        return None  # older versions open a pickle
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def detect(text: str) -> str | None:
        read = text[:_READ]
        if not long_enough(read):
            return None
        language, probability = identifier.classify(read)
        return str(language) if probability >= SURE else None

    return detect


def long_enough(text: str) -> bool:
    """Return whether a text has letters enough to name its language."""
    letters = [char for char in text if char.isalpha()]
    if len(letters) >= FEWEST_LETTERS:
        return True
    dense = sum(unicodedata.name(char, "").startswith(_DENSE) for char in letters)
    return dense >= FEWEST_SIGNS
