"""How numbers and hostile texts are put into words."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from closecall.instrument import Instrument

BLIND = (
    "Similarity of embeddings sees topic and wording; it is nearly blind to a changed number, a "
    "negation or a swapped name."
)
"""What a report says of the evidence it shows, where that is a similarity or words in common."""

BLIND_PAIR = (
    "A pair model reads both texts together and is blind to whatever it was not trained to tell "
    "apart; labels of your own show what that is."
)
BLIND_JUDGE = (
    "A fitted judge has learnt from answers like those it was fitted to, and may misjudge those "
    "of another system or another length."
)


BLIND_MARK = (
    "A chat model's mark is an opinion: ask how often it agrees with people, on labels of yours."
)


def blind(metrics: Iterable[str]) -> str:
    """Return what the evidence of these metrics, by name, is blind to."""
    said = {
        BLIND_MARK if name.startswith("llm_") else _BLIND.get(name.partition(":")[0], BLIND): None
        for name in metrics
    }
    return " ".join(said) or BLIND


_BLIND = {
    "answer_support": BLIND_PAIR,
    "context_support": BLIND_PAIR,
    "cross_encoder": BLIND_PAIR,
    "fitted_judge": BLIND_JUDGE,
}

_SPACE = re.compile(r"\s+")


def embedder_words(instrument: Instrument) -> str:
    """Return what embedded the texts of a run, in a few words."""
    from closecall.embedders.absent import is_absent

    if is_absent(instrument):
        return "nothing embedded"
    return f"{instrument.model} ({instrument.provider})"


def embedder_facts(instrument: Instrument) -> dict[str, str | None]:
    """Return the same as JSON values, None where the run has no embedder."""
    from closecall.embedders.absent import is_absent

    absent = is_absent(instrument)
    return {
        "EmbeddingModel": None if absent else instrument.model,
        "EmbeddingProvider": None if absent else instrument.provider,
    }


def rate(k: int, n: int) -> str:
    """Return ``k / n (p %)``, or ``0 / 0`` when there is nothing to divide by."""
    return f"{k:,} / {n:,} ({100 * k / n:.1f} %)" if n else f"{k} / {n}"


def number(value: float | None, digits: int = 2) -> str:
    """Return the number, or a dash when there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def visible(text: str) -> str:
    r"""Return the text with control, format and surrogate characters spelt out (``\x1b``).

    Case texts are untrusted: what a terminal would obey is shown instead. Line breaks and tabs
    stay.
    """
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return "".join(char if char.isprintable() or char in "\n\t" else _spelt(char) for char in text)


def _spelt(char: str) -> str:
    if unicodedata.category(char) == "Zs":
        return " "
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"  # noqa: PLR2004 - one byte


def visible_json(document: str) -> str:
    """Return a JSON document with what a terminal would obey as JSON escapes: the same values."""
    if document.isprintable():
        return document
    return "".join(
        char
        if char.isprintable() or char == "\n" or unicodedata.category(char) == "Zs"
        else json.dumps(char)[1:-1]
        for char in document
    )


def shorten(text: str, width: int) -> str:
    """Return the text on one line of at most ``width`` characters, cut between words."""
    # Only the head can be shown, so a huge text costs no more than a long one.
    line = _SPACE.sub(" ", visible(text[: 8 * width])).strip()
    if len(line) <= width and len(text) <= 8 * width:
        return line
    cut = line.rfind(" ", 0, width)
    return line[: cut if cut > width // 2 else width - 1].rstrip() + "…"


def narrow(out: IO[str]) -> bool:
    """Whether this stream's encoding lacks characters that a report may hold."""
    name = (getattr(out, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
    return name not in {"utf8", "utf8sig"}


def plural(count: int, noun: str) -> str:
    """Return ``1 case`` or ``2 cases``; of ``word or sign`` every word takes the s."""
    many = noun if count == 1 else " or ".join(f"{part}s" for part in noun.split(" or "))
    return f"{count:,} {many}"
