"""``guards``: the guards as a metric, beside any similarity.

It needs no model. A guard that differs is a reason to look at a response again, no proof that it
is wrong: of answers that people accepted, about one in a hundred differs from its references in
some number or name all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from closecall.embedders.base import TextKey, VectorLookup
from closecall.errors import UsageError
from closecall.metrics.base import MetricSpec
from closecall.metrics.cutoffs import PERCENT, UNIT, checked_cutoff
from closecall.metrics.guards.antonyms import Antonyms
from closecall.metrics.guards.base import Guard, Verdict, against_any
from closecall.metrics.guards.names import Names
from closecall.metrics.guards.negation import Negation
from closecall.metrics.guards.numbers import Numbers
from closecall.metrics.guards.quantifiers import Quantifiers
from closecall.metrics.sides import reference_side, response_side
from closecall.records import JSON, Case, Measured, Measurement, State, Unmeasured

GUARDS: dict[str, Guard] = {
    guard.name: guard for guard in (Numbers(), Negation(), Names(), Quantifiers(), Antonyms())
}
"""Every guard by its name, in the order they are reported."""

_JOINED = "+"


class Guards:
    """``guards``: does nothing in the response contradict the reference? 1 or 0.

    1 where no guard differs, 0 where at least one does. Each guard's finding stands in the
    details, with where in the texts it looked. A case in which no guard found anything to compare
    is not applicable: saying 1 of it would be a pass that nothing was looked at for.

    Parameters
    ----------
    which
        Names of guards, joined with ``+`` or commas, or as a list. Default: all.
    cutoff
        Default 0.5: a case with a guard that differs fails.
    """

    NAME = "guards"
    VERSION = "1"
    DEFAULTS: ClassVar[dict[str, JSON]] = {"which": _JOINED.join(GUARDS)}
    DEFAULT_CUTOFF = 0.5

    def __init__(self, cutoff: float | None = None, *, which: str | Iterable[str] = "") -> None:
        self.guards = _chosen(which)
        self.cutoff: float | None = checked_cutoff(
            self.NAME, self.DEFAULT_CUTOFF if cutoff is None else cutoff, 0.0, UNIT
        )
        names = _JOINED.join(guard.name for guard in self.guards)
        changed = names != self.DEFAULTS["which"]
        self.spec = MetricSpec(
            id=f"{self.NAME}:which={names}" if changed else self.NAME,
            name=self.NAME,
            version=self.VERSION,
            needs=("references", "response"),
            guarded=False,
            default_cutoff=self.DEFAULT_CUTOFF,
            low=0.0,
            high=UNIT,
            description="1 where no guard finds the response to contradict the references, or 0: "
            + ", ".join(guard.name for guard in self.guards)
            + ".",
            options={"which": names},
            exact=True,
            embeds=False,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.id!r}, cutoff={self.cutoff})"

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return no text, since nothing is embedded; or why nothing can be measured."""
        for side in (reference_side(case), response_side(case)):
            if isinstance(side, Unmeasured):
                return side
        return ()

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:  # noqa: ARG002 - needs none
        """Measure one case; about 0.5 ms a guard and reference of a few sentences."""
        references, response = reference_side(case), response_side(case)
        if isinstance(references, Unmeasured):
            return references
        if isinstance(response, Unmeasured):
            return response
        said = response.texts[0]
        found = [against_any(guard, references.texts, said, case.input) for guard in self.guards]
        compared = [v for v in found if v.finding.state != "absent"]
        if not compared:
            names = ", ".join(guard.name for guard in self.guards)
            return Unmeasured(f"nothing to compare for: {names}", State.NOT_APPLICABLE)
        differ = [v.finding.guard for v in found if v.finding.state == "differ"]
        value = 0.0 if differ else 1.0
        details: dict[str, JSON] = {
            "differ": list(differ),
            "guards": len(found),
            "compared": len(compared),
            "findings": {v.finding.guard: shown(v, references.written) for v in found},
        }
        return Measured(similarity=value, value=value, score=value * PERCENT, details=details)


def shown(verdict: Verdict, written: tuple[int, ...]) -> dict[str, JSON]:
    """Return a finding as details; the reference is numbered as the case has it."""
    finding = verdict.finding
    return {
        "state": finding.state,
        "words": finding.words,
        "reference": written[verdict.reference],
        "spansReference": [list(span) for span in finding.spans_reference],
        "spansResponse": [list(span) for span in finding.spans_response],
    }


def _chosen(which: str | Iterable[str]) -> tuple[Guard, ...]:
    """Return the guards of these names, in the order they are reported."""
    names = which.replace(",", _JOINED).split(_JOINED) if isinstance(which, str) else list(which)
    wanted = [name.strip().lower() for name in names if name.strip()]
    unknown = [name for name in wanted if name not in GUARDS]
    if unknown:
        raise UsageError(
            f"guards: there is no guard {unknown[0]!r}; which takes some of {', '.join(GUARDS)}, "
            f"joined with {_JOINED}, as in guards:which=numbers{_JOINED}negation"
        )
    return tuple(guard for name, guard in GUARDS.items() if not wanted or name in wanted)
