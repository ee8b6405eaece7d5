"""Whether a file's labels are enough and even enough for a calibration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from closecall.audit.looking import Looking
from closecall.audit.records import Check, Finding, Severity
from closecall.calibration.figures import at_most
from closecall.calibration.goals import DEFAULT_MAX_FAR
from closecall.calibration.labels.label_stock import Stock, take_stock
from closecall.calibration.labels.planning import PromisePlan, plan
from closecall.calibration.refusals import FEWEST
from closecall.errors import DataError
from closecall.records import Case

LABELS = "labels"

UNEVEN = 0.1
"""Share of the rarer label below which the balance is worth a word."""

LARGE = 0.1
"""Share of all labelled cases in one group from which on that group is worth a word."""


def labels(
    look: Looking, file: int, cases: Iterable[Case], group: str | None
) -> tuple[Check, list[Finding]]:
    """Count the labels as a calibration would, and say what they can back.

    ``cases`` is gone through twice.
    """
    name = look.rows.names[file]
    check = (LABELS, name)
    labelled = [n for n in look.rows.of(file) if look.rows.rows[n].label is not None]
    title, counted = "Labels, as a calibration counts them", "things to mend"
    if not labelled:
        return (
            Check(
                name=LABELS,
                file=name,
                title=title,
                count=None,
                counted=counted,
                missing="no case has a label",
            ),
            [],
        )
    try:
        stock, _ = take_stock(cases, group)
    except DataError as error:
        finding = look.finding(
            check, Severity.ERROR, (), str(error), "correct the columns that describe the labels"
        )
        found = Check(name=LABELS, file=name, title=title, count=1, counted=counted, findings=1)
        return found, [finding]
    backed = plan(max_far=DEFAULT_MAX_FAR, have=stock.have).promises[0]
    findings = list(_findings(look, check, labelled, stock, backed))
    return (
        Check(
            name=LABELS,
            file=name,
            title=title,
            count=len(findings),
            counted=counted,
            of=None,
            findings=len(findings),
            by={
                "accepts": stock.have.accepts,
                "rejects": stock.have.rejects,
                "groups with rejects": stock.have.units("false_accepts"),
                "groups with accepts": stock.have.units("false_rejects"),
                "picked by score": stock.active,
                "contradicting items": stock.conflicts,
                "made up by closecall stress": stock.facts.made_up,
                "largest group": _largest(look, labelled)[1],
            },
            notes=(_backed_words(backed),),
        ),
        findings,
    )


def _backed_words(found: PromisePlan) -> str:
    limit = f"{100 * found.limit:g} %"
    unit = "rejects" if found.per == "row" else "groups with a reject"
    if found.more:
        # Rounded up: a limit rounded down would be refused.
        share = "" if found.best_limit is None else at_most(found.best_limit).removesuffix("%")
        best = share and f"; {share} % is in reach"
        lacks = f"lacks {found.more:,} labelled {unit}"
        return f"a promise of at most {limit} false accepts {lacks}{best}"
    return (
        f"{found.have:,} labelled {unit} can back a promise of at most {limit} false accepts, "
        f"with at most {found.allowed:,} of them let through"
    )


def _findings(
    look: Looking,
    check: tuple[str, str],
    labelled: list[int],
    stock: Stock,
    backed: PromisePlan,
) -> Iterator[Finding]:
    accepts, rejects = stock.have.accepts, stock.have.rejects
    fewer, rarer = min((accepts, "accept"), (rejects, "reject"))
    total = accepts + rejects
    if fewer < FEWEST:
        yield look.finding(
            check,
            Severity.ERROR,
            (),
            f"{fewer} items labelled {rarer} that a promise may rest on; a cutoff takes {FEWEST}",
            "label more: closecall plan says how many and which",
        )
    elif backed.more:
        yield look.finding(
            check,
            Severity.WARNING,
            (),
            _backed_words(backed),
            "label more: closecall plan says how many and which",
        )
    if total and fewer >= FEWEST and fewer < UNEVEN * total:
        yield look.finding(
            check,
            Severity.INFO,
            (),
            f"{fewer:,} of {total:,} labels say {rarer} ({100 * fewer / total:.1f} %)",
            f"label answers of weaker or stronger systems too; errors on {rarer}s rest on few",
        )
    numbers, size = _largest(look, labelled)
    if size > LARGE * len(labelled) and len(labelled) >= FEWEST and stock.groups > 1:
        yield look.finding(
            check,
            Severity.WARNING,
            numbers,
            f"{size:,} of {len(labelled):,} labelled cases are one group",
            "a promise by groups counts them as one; see whether that is what is exchangeable",
            field="group",
        )
    if stock.facts.made_up:
        yield look.finding(
            check,
            Severity.WARNING,
            (),
            f"{stock.facts.made_up:,} labels are of answers that closecall stress made",
            "leave them out of a calibration: no assistant gave them",
        )


def _largest(look: Looking, labelled: list[int]) -> tuple[list[int], int]:
    groups: dict[str, list[int]] = {}
    for number in labelled:
        groups.setdefault(look.rows.rows[number].group, []).append(number)
    largest = max(groups.values(), key=len, default=[])
    return largest, len(largest)
