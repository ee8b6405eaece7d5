"""What both support metrics share: options, the model, how a batch is measured and explained."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Generic, TypeVar

from closecall.embedders.base import TextKey, VectorLookup
from closecall.instrument import canonical_text
from closecall.metrics.base import DECIMALS, SCORE_DECIMALS, MetricSpec
from closecall.metrics.cutoffs import PERCENT, UNIT, checked_cutoff
from closecall.metrics.lexical.options import metric_id, one_of, switch
from closecall.metrics.support.asking import Asking, UnreadableError, Values
from closecall.metrics.support.language import foreign
from closecall.metrics.support.occlusion import Read, against
from closecall.metrics.support.reader import PairReader
from closecall.records import JSON, Case, Measured, Measurement, Unmeasured

ENGLISH, ANY = "english", "any"
LANGUAGES = (ENGLISH, ANY)

QUESTION_SHARE = 4
"""The question of a pair that does not fit gets one of so many parts of the window."""

PlanT = TypeVar("PlanT")


class Support(Generic[PlanT]):
    """A metric of a pair model; see its two kinds."""

    NAME: ClassVar[str]
    VERSION: ClassVar[str] = "2"
    DEFAULTS: ClassVar[dict[str, JSON]] = {"language": ENGLISH, "explain": True}
    NEEDS: ClassVar[tuple[str, str]]
    DESCRIPTION: ClassVar[str]

    def __init__(
        self, cutoff: float | None, options: dict[str, JSON], model: PairReader | None
    ) -> None:
        self.language = one_of(self.NAME, "language", options["language"], LANGUAGES)
        self.explains = switch(self.NAME, "explain", options["explain"])
        self.cutoff = None if cutoff is None else checked_cutoff(self.NAME, cutoff, 0.0, UNIT)
        self._model = bundled() if model is None else model
        self.spec = MetricSpec(
            id=metric_id(self.NAME, options, self.DEFAULTS),
            name=self.NAME,
            version=f"{self.VERSION}+{self._model.identity.digest}",
            needs=self.NEEDS,
            default_cutoff=None,
            low=0.0,
            high=UNIT,
            description=self.DESCRIPTION,
            options=options,
            quantity="support",
            embeds=False,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.id!r}, cutoff={self.cutoff})"

    @property
    def model(self) -> PairReader:
        """The pair model that is asked."""
        return self._model

    def load(self) -> None:
        """Make the model ready; again it does nothing.

        Raises
        ------
        ConfigurationError
            It cannot be run here.
        """
        loads = getattr(self._model, "load", None)
        if loads is not None:
            loads()

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return no text, as nothing is embedded; or why nothing can be measured."""
        missing = self._missing(case)
        return () if missing is None else missing

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case; see the class for the cost."""
        return self.measure_batch([case], vectors)[0]

    def measure_batch(self, cases: Sequence[Case], vectors: VectorLookup) -> Sequence[Measurement]:
        """Return one measurement a case, in order; equal pairs of texts are read once."""
        del vectors
        asking = Asking(self._model)
        plans = [self._planned(case, asking) for case in cases]
        values = asking.values()
        return [
            plan if isinstance(plan, Unmeasured) else self._measured(plan, values)
            for plan in plans
        ]

    def explain(
        self, cases: Sequence[Case], found: Sequence[Measured]
    ) -> Sequence[Mapping[str, JSON]]:
        """Return, as members for its details, which part of each response counts most against it.

        Parts of what was read are left out one at a time: ``occlusion.MOST`` more pairs for a case
        at most, each a little shorter than the one that was measured. A case without a part that
        moves the value has nothing to say.
        """
        if not self.explains:
            return [{} for _ in cases]
        known = Asking(self._model)
        reads: list[Read | None] = []
        for case, one in zip(cases, found, strict=True):
            plan = self._planned(case, known)
            reads.append(None if isinstance(plan, Unmeasured) else self._read(plan, one.details))
        return against(reads, [one.value for one in found], Asking(self._model))

    @abstractmethod
    def _missing(self, case: Case) -> Unmeasured | None:
        """Return why a case cannot be measured, None where it can."""

    @abstractmethod
    def _plan(self, case: Case, asking: Asking) -> PlanT | Unmeasured:
        """Return what is asked of a case, after asking it."""

    @abstractmethod
    def _measured(self, plan: PlanT, values: Values) -> Measured:
        """Return what comes of a case."""

    @abstractmethod
    def _read(self, plan: PlanT, details: Mapping[str, JSON]) -> Read | None:
        """Return the pair that the measured value is of."""

    def _planned(self, case: Case, asking: Asking) -> PlanT | Unmeasured:
        """Return the plan of a case; a text that the model cannot take costs no other case."""
        missing = self._missing(case)
        if missing is not None:
            return missing
        try:
            return self._plan(case, asking)
        except UnreadableError as error:
            return Unmeasured(str(error))

    def _foreign(self, name: str, text: str) -> Unmeasured | None:
        """Return why a text is not given to the model, None where it may be English."""
        if self.language == ANY:
            return None
        found = foreign(text)
        if found is None:
            return None
        return Unmeasured(
            f"the {name} is {found}, and {self._model.name} reads English only; "
            f"{self.NAME}:language=any reads it all the same"
        )

    def _unread(self, name: str, text: str, asking: Asking) -> Unmeasured:
        """Return why a text that is not read is not."""
        return self._foreign(name, text) or Unmeasured(f"the {name} {asking.unreadable(text)}")

    def _asked(self, case: Case) -> str:
        """Return the question of a case, empty where it has none."""
        return canonical_text(case.input or "").strip()


def bundled() -> PairReader:
    """Return the bundled model; it is opened with the first pair.

    Raises
    ------
    ModelError
        It is not there, or its card cannot be used.
    """
    from closecall.metrics.support.model import bundled_pair_model

    return bundled_pair_model()


def rounded(value: float) -> float:
    """Return a value as it is kept."""
    return round(float(value), DECIMALS) + 0.0


def percent(value: float) -> float:
    """Return a value on 0 to 100."""
    return round(PERCENT * value, SCORE_DECIMALS)
