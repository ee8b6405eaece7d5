"""What an import has to tell: how values were read, and what could not be taken over."""

from __future__ import annotations

from collections import Counter

from closecall.datasets._told import told
from closecall.datasets._values import Notes


class Tally:
    """Counts of one pass over a file.

    ``notes`` are those that every reader of cases keeps. ``said`` are sentences about the file,
    each once. ``counted`` are sentences with a number, which stands where ``{}`` is.
    """

    def __init__(self) -> None:
        self.notes = Notes()
        self.said: dict[str, None] = {}
        self.counted: Counter[tuple[str, str]] = Counter()
        self.listed: dict[str, Counter[str]] = {}

    def say(self, sentence: str) -> None:
        """Tell something about the whole file."""
        self.said[sentence] = None

    def count(self, one: str, many: str) -> None:
        """Count something, in a sentence for one and in another, with ``{}``, for more."""
        self.counted[one, many] += 1

    def list(self, what: str, kind: str) -> None:
        """Count one of a kind of something, to be told as ``what: 2 kind, 1 other``."""
        self.listed.setdefault(what, Counter())[kind] += 1

    def sentences(self) -> tuple[str, ...]:
        """Return all there is to tell, in a fixed order."""
        lists = (
            f"{what}: {', '.join(f'{n} {kind}' for kind, n in _by_count(kinds))}"
            for what, kinds in self.listed.items()
        )
        counts = (
            one if n == 1 else many.format(f"{n:,}") for (one, many), n in self.counted.items()
        )
        return (*self.said, *lists, *counts, *told(self.notes))


def _by_count(kinds: Counter[str]) -> list[tuple[str, int]]:
    return sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
