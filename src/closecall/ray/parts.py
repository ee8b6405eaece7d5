"""What a worker does with a block of a run: its part, written where all parts lie."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

import msgspec

from closecall.bulk.blocks import BlockWorker
from closecall.bulk.counting import Totals
from closecall.datasets import Dataset, open_dataset
from closecall.embedders.base import Usage
from closecall.errors import DatasetError, StorageError
from closecall.gates.deciding import LaterGates
from closecall.ray.blocks import Block, Done
from closecall.ray.question import Identity, Question
from closecall.runs import files
from closecall.runs.gate_rule import Gate
from closecall.runs.grouping import GroupNames
from closecall.runs.header import RunHeader
from closecall.runs.nearest import nearest_labelled
from closecall.runs.parts.documents import MAX_SEAL, read_document
from closecall.runs.parts.sealing import digest_in
from closecall.runs.spending import Spending
from closecall.storage import Store, is_url, open_store


class PartTask:
    """Evaluates blocks of one run and writes their parts.

    Parameters
    ----------
    question
        As it was asked of the run.
    header
        Of the run, as its folder has it.
    place
        The parts folder, as every worker reaches it.
    driver
        What every worker has to have in common with the process that began the run.
    data
        The data set, scanned; of one on object storage only its URL travels.
    labelled
        What labelled answers stand beside unsure ones, as ``evaluate`` takes it.
    gates
        Those of the run, which note what each case has to do with them.
    """

    def __init__(
        self,
        question: Question,
        header: RunHeader,
        place: str,
        driver: Identity,
        data: Dataset,
        *,
        labelled: str | bool | None = None,
        gates: Sequence[Gate | str] = (),
    ) -> None:
        self._question, self._header, self._place = question, header, place
        self._driver, self._labelled = driver, labelled
        self._gates = gates
        self._data = None if is_url(data.place) else data
        self._sizes = None if self._data is None else _sizes(data.path)
        self._store: Store | None = None
        self._worker: BlockWorker | None = None

    def load(self) -> None:
        """Open the embedder, the data set and the folder, and see that they are the run's.

        Raises
        ------
        ClosecallError
            One of them is not there, or is another.
        """
        header = self._header
        store = open_store(self._place)
        if not store.exists(files.RUN):
            raise StorageError(
                f"{self._place}: the worker on {platform.node()} does not see the run there. The "
                "folder has to be one that all machines share, or a URL of object storage"
            )
        chosen = self._question.choose()
        decided = self._question.decided(chosen)
        self._driver.require(Identity.of(chosen, decided, header.dataset.digest))
        self._require_data(chosen.needed)
        nearest = None
        if self._labelled:
            nearest = nearest_labelled(
                self._labelled,
                chosen.made,
                chosen.embedder,
                mapping=header.dataset.mapping,
                on_bad_row=header.dataset.on_bad_row
                if isinstance(self._labelled, str)
                else "fail",
                content=header.content,
            )
        notes = LaterGates(self._gates, header) if self._gates else None
        names = None if header.content or self._data is None else GroupNames.of_data(self._data)
        self._worker = BlockWorker(
            chosen, decided, header, nearest=nearest, notes=notes, names=names
        )
        self._store = store

    def do(self, block: Block) -> Done:
        """Write the part of a block, if it is not there, and return what it is."""
        if self._worker is None or self._store is None or self._data is None:
            raise TypeError("load before blocks are done")
        cases = self._data.between(block.first, block.stop)
        made = self._worker.evaluate(cases, self._store, block.first, block.stop)
        name = made.part.name
        digest = digest_in(self._store, name).sha256
        spent = spelt(made.totals)
        return Done(block, name, block.stop - block.first, digest, spent)

    def _require_data(self, needed: frozenset[str]) -> None:
        """Open the data set, and refuse another of its name."""
        facts = self._header.dataset
        other = DatasetError(
            f"{facts.path}: the worker on {platform.node()} finds other cases there. The data set "
            "has to lie where all machines share it, or on object storage"
        )
        if self._data is not None:
            try:
                here = _sizes(self._data.path)
            except OSError as error:
                raise other from error
            if here != self._sizes:
                raise other
            return
        found = open_dataset(
            str(facts.path), mapping=facts.mapping, on_bad_row=facts.on_bad_row, needed=needed
        )
        if found.scan().digest != facts.digest:
            raise other
        self._data = found


def _sizes(path: Path) -> list[tuple[str, int]]:
    """Return the names and sizes of a data set's files; of none where there are none."""
    found = sorted(path.iterdir()) if path.is_dir() else [path]
    return [(one.name, one.stat().st_size) for one in found if one.is_file()]


def spelt(totals: Totals) -> str:
    """Return in JSON what a block took of providers; workers have no subject that answers."""
    return msgspec.json.encode({"usage": totals.usage, "spending": totals.spending}).decode()


def totals_of(text: str) -> Totals:
    """Return what ``spelt`` wrote."""
    found = msgspec.json.decode(text)
    return Totals(
        usage=None if found["usage"] is None else Usage(*found["usage"]),
        spending=None
        if found["spending"] is None
        else msgspec.convert(found["spending"], Spending),
    )


def require_as_written(store: Store, done: Sequence[Done]) -> None:
    """Refuse a folder whose parts are not, where it was sealed, what the workers wrote.

    Raises
    ------
    StorageError
        Names the first part that changed.
    """
    sealed = {
        one["name"]: one["digest"]["sha256"]
        for one in read_document(store, files.SEAL, MAX_SEAL)["subject"]
    }
    for one in done:
        if sealed.get(one.name) != one.sha256:
            raise StorageError(
                f"{store.place}/{one.name}: is not what the worker wrote there. Delete that part "
                "and seal.json, and go on with closecall eval --resume"
            )
