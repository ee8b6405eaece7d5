"""What all judges have in common: made by name, bound to a chat model, then measuring."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import msgspec

from closecall.chat.base import ChatIdentity, ChatModel, ChatRequest, Message
from closecall.embedders.base import TextKey, VectorLookup
from closecall.errors import ConfigurationError, UsageError
from closecall.instrument import canonical_json
from closecall.metrics.base import MetricSpec
from closecall.metrics.cutoffs import checked_cutoff
from closecall.metrics.judge.asking import Answer, Asking, ask
from closecall.metrics.judge.base import Judges, panel_of
from closecall.metrics.judge.conversation import ConversationError
from closecall.metrics.judge.fences import Part, fenced
from closecall.metrics.judge.material import refusal_expected, sendable
from closecall.metrics.judge.prompt import instructions, schema
from closecall.metrics.judge.reading import Reading, Unreadable, read_reply
from closecall.metrics.judge.scale import FIVE, Scale
from closecall.metrics.judge.votes import Scores, measured
from closecall.metrics.lexical.options import metric_id, whole_number
from closecall.records import JSON, Case, Measurement, Unmeasured

READING = "1"
"""Moves when the same reply would be read otherwise."""

AUTO, NONE = "auto", "none"
MOST_SAMPLES = 15
MOST_TOKENS = 1_000_000
MOST_HEAT = 2.0


def options(max_tokens: int | None = 800) -> dict[str, JSON]:
    """Return the options of a judge with their defaults; ``max_tokens`` bounds its reply."""
    bound: JSON = NONE if max_tokens is None else max_tokens
    return {"samples": 1, "temperature": AUTO, "max_tokens": bound}


class JudgeMetric:
    """A number that a chat model gives, with its reason and thoughts in the details.

    Made without a chat model; ``bound`` gives one. The texts of a case go into the request as
    fenced data. What the model does not answer in a readable way, asked once more, is not
    measured, with its words in the reason. It is the opinion of that very model: the version in
    ``spec`` moves with the prompt, the model and its options.

    One request a case, ``samples`` and model of a panel; one call of ``complete`` for all cases
    of a batch and model, at most one more for repairs.

    Parameters
    ----------
    samples
        How often each model is asked (1 to 15), with the seeds 0, 1, ...; the median counts.
    temperature
        0 to 2. ``auto``: 0; with several samples 1, as they would be the same at 0.
    max_tokens
        Bound of a reply in tokens, ``none`` for none. Models that think at length need more.
    cutoff
        On the scale of the value.

    Raises
    ------
    UsageError
        An option or the cutoff is not allowed.
    """

    NAME: ClassVar[str]
    NEEDS: ClassVar[tuple[str, ...]]
    READS_RESPONSE: ClassVar[bool] = True
    QUANTITY: ClassVar[str]
    DESCRIPTION: ClassVar[str]
    SCALE: ClassVar[Scale] = FIVE
    SCORES: ClassVar[tuple[str, ...]] = ("score",)
    DEFAULTS: ClassVar[dict[str, JSON]] = options()
    REFUSALS_APART: ClassVar[bool] = False
    """Whether a case where a refusal is expected is left to the refusal check."""

    def __init__(
        self,
        cutoff: float | None = None,
        *,
        samples: int | str = 1,
        temperature: float | str = AUTO,
        max_tokens: int | str | None = None,
    ) -> None:
        name, scale = self.NAME, self.SCALE
        self.samples = whole_number(name, "samples", samples, 1, MOST_SAMPLES)
        heat = temperature if temperature == AUTO else _heat(name, temperature)
        self.temperature = (float(self.samples > 1)) if isinstance(heat, str) else heat
        asked = self.DEFAULTS["max_tokens"] if max_tokens is None else max_tokens
        self.max_tokens: int | None = (
            None if asked == NONE else whole_number(name, "max_tokens", asked, 1, MOST_TOKENS)
        )
        low, high = 0.0 if scale.reverse else scale.low, scale.high
        self.cutoff: float | None = checked_cutoff(
            name, scale.cutoff if cutoff is None else cutoff, low, high
        )
        told: dict[str, JSON] = {
            "samples": self.samples,
            "temperature": heat,
            "max_tokens": NONE if self.max_tokens is None else self.max_tokens,
        }
        self.instructions = instructions(name.removeprefix("llm_"), self.SCORES, scale)
        self._panel: tuple[ChatModel, ...] = ()
        self.spec = MetricSpec(
            id=metric_id(name, told, self.DEFAULTS),
            name=name,
            version=self._version(),
            needs=self.NEEDS,
            default_cutoff=scale.cutoff,
            low=low,
            high=high,
            description=self.DESCRIPTION,
            options=told,
            quantity=self.QUANTITY,
            exact=True,
            embeds=False,
            reads_response=self.READS_RESPONSE,
            guarded=False,  # whoever reads both texts has read the numbers and the "not"
        )

    def __repr__(self) -> str:
        by = ", ".join(judge.name for judge in self.judges) or "no chat model"
        return f"{type(self).__name__}({self.spec.id!r}, cutoff={self.cutoff}, {by})"

    @property
    def judges(self) -> tuple[ChatIdentity, ...]:
        """The chat models it is bound to; empty before that."""
        return tuple(model.identity for model in self._panel)

    def bound(self, chat: Judges) -> Self:
        """Return this metric with a chat model, or a panel of several; itself unchanged.

        Raises
        ------
        UsageError
            There is no model, or the same one twice.
        """
        made = copy.copy(self)
        made._panel = panel_of(self.spec.id, chat)  # noqa: SLF001 - a copy of our own
        made.spec = msgspec.structs.replace(self.spec, version=made._version())  # noqa: SLF001
        return made

    def rebound(self, wrapped: Callable[[ChatModel], ChatModel]) -> Self:
        """Return this metric with something around each of its models."""
        return self.bound([wrapped(model) for model in self._panel])

    def load(self) -> None:
        """See that there is a chat model to ask; nothing is sent.

        Raises
        ------
        ConfigurationError
            It was never bound to one.
        """
        if not self._panel:
            raise ConfigurationError(
                f"{self.spec.id} needs a chat model: --judge-model openai:gpt-4o-mini, or set "
                "AI_INFERENCE_PROVIDER"
            )

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return no text, as nothing is embedded; or why nothing can be measured."""
        found = self._material(case)
        return found if isinstance(found, Unmeasured) else ()

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case; ``vectors`` may be empty."""
        return self.measure_batch([case], vectors)[0]

    def measure_batch(self, cases: Sequence[Case], vectors: VectorLookup) -> Sequence[Measurement]:
        """Return one measurement a case, in order; a failure costs no other case its number.

        Raises
        ------
        ConfigurationError
            It was never bound to a chat model.
        """
        del vectors
        self.load()
        found = [self._material(case) for case in cases]
        asked = [parts for parts in found if not isinstance(parts, Unmeasured)]
        requests = [request for parts in asked for request in self._requests(parts)]
        bound = f"raise its bound, {self.NAME}:max_tokens={2 * (self.max_tokens or 2000)}"
        how = Asking(self._read, self.NAME, bound)
        columns = [ask(model, requests, how) for model in self._panel]
        results = iter([self._measured(columns, at) for at in range(len(asked))])
        return [one if isinstance(one, Unmeasured) else next(results) for one in found]

    def _parts(self, case: Case) -> list[Part] | Unmeasured:
        """Return what a judge reads of a case, or what is missing; set by each judge."""
        raise NotImplementedError

    def _material(self, case: Case) -> list[Part] | Unmeasured:
        if self.REFUSALS_APART:
            apart = refusal_expected(case)
            if apart is not None:
                return apart
        try:
            parts = self._parts(case)
        except ConversationError as error:
            return Unmeasured(str(error))
        return parts if isinstance(parts, Unmeasured) else sendable(parts)

    def _requests(self, parts: Sequence[Part]) -> list[ChatRequest]:
        messages = (
            Message(role="system", content=self.instructions.text),
            Message(role="user", content=fenced(parts)),
        )
        form = schema(self.SCORES, self.SCALE)
        return [
            ChatRequest(
                messages=messages,
                temperature=self.temperature,
                seed=seed,
                max_tokens=self.max_tokens,
                schema=form,
            )
            for seed in range(self.samples)
        ]

    def _read(self, text: str) -> Reading | Unreadable:
        return read_reply(text, self.SCORES, self.SCALE)

    def _measured(self, columns: Sequence[Sequence[Answer | Unmeasured]], at: int) -> Measurement:
        own = slice(at * self.samples, (at + 1) * self.samples)
        panel = list(zip(self.judges, (column[own] for column in columns), strict=True))
        return measured(panel, Scores(self.SCORES, self.SCALE))

    def _version(self) -> str:
        """Return the prompt's version and 12 digits that move with all that can move a number."""
        facts = {
            "prompt": self.instructions.digest,
            "reading": READING,
            "judges": [judge.digest for judge in self.judges],
            "samples": self.samples,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        digits = hashlib.sha256(canonical_json(facts)).hexdigest()[:12]
        return f"{self.instructions.version}+{digits}"


def _heat(metric: str, value: object) -> float:
    """Return a temperature, also from its spelling, or refuse it."""
    try:
        number = float(value) if isinstance(value, str | int | float) else -1.0
    except (ValueError, OverflowError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number <= MOST_HEAT:
        raise UsageError(
            f"{metric}: temperature must be {AUTO} or a number from 0 to {MOST_HEAT:g}, got "
            f"{value!r}"
        )
    return number + 0.0
