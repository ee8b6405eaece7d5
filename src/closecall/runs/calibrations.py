"""Calibrations given to a run: read, checked against what will measure, and put to use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from closecall.calibration.artefact import Calibration
from closecall.calibration.drift.canary_check import check_canaries
from closecall.calibration.store import load_calibration
from closecall.embedders.absent import ABSENT
from closecall.embedders.base import Embedder
from closecall.errors import CalibrationFileError, InstrumentMismatchError, UsageError
from closecall.instrument import CHUNK, differences
from closecall.metrics.base import Metric
from closecall.metrics.registry import JUDGE, is_named
from closecall.runs.applied import Applied
from closecall.runs.judged_by import judge_option, judge_specs
from closecall.there import is_dir

if TYPE_CHECKING:
    from closecall.metrics.function import Evaluator

One: TypeAlias = str | os.PathLike[str] | Calibration
Calibrations: TypeAlias = One | Iterable[One]

SAME = "same"


class Given(NamedTuple):
    """A calibration and the file it came from, empty where it came from Python."""

    made: Calibration
    path: str

    @property
    def metric(self) -> str:
        """The id of its metric."""
        return self.made.metric.id

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return self.path or "the calibration"


def load_calibrations(given: Calibrations | None) -> list[Given]:
    """Read calibrations, at most one a metric.

    A folder stands for the files ``*.json`` in it, in the order of their names.

    Raises
    ------
    CalibrationFileError
        A file is not a calibration, or a folder holds none.
    UsageError
        Two are for one metric.
    """
    if given is None:
        return []
    if isinstance(given, str | os.PathLike | Calibration):
        given = [given]
    if not isinstance(given, Iterable):
        raise UsageError(
            f"calibration: expected a file, a calibration or several, got {given!r:.60}"
        )
    found: list[Given] = []
    for one in given:
        if isinstance(one, Calibration):
            found.append(Given(one, ""))
        else:
            found += [Given(load_calibration(p), str(p.absolute())) for p in _files(Path(one))]
    for at, later in enumerate(found):
        for earlier in found[:at]:
            if earlier.metric == later.metric:
                raise UsageError(
                    f"{earlier.name} and {later.name} are both for {later.metric}; "
                    "a metric has one cutoff"
                )
    return found


def _files(place: Path) -> list[Path]:
    if not is_dir(place):
        return [place]
    files = sorted(place.glob("*.json"))
    if not files:
        raise CalibrationFileError(
            f"{place}: a folder without a calibration in it (*.json); closecall calibrate FILE "
            "--cascade -o FOLDER makes one of rungs"
        )
    return files


def with_judges(
    metrics: str | Metric | Evaluator | Iterable[str | Metric | Evaluator] | None,
    given: Sequence[Given],
) -> list[str | Metric | Evaluator]:
    """Return the metrics of a run, those that a calibration holds made from it.

    None stands for those of the calibrations. A name that is no calibration's judge stays a name.

    Raises
    ------
    CalibrationFileError
        None was given, and there is no metric of a calibration's name.
    """
    judges: dict[str, Metric] = {}
    for one in given:
        if one.made.judge is not None:
            from closecall.metrics.fitted.judge import FittedJudge

            judges[one.metric] = FittedJudge(one.made.judge.head)
    if metrics is None:
        return [judges.get(one.metric) or _known(one) for one in given]
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        metrics = [metrics]
    flat: list[str | Metric | Evaluator] = []
    for item in metrics:
        if isinstance(item, str):
            names = (name.strip() for name in item.split(",") if name.strip())
            flat.extend(judges.get(name, name) for name in names)
        else:
            flat.append(item)
    return flat


def _known(one: Given) -> str:
    """Return the name of a calibration's metric; nobody typed it, so an error says whose it is."""
    base = one.metric.partition(":")[0]
    if base != JUDGE and not is_named(base):
        raise CalibrationFileError(
            f"{one.name}: metric.id: there is no metric {base!r:.80} here. Install the package "
            "that brings it, or calibrate one of those that closecall metrics lists"
        )
    return one.metric


def embedder_of(given: Sequence[Given]) -> str | None:
    """Return the name of the embedder that calibrations were made with, where it has one."""
    names = {one.made.embedder for one in given}
    if len(names) > 1:
        raise UsageError(
            f"these calibrations were made with different embedders: {', '.join(sorted(names))}; "
            "run them one by one"
        )
    name = names.pop()
    if name.startswith("python:"):
        raise UsageError(
            f"the calibration was made with a {name.removeprefix('python:')} given in Python: "
            "give that embedder to this run too"
        )
    return name


def window_of(given: Sequence[Given]) -> str:
    """Return what calibrations were made to do with long texts; ``CHUNK`` where there are none."""
    windows = {one.made.window for one in given}
    return windows.pop() if len(windows) == 1 else CHUNK


def apply(
    given: Sequence[Given],
    metrics: Sequence[Metric],
    embedder: Embedder,
    spec: str,
    cutoffs: Mapping[str, float] | None,
    *,
    uncalibrated: bool,
) -> dict[str, Applied]:
    """Return what decides each calibrated metric, by its id.

    Parameters
    ----------
    given
        Each embeds the canary texts, a quarter of a second with the bundled model.
    metrics, embedder
        Of the run.
    spec
        The name of the embedder, for the advice in messages.
    cutoffs
        The cutoffs that were asked for by name.
    uncalibrated
        Whether a calibration that belongs to something else is used all the same.

    Raises
    ------
    InstrumentMismatchError
        A calibration belongs to something else, or is for no metric of the run.
    UsageError
        The metric has another cutoff too.
    """
    own = {metric.spec.id: metric for metric in metrics}
    found: dict[str, Applied] = {}
    for one in given:
        metric = _metric(one, own)
        asked = {metric.spec.id, metric.spec.name} & set(cutoffs or ())
        if asked or metric.cutoff != metric.spec.default_cutoff:
            raise UsageError(
                f"{metric.spec.id} has a calibration and a cutoff of your own; leave out one of "
                "them"
            )
        problem = mismatch(one, metric, embedder, spec)
        if problem and not uncalibrated:
            raise InstrumentMismatchError(problem)
        found[metric.spec.id] = Applied.of(one.made, one.path, uncalibrated=bool(problem))
    return found


def mismatch(one: Given, metric: Metric, embedder: Embedder, embedder_spec: str) -> str:
    """Return why a calibration does not belong to this metric and embedder, empty when it does."""
    made, name, spec = one.made, one.name, metric.spec
    again = _how_to_refresh(one, embedder_spec, embedder.instrument.window)
    if made.judge is not None and made.metric.version != spec.version:
        return (
            f"{name} was made with another judge ({made.metric.version}) than the run has "
            f"({spec.version}): a cutoff holds for the judge it was chosen for. Leave the metric "
            "out, and the one in the calibration is used"
        )
    if made.metric.version != spec.version and made.metric.judges:
        return _other_judges(one, metric)
    if made.metric.version != spec.version:
        return (
            f"{name} was made with version {made.metric.version} of {spec.id}, here is "
            f"{spec.version}: the same texts may score otherwise. Calibrate anew, or score its "
            f"own labelled texts again: {again}"
        )
    if not spec.embeds:
        return ""  # no embedder has a part in the number
    changed = differences(made.instrument, embedder.instrument)
    check = check_canaries(made.canaries, embedder)
    if not changed and check.verdict == SAME:
        return ""
    return "\n  ".join(
        [
            f"{name} belongs to another embedder, so its cutoff says nothing here:"
            if changed
            else f"{name}: the embedder is called the same and no longer is:",
            *changed,
            "the test texts embed as they did"
            if check.verdict == SAME
            else f"verdict of the test texts: {check.verdict}",
            *check.reasons,
            f"{_ADVICE}: {again}",
        ]
    )


_ADVICE = (
    "Use the embedder and the window it was made with. Or, as the labels still hold, score its "
    "labelled texts again"
)


def _other_judges(one: Given, metric: Metric) -> str:
    """Return why marks of other chat models, or of the same asked otherwise, are others."""
    made, spec = one.made.metric, metric.spec
    then, now = ", ".join(made.judges), ", ".join(judge_specs(metric, ()))
    model, version = made.version.partition("+")[0], spec.version.partition("+")[0]
    changed = (
        "another chat model"
        if then != now
        else "another prompt"
        if model != version
        else "the same name with another server, settings or prompt"
    )
    again = _how_to_refresh(one, one.made.embedder, one.made.window, judge_specs(metric, ()))
    return (
        f"{one.name} holds for the marks of {then}, and here {spec.id} asks {now} "
        f"({changed}; version {made.version} then, {spec.version} now): the same answers may get "
        f"other marks. Ask the one it was made with: {judge_option(made.judges)}. Or have its own "
        f"labelled texts marked again: {again}"
    )


def judge_hint(given: Sequence[Given]) -> str:
    """Return which chat models the calibrations of a run were made with, empty without any."""
    told = [
        f"{one.name} was made with {judge_option(one.made.metric.judges)}"
        for one in given
        if one.made.metric.judges
    ]
    return "; ".join(told)


def _how_to_refresh(one: Given, spec: str, window: str, judges: Sequence[str] = ()) -> str:
    """Return what to type, or to call, to score the labelled texts with the embedder in use."""
    if spec == ABSENT:  # nobody can name it; where nothing is embedded its own does as well
        spec, window = one.made.embedder, one.made.window
    if one.made.sample.texts is None:
        asked = f" {judge_option(judges)}" if judges else ""
        return (
            f"closecall calibrate FILE --metric {one.metric}{asked} (this calibration holds no "
            "texts, so it takes the labelled file)"
            if judges
            else "closecall calibrate (this file holds no texts, so it takes the labelled file)"
        )
    if not one.path or spec.startswith("python:"):
        return "closecall.refresh(calibration, embedder)"
    from closecall.runs.claim import quoted

    other = "" if spec == one.made.embedder else f" --embedder {quoted(spec)}"
    wide = "" if window == one.made.window else f" --window {window}"
    asked = f" {judge_option(judges)}" if judges else ""
    return f"closecall calibrate --refresh {quoted(one.path)}{other}{wide}{asked}"


def _metric(one: Given, metrics: Mapping[str, Metric]) -> Metric:
    if one.metric in metrics:
        return metrics[one.metric]
    raise InstrumentMismatchError(
        f"{one.name} is for the metric {one.metric}, which is not among those of this run: "
        f"{', '.join(metrics)}. A cutoff holds for the metric it was fitted on, and no other"
    )
