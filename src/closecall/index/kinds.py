"""The kinds of index by name, with their options as people type them: ``hnsw:m=32:ef=128``."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec

from closecall.errors import UsageError

AUTO, EXACT = "auto", "exact"

TUNED = {"hnsw": "ef", "ivf": "nprobe", "ivfpq": "nprobe"}
"""The option that trades time of a search for recall, by kind."""

LEAST_A_LIST = 32
"""Rows there are for each list, at least: k-means wants some rows a centre."""


class Option(NamedTuple):
    """One option: its default (0: chosen from the rows), and the least and most it may be.

    ``least`` is that of a value that was chosen; 0 may be typed where it stands for the choice.
    """

    default: int
    most: int
    meaning: str
    least: int = 1


class _Facts(NamedTuple):
    what: str
    options: dict[str, Option]
    least_rows: int
    """Fewer rows cannot be trained on, and are searched exactly."""
    exact: bool = False


_LISTS = {
    "nlist": Option(0, 1 << 20, "lists the rows are divided into; 0: twice the root of n"),
    "nprobe": Option(
        0,
        1 << 20,
        "lists looked through in a search; 0: a sixteenth, at least 8, doubled until the recall "
        "asked for is reached",
    ),
}
_REFINE = "candidates scored exactly, times k"

KINDS: dict[str, _Facts] = {
    "exact": _Facts("every row, in numpy, from the file of vectors", {}, 0, exact=True),
    "flat": _Facts("every row, in faiss, from a copy in memory", {}, 1, exact=True),
    "hnsw": _Facts(
        "a graph of near rows (Malkov and Yashunin, 2018)",
        {
            # A row with one link is on no level: faiss then writes where it has no memory.
            "m": Option(32, 512, "links of a row", 2),
            "ef_construction": Option(80, 4096, "rows held open while linking a row"),
            "ef": Option(128, 1 << 16, "rows held open in a search, at least 2 (k + 8)"),
        },
        1,
    ),
    "ivf": _Facts("lists of rows around centres found by k-means", dict(_LISTS), 64),
    "ivfpq": _Facts(
        "lists around centres, rows kept as product codes (Jegou et al., 2011)",
        {
            **_LISTS,
            "m": Option(0, 4096, "bytes a row, a divisor of the width; 0: about an eighth of it"),
            "refine": Option(16, 1024, _REFINE),
        },
        256,
    ),
    "sq8": _Facts(
        "every row, each number kept in 8 bits", {"refine": Option(4, 1024, _REFINE)}, 1
    ),
    "sqfp16": _Facts(
        "every row, each number kept in 16 bits", {"refine": Option(2, 1024, _REFINE)}, 1
    ),
}


class Kind(msgspec.Struct, frozen=True):
    """A kind with every option it has; 0 where an option is still to be chosen from the rows."""

    name: str
    options: dict[str, int] = {}

    @property
    def is_exact(self) -> bool:
        """Whether a search always finds the nearest."""
        return KINDS[self.name].exact

    @property
    def least_rows(self) -> int:
        """Fewer rows than this are searched exactly, whatever the kind."""
        return KINDS[self.name].least_rows

    @property
    def spelled(self) -> str:
        """The name with the options that are not the defaults."""
        known = KINDS[self.name].options
        changed = {k: v for k, v in self.options.items() if v != known[k].default}
        return self.name + "".join(f":{option}={value}" for option, value in changed.items())

    @property
    def is_probed_as_needed(self) -> bool:
        """Whether ``nprobe`` is left to be chosen: as many lists as the recall takes."""
        return self.options.get("nprobe") == 0

    def having(self, **options: int) -> Kind:
        """Return the kind with other values of some options."""
        return Kind(self.name, {**self.options, **options})

    def resolved(self, rows: int, width: int) -> Kind:
        """Return the kind with every option chosen, for so many rows of this width.

        Raises
        ------
        UsageError
            The width cannot be cut into so many codes.
        """
        chosen = dict(self.options)
        if "nlist" in chosen:
            wanted = chosen["nlist"] or round(2 * math.sqrt(rows))
            # Fewer lists than asked never lose recall.
            chosen["nlist"] = max(1, min(wanted, rows // LEAST_A_LIST))
            probes = chosen["nprobe"] or max(8, chosen["nlist"] // 16)
            chosen["nprobe"] = min(probes, chosen["nlist"])
        if self.name == "ivfpq":
            codes = chosen["m"] or _divisor(width)
            if width % codes:
                raise UsageError(
                    f"ivfpq: m must divide the width {width} without a rest, got {codes}; "
                    f"choose m={_divisor(width)}"
                )
            chosen["m"] = codes
        return Kind(self.name, chosen)


def kind_named(spec: str) -> Kind:
    """Return the kind a name with its options stands for.

    >>> kind_named("hnsw:ef=64").spelled
    'hnsw:ef=64'

    Raises
    ------
    UsageError
        No such kind or option, or a value out of range; the message lists what there is.
    """
    name, *given = spec.split(":")
    if name not in KINDS:
        raise UsageError(f"index kind {spec!r}: choose one of {AUTO}, {', '.join(KINDS)}")
    known = KINDS[name].options
    options = {option: facts.default for option, facts in known.items()}
    typed: set[str] = set()
    for pair in given:
        option, sign, value = pair.partition("=")
        if not sign or option not in known:
            allowed = ", ".join(known) or "none"
            raise UsageError(f"{spec}: no option {pair!r}; {name} has {allowed}")
        if option in typed:
            raise UsageError(f"{spec}: the option {option} is given twice")
        typed.add(option)
        options[option] = _number(spec, option, value, known[option])
    return Kind(name, options)


def bytes_of(kind: Kind, rows: int, width: int) -> int:
    """Return about how much memory a search of this kind keeps, in bytes, beyond the file."""
    each = {
        "exact": 0,
        "flat": 4 * width,
        "hnsw": 4 * width + 8 * kind.options.get("m", 0) + 24,
        "ivf": 4 * width + 8,
        "ivfpq": kind.options.get("m", 0) + 8,
        "sq8": width,
        "sqfp16": 2 * width,
    }[kind.name]
    return rows * each + 4 * width * kind.options.get("nlist", 0)


def _number(spec: str, option: str, text: str, facts: Option) -> int:
    low = 0 if facts.default == 0 else facts.least
    number = int(text[:9]) if text.isascii() and text.isdigit() else -1
    if not low <= number <= facts.most:
        raise UsageError(
            f"{spec}: {option} must be a whole number from {low} to {facts.most}, got {text!r}"
        )
    return number


def _divisor(width: int) -> int:
    most = max(1, width // 8)
    return next(number for number in range(most, 0, -1) if width % number == 0)
