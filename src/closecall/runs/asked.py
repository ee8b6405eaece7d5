"""What a run is asked to work on: its cases, its embedder, and the cache beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closecall.cache.location import open_cache
from closecall.datasets import (
    Dataset,
    OnBadRow,
    cases_digest,
    cases_from,
    open_dataset,
    questions_digest,
)
from closecall.embedders.absent import ABSENT, NoEmbedder, is_absent
from closecall.embedders.base import Embedder
from closecall.embedders.registry import ISOTROPIC, STATIC, chosen_name, load_embedder
from closecall.errors import UsageError
from closecall.instrument import CHUNK, TEST_KIND, Instrument
from closecall.metrics.base import Metric
from closecall.records import Case
from closecall.runs.header import DatasetFacts
from closecall.runs.metered import metered_embedder
from closecall.storage.places import is_url
from closecall.there import is_dir

if TYPE_CHECKING:
    from closecall.cache.vectors import VectorCache
    from closecall.cassettes import Cassette
    from closecall.runs.meter import Meter

PathLike = str | os.PathLike[str]

GIVEN = "python:"
"""Starts the name of an embedder that was handed over as an object."""


def chosen_embedder(
    embedder: Embedder | str | None,
    window: str | None,
    threads: int | None,
    cassette: Cassette | None = None,
    meter: Meter | None = None,
) -> tuple[str, Embedder]:
    """Return the name of an embedder, by which it is found again, and the embedder itself.

    With a ``cassette``, one that leaves this machine is recorded there or comes from there; with a
    ``meter``, what it spends is counted.

    Raises
    ------
    UsageError, ConfigurationError
        There is none of that name, or it is no embedder.
    """
    if embedder is None or isinstance(embedder, str):
        name, policy = chosen_name(embedder), CHUNK if window is None else window

        def make() -> Embedder:
            return load_embedder(embedder, window=policy, threads=threads)

        live = metered_embedder(make, meter)
        made = live() if cassette is None else cassette.embedder(live, name, window=policy)
        used = made if cassette is None else metered_embedder(lambda: made, meter)()
        return anywhere(name), used
    # To look at one is its first use, which may send a text, and that is to be counted.
    live = metered_embedder(lambda: embedder, meter)
    name, given = f"{GIVEN}{type(embedder).__name__}", _given(live(), window, threads)
    if cassette is None or is_recorded(given):
        return name, given
    recorded = cassette.embedder(lambda: given, name)
    return name, metered_embedder(lambda: recorded, meter)()


def needed_embedder(
    metrics: Iterable[Metric],
    embedder: Embedder | str | None,
    window: str | None,
    threads: int | None,
    *,
    cassette: Cassette | None = None,
    on_notice: Callable[[str], None] | None = None,
    meter: Meter | None = None,
) -> tuple[str, Embedder]:
    """Return the embedder of a run, as ``chosen_embedder``; a stand-in where no metric embeds.

    Then no model is opened and no provider's settings are looked at, whatever the environment
    selects. An embedder given as an object is there already, and stays.
    """
    if any(metric.spec.embeds for metric in metrics) or not (
        embedder is None or isinstance(embedder, str)
    ):
        return chosen_embedder(embedder, window, threads, cassette, meter)
    if embedder not in {None, ABSENT} and on_notice is not None:
        on_notice(f"no metric of this run embeds a text, so {embedder} is not used")
    return ABSENT, NoEmbedder()


def is_recorded(embedder: Embedder) -> bool:
    """Whether a cassette stands in front of an embedder."""
    from closecall.cassettes.embedder import RecordingEmbedder, ReplayEmbedder

    return isinstance(embedder, RecordingEmbedder | ReplayEmbedder)


def _given(embedder: object, window: str | None, threads: int | None) -> Embedder:
    """Refuse what is no embedder, and options that only reach an embedder made here."""
    if (
        isinstance(embedder, type)
        or not isinstance(embedder, Embedder)
        or not isinstance(embedder.instrument, Instrument)
    ):
        raise UsageError(
            "embedder must be a name such as 'minilm', or an object with an instrument "
            "(closecall.Instrument) and an embed method; "
            f"got {embedder!r:.80}"
        )
    if window not in {None, CHUNK} or threads is not None:
        raise UsageError(
            "window and threads are for an embedder given by name; an object has its own: "
            "load_embedder(name, window=..., threads=...)"
        )
    return embedder


def anywhere(spec: str) -> str:
    """Return the name with its folder or file spelled so that it holds in every working folder."""
    kind, _, place = spec.strip().partition(":")
    if kind in {"onnx", STATIC, ISOTROPIC} and place:
        return f"{kind}:{Path(place).absolute()}"
    folder, mark, options = place.partition("?")
    if kind == "st" and is_dir(Path(folder).expanduser()):  # else a name of the hub's
        return f"{kind}:{Path(folder).expanduser().absolute()}{mark}{options}"
    return spec


def read_cases(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    mapping: Mapping[str, str] | None,
    on_bad_row: OnBadRow,
    needed: frozenset[str],
) -> tuple[Iterable[Case], DatasetFacts]:
    """Return the cases, all of them checked, and where they came from.

    Raises
    ------
    DatasetError
        Rows cannot be read.
    UsageError
        There are none, or an option is not for them.
    """
    if isinstance(cases, str | os.PathLike):
        dataset = open_dataset(cases, mapping=mapping, on_bad_row=on_bad_row, needed=needed)
        scan = dataset.scan()
        return dataset, DatasetFacts(
            path=dataset.place if is_url(dataset.place) else str(dataset.path.absolute()),
            format=dataset.format,
            digest=scan.digest,
            questions=scan.questions,
            rows=scan.cases,
            bad_rows=scan.bad_rows,
            problems=tuple(str(problem) for problem in scan.problems),
            reading=tuple(dataset.reading),
            mapping=dict(mapping or {}),
            on_bad_row=on_bad_row,
        )
    if on_bad_row != "fail":
        raise UsageError("on_bad_row is for case files; leave out the records that are not sound")
    given = cases_from(cases, mapping=mapping, needed=needed)
    if not given:
        raise UsageError("there are no cases to evaluate")
    return given, DatasetFacts(
        path=None,
        format="python",
        digest=cases_digest(given),
        questions=questions_digest(given),
        rows=len(given),
    )


class _Between:
    """The cases of a data set at some positions, as often as asked."""

    def __init__(self, dataset: Dataset, first: int, stop: int) -> None:
        self._dataset, self._first, self._stop = dataset, first, stop

    def __iter__(self) -> Iterator[Case]:
        return self._dataset.between(self._first, self._stop)


def cases_between(cases: Iterable[Case], first: int, stop: int) -> Iterable[Case]:
    """Return the cases at positions ``first`` up to ``stop``, to be gone through several times."""
    if isinstance(cases, Dataset):
        return _Between(cases, first, stop)
    return list(cases)[first:stop]


def open_run_cache(
    embedder: Embedder,
    cache: bool | PathLike,  # noqa: FBT001 - as evaluate takes it
    on_notice: Callable[[str], None] | None,
) -> VectorCache | None:
    """Return the vector cache that a run with this embedder uses, open; None without one."""
    return open_cache(
        None if isinstance(cache, bool) else cache,
        # A stand-in for tests leaves nothing in a person's own cache.
        enabled=cache is not False
        and not is_absent(embedder.instrument)
        and (cache is not True or embedder.instrument.kind != TEST_KIND),
        on_notice=on_notice,
    )
