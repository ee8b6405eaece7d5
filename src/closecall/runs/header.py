"""The facts of a run that stand in its header, as written and as read back."""

from __future__ import annotations

from typing import Any

import msgspec

from closecall.datasets import OnBadRow
from closecall.errors import RunFolderError, UsageError
from closecall.instrument import Instrument
from closecall.metrics.base import Metric
from closecall.metrics.guards.policy import NO_GUARDS, GuardPolicy, is_guarded
from closecall.records import JSON
from closecall.runs.applied import Applied
from closecall.runs.definition import evaluator_version
from closecall.runs.live import SubjectPlan
from closecall.runs.results import CUTOFF_WORDS, cutoff_note, cutoff_source
from closecall.runs.shards import Shard
from closecall.runs.values import time_key
from closecall.subjects.base import SubjectIdentity
from closecall.subjects.repeats import MOST, SUCCESS_THRESHOLD


class MetricPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A metric as a run used it; enough to read its results without the metric's code.

    ``guards`` says what each guard does to what the cutoff accepts, empty without guards.
    ``judges`` names the chat models that give the number, empty where none does.
    """

    id: str
    name: str
    version: str
    evaluator_version: str
    cutoff: float | None
    cutoff_source: str
    low: float | None
    high: float | None
    description: str
    calibration: Applied | None = None
    guards: dict[str, str] = {}
    judges: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.cutoff_source not in CUTOFF_WORDS:
            raise ValueError(f"cutoff_source: {self.cutoff_source!r:.40} is not one that is known")

    @classmethod
    def of(
        cls,
        metric: Metric,
        instrument: Instrument,
        applied: Applied | None = None,
        guards: GuardPolicy = NO_GUARDS,
    ) -> MetricPlan:
        """Return the plan of a metric with this instrument, and the calibration it is cut by."""
        spec = metric.spec
        cutoff = metric.cutoff if applied is None else applied.accept
        beside = guards.active if cutoff is not None and is_guarded(spec) else {}
        return cls(
            id=spec.id,
            name=spec.name,
            version=spec.version,
            evaluator_version=evaluator_version(metric, instrument, applied, beside),
            cutoff=cutoff,
            cutoff_source=cutoff_source(metric, applied),
            low=spec.low,
            high=spec.high,
            description=spec.description,
            calibration=applied,
            guards=beside,
            judges=tuple(judge.name for judge in getattr(metric, "judges", ())),
        )

    @property
    def cutoff_note(self) -> str:
        """What every surface says of the cutoff."""
        return cutoff_note(self.cutoff_source, self.calibration)


class DatasetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Where the cases came from and how the file was read.

    ``path`` is None for cases given in Python. ``rows`` counts readable cases, ``bad_rows``
    those left out and ``problems`` says why the first of them could not be read; ``mapping`` and
    ``on_bad_row`` are what the caller asked for. ``digest`` stands for all of the cases,
    ``questions`` for what they ask: their content without response, label, group and tags. It is
    empty in runs of before it was kept.
    """

    path: str | None
    format: str
    digest: str
    rows: int
    bad_rows: int = 0
    problems: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    mapping: dict[str, str] = {}
    on_bad_row: OnBadRow = "fail"
    questions: str = ""


class RunHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, with what, when. Times are ISO 8601 in UTC.

    In a ``cascade`` the metrics decide one after another, in this order. ``judges`` names the chat
    models that judge. ``answered_by`` is what answered the cases without a response, and
    ``subject_plan`` how to make it again, None where it was given in Python. With several ``runs``
    each of those cases is answered so often, and passes in a ``success_threshold`` of them.
    ``asked`` is what whoever began the run keeps with it to go on as it began, such as its gates.
    ``shard`` says which part of the run this is, None where it is the whole; ``dataset`` and
    ``definition_digest`` are those of the whole.
    """

    run_id: str
    name: str
    started_at: str
    ended_at: str | None
    producer_version: str
    dataset: DatasetFacts
    metrics: tuple[MetricPlan, ...]
    embedder: str
    instrument: Instrument
    instrument_digest: str
    definition_digest: str
    subject: str | None = None
    subject_version: str | None = None
    content: bool = True
    cascade: bool = False
    judges: tuple[str, ...] = ()
    answered_by: SubjectIdentity | None = None
    subject_plan: SubjectPlan | None = None
    runs: int = 1
    success_threshold: float = SUCCESS_THRESHOLD
    asked: dict[str, JSON] = {}
    shard: Shard | None = None

    @property
    def first(self) -> int:
        """The position of the first case among those of the data set."""
        return 0 if self.shard is None else self.shard.first

    @property
    def cases(self) -> int:
        """How many cases the run has, or this shard of it."""
        return self.dataset.rows if self.shard is None else self.shard.cases

    def to_json(self) -> dict[str, Any]:
        """Return JSON values; ``from_json`` reads them back."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built

    @classmethod
    def from_json(cls, value: object) -> RunHeader:
        """Read a header back; raises ``msgspec.ValidationError`` naming the field."""
        found = msgspec.convert(value, cls)
        if not found.metrics:
            raise msgspec.ValidationError("metrics: a run has at least one")
        # Memory is asked for by this number before the lines are seen.
        if not 1 <= found.runs <= MOST:
            raise msgspec.ValidationError(f"runs: must be 1 to {MOST}, is {found.runs}")
        if not 0 < found.success_threshold <= 1:
            raise msgspec.ValidationError("success_threshold: must be above 0 and at most 1")
        return found


def ended(header: RunHeader, time: Any, place: str) -> RunHeader:
    """Return the header of a run that ended then, None for one that did not.

    Raises
    ------
    RunFolderError
        It is no time; ``place`` is the file that holds it.
    """
    if time is not None:
        try:
            time_key(time)
        except UsageError as error:
            raise RunFolderError(f"{place}: endedAt: {str(error)[:200]}") from error
    return msgspec.structs.replace(header, ended_at=time)
