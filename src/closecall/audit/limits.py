"""Limits an audit is held against: how many of a kind there may be at most."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from closecall.audit.records import Audit
from closecall.errors import UsageError

NAMES = (
    "duplicates",
    "near_duplicates",
    "split_questions",
    "leaks",
    "shared_contexts",
    "contradictions",
    "blank_texts",
    "no_reference",
    "long_texts",
    "unknown_tokens",
    "cut_off",
    "languages",
    "one_label",
    "labels",
)
"""Every check there is, in the order of the report."""

_RULE = re.compile(r"\s*([a-z_]+)\s*(?:<=|=)\s*(\d{1,15})\s*", re.ASCII)


class Limit(msgspec.Struct, frozen=True):
    """At most so many of what a check counts, over all files."""

    check: str
    most: int


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A limit and what came of it; ``passed`` is None where nothing was measured."""

    check: str
    most: int
    count: int | None
    passed: bool | None
    reason: str


def parse_limits(rules: Sequence[str]) -> tuple[Limit, ...]:
    """Read limits such as ``duplicates <= 0``, several of them with commas.

    >>> parse_limits(["duplicates <= 0, leaks <= 3"])
    (Limit(check='duplicates', most=0), Limit(check='leaks', most=3))

    Raises
    ------
    UsageError
        A rule is not one, there is no such check, or one is limited twice.
    """
    found: list[Limit] = []
    for part in (part for rule in rules for part in rule.split(",")):
        match = _RULE.fullmatch(part)
        if match is None:
            raise UsageError(
                f"{part.strip()!r} is no limit: write 'NAME <= N', such as 'duplicates <= 0'; "
                f"NAME is one of {', '.join(NAMES)}"
            )
        name, most = match[1], int(match[2])
        if name not in NAMES:
            raise UsageError(f"there is no check {name!r}; checks: {', '.join(NAMES)}")
        if any(limit.check == name for limit in found):
            raise UsageError(f"{name} is limited twice")
        found.append(Limit(name, most))
    return tuple(found)


def hold(audit: Audit, limits: Sequence[Limit]) -> tuple[Held, ...]:
    """Return what became of each limit.

    A check that was measured in one file and not in the other fails if the one is above the
    limit, else it cannot be told.
    """
    return tuple(_held(audit, limit) for limit in limits)


def _held(audit: Audit, limit: Limit) -> Held:
    own = [check for check in audit.checks if check.name == limit.check]
    counts = [check.count for check in own if check.count is not None]
    reasons = [f"{check.file}: {check.missing}" for check in own if check.count is None]
    if not own:
        reasons = ["it takes two files: closecall audit FILE FILE2"]
    total = sum(counts)
    if total > limit.most:
        passed: bool | None = False
        reason = f"{total:,} found, {limit.most:,} allowed"
    elif reasons:
        passed, reason = None, f"not measured: {'; '.join(reasons)}"
    else:
        passed, reason = True, f"{total:,} found, {limit.most:,} allowed"
    return Held(
        check=limit.check,
        most=limit.most,
        count=total if counts else None,
        passed=passed,
        reason=reason,
    )


def exit_code(held: Sequence[Held]) -> int:
    """Return 1 where a limit is exceeded, 11 where one was not measured, else 0."""
    if any(one.passed is False for one in held):
        return 1
    return 11 if any(one.passed is None for one in held) else 0
