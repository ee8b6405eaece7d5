"""What others say in the reason of a result: exceptions, servers, models and metrics of one's own.

What closecall says of a case are sentences of its own with the texts in quotation marks. What it
passes on may quote a text without any, so a folder without content keeps of that only which kind
of exception it was and the server's status.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from closecall.metrics.registry import BUILT_IN
from closecall.records import Case

HIDDEN = '"..."'

_OPENERS = re.compile(
    r"(?:failed|gave no reply|cannot be used|gave no answer|was not embedded)(?:: | \()"
)
"""After these words of ours another is quoted as it spoke."""
_KIND = re.compile(r"(?:[\w.@/+ -]+ \([\w.@/+ -]+\): )?(?:[A-Z]\w*(?:: |$)|HTTP \d{3}\b)")
"""An embedder's name, and the name of an exception or a status; what follows is not ours."""
_WORD = re.compile(r"[^\W_]+")
_SHORT = 3


def words_of(cases: Iterable[Case]) -> frozenset[str]:
    """Return the words of the texts of a case, as each of its runs has them."""
    return frozenset(
        word.casefold()
        for case in cases
        for text in (case.input, case.response, case.group, *case.references, *case.context)
        for word in _WORD.findall(text or "")
        if len(word) >= _SHORT
    )


def without_foreign(reason: str, metric: str, cases: Sequence[Case]) -> str:
    """Return a reason without what was said by others and may quote a text.

    Parameters
    ----------
    reason
        Its quotations are taken out already.
    metric
        One that is not closecall's own may say anything.
    cases
        The case as each of its runs has it; a saying with a word of it is left out whole.
    """
    begins = _OPENERS.search(reason)
    if begins is not None:
        head, said = reason[: begins.end()], reason[begins.end() :]
        kind = _KIND.match(said)
        if kind is not None:
            rest = said[kind.end() :]
            told = said[: kind.end()].removesuffix(": ")
            return f"{head}{told}: {HIDDEN}" if rest.strip() else f"{head}{told}"
        return f"{head}{HIDDEN}" if _tells(said, cases) else reason
    own = metric.partition(":")[0] in BUILT_IN
    return reason if own or not _tells(reason, cases) else HIDDEN


def _tells(said: str, cases: Sequence[Case]) -> bool:
    words = words_of(cases)
    return any(word.casefold() in words for word in _WORD.findall(said))
