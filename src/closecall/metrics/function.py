"""A function of your own as a metric: ``(case) -> bool | float | Measurement``."""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable
from typing import Any, TypeAlias

from closecall.embedders.base import TextKey, VectorLookup
from closecall.metrics.base import DECIMALS, MetricSpec
from closecall.metrics.cutoffs import UNIT, checked_cutoff
from closecall.records import Case, Measured, Measurement, Unmeasured

Evaluator: TypeAlias = "Callable[[Case], bool | float | Measurement]"

_UNKNOWN = "source unknown"
PASS = 0.5


class FunctionMetric:
    """Measures what a function says of a case; higher is better, and nothing is embedded.

    True is 1 and False 0, with a cutoff of 0.5; a number is a score without a cutoff, unless one
    is given; a ``Measured`` or ``Unmeasured`` stands as it is. Whatever else it returns, NaN
    included, and whatever it raises, is an error of that case alone. So is a bool where nothing
    said before the run that False fails: no annotation and no cutoff. The version is a digest of
    the function's source, so that a changed function is another metric; of one whose source
    cannot be read, the name alone tells.

    Parameters
    ----------
    function
        Called once a case, in order.
    name
        What to call the metric; None: the function's own name.
    cutoff
        Pass from this value on; None: 0.5 for a function that is annotated to return bool, else
        no verdict.

    Raises
    ------
    UsageError
        The cutoff is no finite number.
    """

    def __init__(
        self, function: Evaluator, name: str | None = None, *, cutoff: float | None = None
    ) -> None:
        self._function = function
        called: str = name or getattr(function, "__name__", "") or type(function).__name__
        told = getattr(function, "__annotations__", {}).get("return")
        default = PASS if told in {bool, "bool"} else None
        self.cutoff = (
            default if cutoff is None else checked_cutoff(called, cutoff, -math.inf, math.inf)
        )
        self.spec = MetricSpec(
            id=called,
            name=called,
            version=f"1+{_digest(function)}",
            needs=(),
            default_cutoff=default,
            low=None,
            high=None,
            description=(inspect.getdoc(function) or "A function of yours.").partition("\n")[0],
            quantity=called.replace("_", " "),
            guarded=False,
            exact=default is not None,
            embeds=False,
        )

    def __repr__(self) -> str:
        return f"FunctionMetric({self.spec.id!r}, cutoff={self.cutoff})"

    def texts(self, case: Case) -> tuple[TextKey, ...]:  # noqa: ARG002 - asks for none
        """Return no text, since nothing is embedded."""
        return ()

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:  # noqa: ARG002 - same
        """Return what the function says of the case.

        Raises
        ------
        TypeError, ValueError
            It returned neither a bool, a finite number nor a measurement; the runner makes an
            error of the case out of it.
        """
        found: Any = self._function(case)
        if isinstance(found, Measured | Unmeasured):
            return found
        if isinstance(found, bool):
            if self.cutoff is None:
                raise TypeError(
                    f"{self.spec.id} returned a bool, and nothing says that False fails; annotate "
                    "the function with -> bool, or give it a cutoff of 0.5"
                )
            value = float(found)
            return Measured(similarity=value, value=value, score=100 * value)
        if isinstance(found, int | float):
            if not math.isfinite(found):
                raise ValueError(f"{self.spec.id} returned {found}, which is no score")
            value = round(float(found), DECIMALS)
            unit = 0 <= value <= UNIT
            return Measured(similarity=value, value=value, score=100 * value if unit else None)
        if inspect.iscoroutine(found):
            found.close()  # it would only be warned about, far from here
        raise TypeError(
            f"{self.spec.id} must return a bool, a number, Measured or Unmeasured; it returned "
            f"{type(found).__name__}"
        )


def _digest(function: Evaluator) -> str:
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = f"{_UNKNOWN} {getattr(function, '__qualname__', '')}"
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:12]
