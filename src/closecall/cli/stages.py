"""Progress of work in stages: each stage has its bar, its unit and its own rate."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from closecall.cli.progress import Progress

UNITS = {"read": "rows read", "train": "rows to train on", "index": "rows indexed"}


class Stages:
    """Call it with (stage, done, total); use it as a context manager.

    Parameters
    ----------
    total
        The number of a stage whose own is not known.
    """

    def __init__(self, *, quiet: bool, total: int) -> None:
        self._quiet, self._total = quiet, total
        self._stage = ""
        self._progress: Progress | None = None
        self.read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Say how far the stage is."""
        if stage == "read":
            self.read = done
        if stage != self._stage or self._progress is None:
            if self._progress is not None:
                self._progress.stop()
            self._stage = stage
            self._progress = Progress(quiet=self._quiet, unit=UNITS.get(stage, stage))
        self._progress(done, self._total if total is None else total)
