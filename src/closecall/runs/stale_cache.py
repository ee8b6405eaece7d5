"""Vectors in the cache that are not those of the embedder any more, found by the canaries."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from closecall.cache.maintenance import prune
from closecall.calibration.artefact import Calibration
from closecall.calibration.drift.canaries import DIGEST
from closecall.calibration.drift.canary_check import SAME, check_canaries
from closecall.embedders.base import Embedder
from closecall.errors import UnknownNameError
from closecall.runs.asked import PathLike, open_run_cache


def drop_stale_vectors(
    before: Calibration | None,
    embedder: Embedder,
    cache: bool | PathLike,  # noqa: FBT001 - as evaluate takes it
    on_notice: Callable[[str], None] | None = None,
) -> None:
    """Drop what the cache holds of an embedder that kept its identity and is another one now.

    A cache knows an embedder by its identity alone. Where that is as it was when ``before`` was
    made and the canaries are not, vectors of both may stand side by side in it.

    Raises
    ------
    ConfigurationError
        The embedder, or the cache, cannot be used.
    """
    if (
        before is None
        or cache is False
        or before.instrument_digest != embedder.instrument.digest
        or before.canaries.digest != DIGEST
        or check_canaries(before.canaries, embedder).verdict == SAME
    ):
        return
    store = open_run_cache(embedder, cache, on_notice)
    if store is None:
        return
    with closing(store):
        try:
            gone = prune(store, instrument=embedder.instrument.digest).rows
        except UnknownNameError:
            return  # it holds none
    if on_notice is not None:
        on_notice(
            f"{embedder.instrument.model} is called the same and no longer is: {gone:,} vectors "
            "that the cache held of it are dropped"
        )
