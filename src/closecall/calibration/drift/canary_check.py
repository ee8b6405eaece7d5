"""Whether an embedder still is the one a cutoff was calibrated with.

The canaries are embedded once more and compared with the record: the text that moved most and
the pair whose cosine changed most decide. Averages would not do: keeping accents, or reading no
more than 16 tokens, leaves most texts exactly where they were and moves a few far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from closecall.calibration.drift.canaries import ANSWERS, BETWEEN, DIGEST, PAIRS, VERSION
from closecall.calibration.drift.canary_record import CHANGE_OF_PRECISION, CanaryRecord
from closecall.calibration.drift.canary_vectors import (
    distances,
    embed_canaries,
    failed,
    length,
    measured,
    nothing_embedded,
    pair_scores,
)
from closecall.embedders.base import Embedder
from closecall.errors import CalibrationFileError

Verdict: TypeAlias = Literal["same", "precision change", "different instrument"]
"""``same``: nothing moved by more than noise. ``precision change``: everything moved a little, as
when the same model is computed or stored in fewer bits; scores near the cutoff may be decided
otherwise. ``different instrument``: scores are not comparable with those of the calibration."""

SAME: Verdict = "same"
PRECISION: Verdict = "precision change"
DIFFERENT: Verdict = "different instrument"

NORM_CHANGE = 1e-3
"""Most the length of a vector may change, as a share of it."""

_SHOWN = 3
_REASON = 200
"""Characters shown of why a canary has no vector."""


class CanaryCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the canaries since the calibration.

    Parameters
    ----------
    verdict
        ``same``, ``precision change`` or ``different instrument``.
    worst, distance, limit
        The canary that moved most (None where none moved at all), how far (1 - cosine; None
        where nothing can be compared, as the width of a vector changed), and how far is noise.
    pair, pair_change, pair_limit
        The same of the pairs' cosines; ``pair_change`` is None too where no pair was measured.
    reasons
        What speaks against ``same``, in words; empty if nothing does.
    equalities
        Pairs that became equal (True) or ceased to be (False), by name: they hint at the cause.
    """

    verdict: Verdict
    worst: str | None
    distance: float | None
    limit: float
    pair: str | None
    pair_change: float | None
    pair_limit: float
    reasons: tuple[str, ...]
    equalities: dict[str, bool]


class _Largest(NamedTuple):
    """The largest of some changes, and whose it is; None where there are none, or none above 0."""

    name: str | None
    size: float | None

    def beyond(self, limit: float) -> bool:
        """Whether it is larger than a limit."""
        return self.size is not None and self.size > limit


def check_canaries(record: CanaryRecord, embedder: Embedder) -> CanaryCheck:
    """Embed the canaries once and compare them with the record.

    34 short texts but for two: about a quarter of a second with the bundled model.

    Parameters
    ----------
    record
        Of the calibration.
    embedder
        The embedder in use, itself and not a cache in front of it.

    Raises
    ------
    CalibrationFileError
        The record is of other canaries than this version has.
    UsageError
        The embedder is a cache.
    ConfigurationError
        The embedder cannot be used at all.
    EmbeddingError
        No canary could be embedded, so nothing can be said.
    """
    if record.digest != DIGEST:
        versions = (
            f": version {record.version}, here {VERSION}" if record.version != VERSION else ""
        )
        raise CalibrationFileError(
            "the calibration holds vectors of other canary texts than this version of closecall "
            f"has{versions}. They cannot be compared: calibrate again"
        )
    dims = embedder.instrument.dims
    if dims != record.dims:
        return _other_width(record, dims)
    found = embed_canaries(embedder)
    before, now = record.by_name(), measured(found)
    if not now:
        raise nothing_embedded(embedder.instrument, failed(found))
    apart = distances(before, now)
    scores = pair_scores(now)
    changes = {
        name: abs(score - record.pair_scores[name])
        for name, score in scores.items()
        if name in record.pair_scores
    }
    text, pair = _largest(apart), _largest(changes)
    equalities = _equalities(record, scores)
    breaks = [
        *_gone_or_new(record, failed(found)),
        *_lengths(record.norms, {name: length(vector) for name, vector in now.items()}),
        *_orders(record, scores),
    ]
    verdict = _verdict(record, text, pair, broken=bool(breaks))
    return CanaryCheck(
        verdict=verdict,
        worst=text.name,
        distance=text.size,
        limit=record.text_limit,
        pair=pair.name,
        pair_change=pair.size,
        pair_limit=record.pair_limit,
        reasons=(*_moved(record, text, pair), *breaks, *_equal(equalities)),
        equalities=equalities,
    )


def _verdict(record: CanaryRecord, text: _Largest, pair: _Largest, *, broken: bool) -> Verdict:
    far = text.beyond(max(record.text_limit, CHANGE_OF_PRECISION.text))
    if broken or far or pair.beyond(max(record.pair_limit, CHANGE_OF_PRECISION.pair)):
        return DIFFERENT
    if text.beyond(record.text_limit) or pair.beyond(record.pair_limit):
        return PRECISION
    return SAME


def _largest(changes: Mapping[str, float]) -> _Largest:
    name = max(changes, key=changes.__getitem__, default=None)
    if name is None:
        return _Largest(None, None)
    return _Largest(name if changes[name] > 0 else None, changes[name])


def _other_width(record: CanaryRecord, dims: int) -> CanaryCheck:
    return CanaryCheck(
        verdict=DIFFERENT,
        worst=None,
        distance=None,
        limit=record.text_limit,
        pair=None,
        pair_change=None,
        pair_limit=record.pair_limit,
        reasons=(f"a vector has {dims} numbers; at calibration it had {record.dims}",),
        equalities={},
    )


def _moved(record: CanaryRecord, text: _Largest, pair: _Largest) -> Iterator[str]:
    if text.beyond(record.text_limit):
        yield (
            f"canary '{text.name}' moved by {text.size:.2g} (1 - cosine); up to "
            f"{record.text_limit:.2g} is noise"
            + _more_than_precision(text, max(record.text_limit, CHANGE_OF_PRECISION.text))
        )
    if pair.beyond(record.pair_limit):
        yield (
            f"the cosine of pair '{pair.name}' ({_WHAT[pair.name or '']}) changed by "
            f"{pair.size:.2g}; up to {record.pair_limit:.2g} is noise"
            + _more_than_precision(pair, max(record.pair_limit, CHANGE_OF_PRECISION.pair))
        )


def _more_than_precision(found: _Largest, limit: float) -> str:
    return f", up to {limit:.2g} a change of precision" if found.beyond(limit) else ""


_WHAT = {pair.name: pair.what for pair in PAIRS}


def _gone_or_new(record: CanaryRecord, reasons: Mapping[str, str]) -> Iterator[str]:
    """Say which canaries had a vector and have none now, or the other way round."""
    gone = [name for name in reasons if name not in record.unmeasured]
    if gone:
        yield (
            f"{_listed(gone)} had a vector at calibration and {_has(gone)} none now: "
            f"{_short(reasons[gone[0]])}"
        )
    new = [name for name in record.unmeasured if name not in reasons]
    if new:
        yield (
            f"{_listed(new)} {_has(new)} a vector now and had none at calibration: "
            f"{_short(record.unmeasured[new[0]])}"
        )


def _lengths(before: Mapping[str, float], now: Mapping[str, float]) -> Iterator[str]:
    changes = {name: abs(now[name] / before[name] - 1) for name in before if name in now}
    most = _largest(changes)
    if most.beyond(NORM_CHANGE) and most.name is not None:
        yield (
            f"the vector of canary '{most.name}' has length {now[most.name]:.4g}; at calibration "
            f"it had {before[most.name]:.4g}"
        )


def _orders(record: CanaryRecord, scores: Mapping[str, float]) -> Iterator[str]:
    """Say where a right and a wrong answer changed places, each time by more than noise.

    Only they are compared: among all pairs there are always two so near each other that rounding
    alone exchanges them.
    """
    for answers in ANSWERS:
        for side, text in (("question", answers.question), ("reference", answers.reference)):
            names = [BETWEEN[text, answer].name for answer in (answers.right, answers.wrong)]
            if any(name not in scores or name not in record.pair_scores for name in names):
                continue
            was = record.pair_scores[names[0]] - record.pair_scores[names[1]]
            now = scores[names[0]] - scores[names[1]]
            if was * now < 0 and min(abs(was), abs(now)) > record.pair_limit:
                first, second = ("right", "wrong") if now > 0 else ("wrong", "right")
                yield (
                    f"the {first} answer of '{answers.name}' now is nearer to the {side} than "
                    f"the {second} one; at calibration it was farther"
                )


def _equalities(record: CanaryRecord, scores: Mapping[str, float]) -> dict[str, bool]:
    """Return the pairs whose texts became equal to the embedder, or ceased to be.

    Equal is what is no farther apart than noise. Unequal is only what neither noise nor a change
    of precision can have moved apart, so that rounding alone changes nothing here.
    """
    unequal = max(record.text_limit + record.pair_limit, CHANGE_OF_PRECISION.text)

    def equal(score: float) -> bool | None:
        apart = 1 - score
        if apart <= record.text_limit:
            return True
        return False if apart > unequal else None

    found = {}
    for name, score in scores.items():
        was = equal(record.pair_scores[name]) if name in record.pair_scores else None
        now = equal(score)
        if was is not None and now is not None and was != now:
            found[name] = now
    return found


def _equal(equalities: Mapping[str, bool]) -> Iterator[str]:
    for name, now in list(equalities.items())[:_SHOWN]:
        counts = "one vector now, two at" if now else "two vectors now, one at"
        yield f"{_WHAT[name]}: {counts} calibration"
    rest = len(equalities) - _SHOWN
    if rest > 0:
        yield f"{rest} more pairs became equal or ceased to be"


def _listed(names: list[str]) -> str:
    """Name canaries, the first few of many."""
    named = ", ".join(f"'{name}'" for name in names[:_SHOWN])
    rest = len(names) - _SHOWN
    more = f" and {rest} more" if rest > 0 else ""
    return f"canary {named}" if len(names) == 1 else f"canaries {named}{more}"


def _short(reason: str) -> str:
    return reason if len(reason) <= _REASON else f"{reason[:_REASON]}…"


def _has(names: list[str]) -> str:
    return "has" if len(names) == 1 else "have"
