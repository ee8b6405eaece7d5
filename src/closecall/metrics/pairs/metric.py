"""``cross_encoder``: a pair model of one's own as a metric."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Sequence
from os import PathLike
from typing import ClassVar

from closecall.embedders.base import TextKey, VectorLookup
from closecall.errors import UsageError
from closecall.instrument import canonical_json
from closecall.metrics.base import MetricSpec
from closecall.metrics.cutoffs import UNIT, checked_cutoff
from closecall.metrics.lexical.options import metric_id, one_of, switch
from closecall.metrics.pairs import sides as side
from closecall.metrics.pairs.model_option import named_folder
from closecall.metrics.pairs.outcome import Asked, Plan, Setting, measured
from closecall.metrics.pairs.runtime import Loaded, load, require_installed
from closecall.metrics.pairs.scoring import Pair, score_pairs
from closecall.metrics.pairs.sides import Texts, texts_of
from closecall.metrics.pairs.tokenising import Text
from closecall.models.pair_folder import RAW, PairFolder, read_pair_folder
from closecall.models.pair_labels import Labels, choose
from closecall.records import JSON, Case, Measurement, Unmeasured


class CrossEncoderScore:
    """``cross_encoder``: what a model that reads two texts at once says of them.

    For an NLI model the share of entailment (0 to 1), for a similarity or relevance model its
    score: 0 to 1 where its configuration says Sigmoid or nothing, the number as it is where it
    says Identity. With several references or passages the best counts and is named. It is no
    probability of being right until ``closecall calibrate`` makes it one; there is no default
    cutoff.

    A first text too long for the model is read in overlapping windows, each with the whole
    second text, and the best window counts. A second text too long for that is not measured.

    Making the metric hashes the model, about a second for each GB; ``load`` or the first case
    loads it. A pair costs one pass, for ``both`` two: at the size of MiniLM (6 layers, width
    384), in ONNX on one thread, 5 ms at 32 tokens, 22 ms at 128 and 160 ms at 512.

    Parameters
    ----------
    model
        A folder with ``model.onnx`` (or ``onnx/model.onnx``), ``config.json`` and
        ``tokenizer.json``; or, without a graph, with ``model.safetensors``, which takes
        ``pip install 'closecall[torch]'``. A name without a separator is a folder in
        ``CLOSECALL_MODELS_DIR``. A path holds no ':' and no ','.
    sides
        ``reference``: references against the response. ``context``: each passage against the
        response. ``query``: the input against the response, for models of relevance.
    direction
        Which text is read first, an NLI model's premise. ``to_response``: the other text, then
        the response (does the reference entail the response?). ``from_response``: the response
        first (does the response entail the reference?). ``both``: the lower of the two, as two
        texts say the same only if each entails the other, and no share of one makes up for the
        lack of the other. ``auto``: ``both`` for entailment and references, else
        ``to_response``.
    question
        Whether the input is put before both texts, so that a short answer becomes a statement.
        ``auto``: for entailment and references, where the case has an input. true: a case
        without an input is not measured.
    positive
        The label that says yes, where the configuration's names do not make it clear.
    cutoff
        On the scale of the value. None (default): a number without a verdict.

    Raises
    ------
    UsageError
        An option is not allowed.
    ModelError
        The folder cannot be used, or its labels are unclear; the message says what to give.
    MissingExtraError
        The folder needs torch and it is not installed.
    """

    NAME: ClassVar[str] = "cross_encoder"
    VERSION: ClassVar[str] = "1"
    DEFAULTS: ClassVar[dict[str, JSON]] = {
        "model": "",
        "sides": side.REFERENCE,
        "direction": side.AUTO,
        "question": side.AUTO,
        "positive": "",
    }
    REQUIRED: ClassVar[tuple[str, ...]] = ("model",)
    """Options without which there is no such metric."""

    def __init__(
        self,
        cutoff: float | None = None,
        *,
        model: str | PathLike[str] = "",
        sides: str = side.REFERENCE,
        direction: str = side.AUTO,
        question: bool | str = side.AUTO,
        positive: str = "",
    ) -> None:
        named = named_folder(self.NAME, model)
        self.sides = one_of(self.NAME, "sides", sides, side.SIDES)
        one_of(self.NAME, "direction", direction, side.DIRECTIONS)
        if question != side.AUTO:
            switch(self.NAME, "question", question)
        self._folder = read_pair_folder(named.folder)
        require_installed(self._folder)
        wanted = _label(self.NAME, positive)
        self._labels = choose(self._folder.labels, wanted or None, self._folder.config)
        self.directions = self._directions(direction)
        self.question = self._question(question)
        self._input_needed = question is True
        raw = self._folder.activation == RAW
        low, high = (-math.inf, math.inf) if raw else (0.0, UNIT)
        self.cutoff = None if cutoff is None else checked_cutoff(self.NAME, cutoff, low, high)
        options: dict[str, JSON] = {
            "model": named.name,
            "sides": self.sides,
            "direction": direction,
            "question": question,
            "positive": wanted,
        }
        self.spec = MetricSpec(
            id=metric_id(self.NAME, options, self.DEFAULTS),
            name=self.NAME,
            version=f"{self.VERSION}+{self._digest()}",
            needs=(
                *side.NEEDS[self.sides],
                *(("input",) if self._input_needed else ()),
            ),
            default_cutoff=None,
            low=None if raw else low,
            high=None if raw else high,
            description=self._description(),
            options=options,
            quantity="entailment" if self._labels.entailment else "pair score",
            embeds=False,
        )
        self._setting = Setting(
            self.sides, self.question, self._labels, self._folder.window, bounded=not raw
        )
        self._loaded: Loaded | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.id!r}, cutoff={self.cutoff})"

    @property
    def folder(self) -> PairFolder:
        """What the model's folder says of itself."""
        return self._folder

    @property
    def labels(self) -> Labels:
        """The model's labels, and which of them says yes."""
        return self._labels

    def load(self) -> None:
        """Load the model; again it does nothing.

        Raises
        ------
        ConfigurationError
            It cannot be run here.
        """
        self._ready()

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return no text, as nothing is embedded; or why nothing can be measured."""
        found = self._texts(case)
        return found if isinstance(found, Unmeasured) else ()

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case; see the class for the cost of a pair."""
        return self.measure_batch([case], vectors)[0]

    def measure_batch(self, cases: Sequence[Case], vectors: VectorLookup) -> Sequence[Measurement]:
        """Return one measurement a case, in order; rows of equal length are run together.

        Raises
        ------
        EmbeddingError, ModelError
            The model cannot be run.
        """
        del vectors
        loaded = self._ready()
        pairs: list[Pair] = []
        known: dict[tuple[str, str], Text | str] = {}
        plans = [self._plan(case, loaded, pairs, known) for case in cases]
        outcomes = score_pairs(loaded, pairs, self._labels.positive, self._folder.activation)
        return [
            plan if isinstance(plan, Unmeasured) else measured(plan, outcomes, self._setting)
            for plan in plans
        ]

    def _ready(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = load(self._folder)
            return self._loaded

    def _texts(self, case: Case) -> Texts | Unmeasured:
        return texts_of(case, self.sides, question=self.question, needed=self._input_needed)

    def _plan(
        self,
        case: Case,
        loaded: Loaded,
        pairs: list[Pair],
        known: dict[tuple[str, str], Text | str],
    ) -> Plan | Unmeasured:
        """Return what to ask of a case, and put its pairs at the end of ``pairs``."""
        texts = self._texts(case)
        if isinstance(texts, Unmeasured):
            return texts
        response = _read(loaded, texts.response, texts.question, known)
        if isinstance(response, str):
            return Unmeasured(f"the response {response}")
        asked: list[Asked] = []
        unread: dict[int, str] = {}
        for written, text in zip(texts.written, texts.others, strict=True):
            other = _read(loaded, text, texts.question, known)
            if isinstance(other, str):
                unread[written] = f"the {side.SINGULAR[self.sides]} {other}"
                continue
            places = {}
            for direction in self.directions:
                places[direction] = len(pairs)
                pairs.append(
                    Pair(other, response)
                    if direction == side.TO_RESPONSE
                    else Pair(response, other)
                )
            asked.append(Asked(written, places))
        return Plan(texts, asked, unread)

    def _directions(self, asked: str) -> tuple[str, ...]:
        if self.sides != side.REFERENCE and asked not in (side.AUTO, side.TO_RESPONSE):
            raise UsageError(
                f"{self.NAME}: direction={asked} is for sides=reference; a {self.sides} is read "
                "before the response"
            )
        if asked == side.AUTO:
            both = self._labels.entailment and self.sides == side.REFERENCE
            asked = side.BOTH if both else side.TO_RESPONSE
        return (side.TO_RESPONSE, side.FROM_RESPONSE) if asked == side.BOTH else (asked,)

    def _question(self, asked: bool | str) -> bool:  # noqa: FBT001 - as it was typed
        if asked is True and self.sides == side.QUERY:
            raise UsageError(f"{self.NAME}: with sides=query the input is one of the two texts")
        if asked == side.AUTO:
            return self._labels.entailment and self.sides == side.REFERENCE
        return bool(asked)

    def _digest(self) -> str:
        """Return 12 hex digits that move with whatever changes what a pair scores.

        The options that are spelled out in the id need not be among them, but the choices made
        for ``auto`` do.
        """
        facts = {
            "files": [[entry.name, entry.sha256] for entry in self._folder.files],
            "kind": self._folder.kind,
            "window": self._folder.window,
            "activation": self._folder.activation,
            "positive": self._labels.positive,
            "sides": self.sides,
            "directions": list(self.directions),
            "question": [self.question, self._input_needed],
        }
        return hashlib.sha256(canonical_json(facts)).hexdigest()[:12]

    def _description(self) -> str:
        other = {side.REFERENCE: "best reference", side.CONTEXT: "best passage"}
        pair = f"{other.get(self.sides, 'input')} and response"
        name = self._folder.folder.name
        if self._labels.entailment:
            ways = "both ways" if len(self.directions) > 1 else self.directions[0]
            return f"Entailment, {ways.replace('_', ' ')}, of {pair}, by {name}."
        return f"Score of {pair} as a pair, by {name}."


def _read(
    loaded: Loaded, text: str, question: str, known: dict[tuple[str, str], Text | str]
) -> Text | str:
    """Return a text as tokens, or what is wrong with it; each is tokenised once a batch."""
    key = (text, question)
    if key not in known:
        try:
            known[key] = loaded.tokenizer.text(text, question)
        except ValueError as error:
            known[key] = str(error)
    return known[key]


def _label(metric: str, positive: object) -> str:
    """Return the label as it was typed: ``true`` and ``false`` are read as switches before."""
    if isinstance(positive, bool):
        return str(positive).lower()
    if not isinstance(positive, str) or any(sign in positive for sign in ":,"):
        raise UsageError(f"{metric}: positive must be the name of a label, got {positive!r}")
    return positive.strip()
