"""What faiss does of an index: it proposes positions, which are then scored exactly.

Positions in faiss are those of the rows, from 0. A removed row stays in faiss and is kept from
being proposed, as not every kind can remove; the part is built again when too many are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from closecall.errors import ConfigurationError, IndexFolderError, NonFiniteError, UsageError
from closecall.index.exact import BLOCK_ELEMENTS, Rows
from closecall.index.faiss_file import check_faiss_file
from closecall.index.faiss_making import (
    empty_index,
    faiss_module,
    metric_of,
    reason_of,
    threads_of_faiss,
    training_rows,
)
from closecall.index.kinds import Kind
from closecall.index.products import Block, Floats32, Positions, Similarity, block_of, unit_rows

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how much is done, and how much there is (None: unknown)."""

DEVICES = ("cpu", "cuda")
ON_CUDA = ("flat", "ivf", "ivfpq")
_SELECTED_ON_CUDA = 2048
"""Rows that faiss selects of a query on a GPU."""

_SMALL = 1 << 22
"""Numbers that one thread trains on sooner than several that wait for each other."""

_IN_LISTS = ("ivf", "ivfpq")
_LONGEST = 2.0**60
"""Length of a row in a list: faiss squares distances in float32, and ends the process beyond."""

_CLASSES = {
    "flat": "IndexFlat",
    "hnsw": "IndexHNSWFlat",
    "ivf": "IndexIVFFlat",
    "ivfpq": "IndexIVFPQ",
    "sq8": "IndexScalarQuantizer",
    "sqfp16": "IndexScalarQuantizer",
}


class FaissPart:
    """A faiss index of one kind over rows of one width."""

    def __init__(self, kind: Kind, index: Any, similarity: Similarity) -> None:
        self.kind = kind
        self.similarity = similarity
        self._index = index
        self._cpu = index

    @property
    def rows(self) -> int:
        """How many rows it holds, removed ones included."""
        return int(self._index.ntotal)

    @classmethod
    def build(
        cls,
        kind: Kind,
        vectors: Rows,
        *,
        similarity: Similarity,
        seed: int,
        threads: int,
        progress: Progress | None = None,
    ) -> FaissPart:
        """Train on a seeded sample and add every row, in blocks.

        The same rows, seed and machine give the same index: a graph is linked by one thread
        unless ``threads`` says otherwise, when it may differ from build to build.

        Raises
        ------
        NonFiniteError, ZeroVectorError
            A row that faiss cannot take; the message gives its place.
        """
        rows, width = vectors.shape
        part = cls(kind, empty_index(kind, width, similarity, seed), similarity)
        tell = progress or _silent
        if not part._index.is_trained:
            sample = part._taken(training_rows(vectors, kind, seed), 0)
            tell("train", 0, sample.shape[0])
            # Codes train in many short steps; threads that wait for each other at every one of
            # them took ten times as long on a busy machine.
            with threads_of_faiss(1 if sample.size < _SMALL or kind.name == "ivfpq" else None):
                part._index.train(sample)
            tell("train", sample.shape[0], sample.shape[0])
        step = max(1, BLOCK_ELEMENTS // max(1, width))
        for start in range(0, rows, step):
            part.add(vectors[start : start + step], threads=threads, first=start)
            tell("index", min(start + step, rows), rows)
        return part

    def add(self, rows: Floats32, *, threads: int, first: int = 0) -> None:
        """Add rows after those there are; messages count from ``first``.

        Raises
        ------
        NonFiniteError, ZeroVectorError
            A row that faiss cannot take; nothing was added.
        """
        fitted = self._taken(rows, first)
        with threads_of_faiss(threads if self.kind.name == "hnsw" else None):
            self._cpu.add(fitted)
            if self._index is not self._cpu:
                self._index.add(fitted)

    def require(self, block: Block, first: int = 0) -> None:
        """Refuse rows that this index cannot take, before anything is changed.

        Raises
        ------
        NonFiniteError
            The squared distances of one are beyond the range of float32; the message gives its
            place, counted from ``first``, and its length.
        """
        if self.similarity == "cosine" or self.kind.name not in _IN_LISTS:
            return
        longest = int(block.squares.argmax()) if block.squares.size else 0
        if block.squares.size and block.squares[longest] > _LONGEST**2:
            raise NonFiniteError(
                f"vectors, row {first + longest}: its length is "
                f"{block.squares[longest] ** 0.5:.3g}, and the kind {self.kind.name} takes at "
                f"most {_LONGEST:.3g}; scale the vectors down, or use the kind exact or flat"
            )

    def propose(
        self, queries: Floats32, count: int, keep: NDArray[np.bool_] | None
    ) -> tuple[Positions, Floats32]:
        """Return (q, count) positions, -1 where fewer were found, and faiss's own numbers.

        Raises
        ------
        ConfigurationError
            A GPU cannot do it, for want of memory for example.
        """
        asked = self._fit(queries)
        plain = keep is None and self.kind.name not in {"hnsw", "ivf", "ivfpq"}
        more = {} if plain else {"params": self._parameters(count, keep)}
        try:
            numbers, positions = self._index.search(asked, count, **more)
        except RuntimeError as error:
            if self._index is self._cpu:
                raise
            raise ConfigurationError(
                f"device cuda: faiss cannot search there: {reason_of(error)}; use device cpu"
            ) from error
        return positions, numbers

    def tuned(self, kind: Kind) -> FaissPart:
        """Return the same index, searched with other options."""
        part = FaissPart(kind, self._index, self.similarity)
        part._cpu = self._cpu
        return part

    def to(self, device: str) -> None:
        """Search on this device from now on.

        Raises
        ------
        ConfigurationError
            This build of faiss has no GPU code, there is no GPU, or the index is not on it
            afterwards. Nothing falls back to the CPU.
        UsageError
            No such device, or this kind is not made for it.
        """
        require_device(device, self.kind)
        if device == "cpu":
            self._index = self._cpu
            return
        faiss = faiss_module()
        options = faiss.GpuClonerOptions()
        options.useFloat16LookupTables = self.kind.name == "ivfpq"
        self._resources = faiss.StandardGpuResources()
        try:
            moved = faiss.index_cpu_to_gpu(self._resources, 0, self._cpu, options)
        except RuntimeError as error:
            raise ConfigurationError(
                f"device cuda: faiss cannot put the {self.kind.name} index there: "
                f"{reason_of(error)}; use device cpu"
            ) from error
        if not isinstance(moved, faiss.GpuIndex) or moved.getDevice() != 0:
            raise ConfigurationError(
                f"device cuda: faiss left the {self.kind.name} index on the CPU "
                f"({type(moved).__name__}); use device cpu"
            )
        self._index = moved

    @property
    def takes_filters(self) -> bool:
        """Whether a search can be kept to some rows where it runs now."""
        return self._index is self._cpu

    def takes(self, count: int) -> bool:
        """Whether so many positions can be proposed where it runs now."""
        return self._index is self._cpu or count <= _SELECTED_ON_CUDA

    def write(self, path: Path) -> None:
        """Write faiss's own file, and look at it: faiss does not say when its last bytes are lost.

        Raises
        ------
        OSError
            It cannot be written whole.
        """
        index = self._cpu
        try:
            faiss_module().write_index(index, str(path))
            check_faiss_file(
                path, self.kind, rows=self.rows, width=int(index.d), metric=int(index.metric_type)
            )
        except (RuntimeError, IndexFolderError) as error:
            raise OSError(f"faiss could not write {path.name} whole") from error

    @classmethod
    def read(
        cls, path: Path, kind: Kind, *, rows: int, width: int, similarity: Similarity
    ) -> FaissPart:
        """Read faiss's own file, whose bytes were hashed before and are looked through here.

        Raises
        ------
        IndexFolderError
            faiss cannot read it, or it is not the index that ``index.json`` speaks of.
        """
        faiss = faiss_module()
        metric = metric_of(similarity)
        check_faiss_file(path, kind, rows=rows, width=width, metric=metric)
        try:
            index = faiss.read_index(str(path))
        except RuntimeError as error:
            raise IndexFolderError(f"{path}: faiss cannot read it: {reason_of(error)}") from error
        wanted = {
            "class": _CLASSES[kind.name],
            "rows": rows,
            "width": width,
            "metric": metric,
            "trained": True,
        }
        found = {
            "class": type(index).__name__,
            "rows": int(index.ntotal),
            "width": int(index.d),
            "metric": int(index.metric_type),
            "trained": bool(index.is_trained),
        }
        for fact, value in wanted.items():
            if found[fact] != value:
                raise IndexFolderError(
                    f"{path}: not the index that index.json speaks of: {fact} is {found[fact]}, "
                    f"expected {value}"
                )
        return cls(kind, index, similarity)

    def _parameters(self, count: int, keep: NDArray[np.bool_] | None) -> Any:
        faiss = faiss_module()
        facts: dict[str, Any] = {}
        if keep is not None:
            facts["sel"] = faiss.IDSelectorBitmap(np.packbits(keep, bitorder="little"))
        options = self.kind.options
        if self.kind.name == "hnsw":
            return faiss.SearchParametersHNSW(efSearch=max(options["ef"], 2 * count), **facts)
        if "nprobe" in options:
            return faiss.SearchParametersIVF(nprobe=options["nprobe"], **facts)
        return faiss.SearchParameters(**facts)

    def _taken(self, rows: Floats32, first: int) -> Floats32:
        """Return rows that are to be kept as this index takes them, each checked."""
        if self.similarity == "cosine":
            return unit_rows(rows, first)
        block = block_of(rows, "vectors", first, refuse_zero=False)
        self.require(block, first)
        return block.rows

    def _fit(self, rows: Floats32) -> Floats32:
        """Return rows as this index takes them: a cosine is the product of unit rows."""
        if self.similarity == "cosine":
            return unit_rows(rows)
        return np.ascontiguousarray(rows, dtype=np.float32)


def require_device(device: str, kind: Kind) -> None:
    """Refuse a device that is not there, or on which this kind cannot be searched.

    Raises
    ------
    ConfigurationError, UsageError
        As for ``FaissPart.to``.
    """
    if device not in DEVICES:
        raise UsageError(f"device {device!r}: choose one of {', '.join(DEVICES)}")
    if device == "cpu":
        return
    if kind.name not in ON_CUDA:
        raise UsageError(
            f"device cuda: the kind {kind.name} runs on the CPU only; "
            f"on a GPU there are {', '.join(ON_CUDA)}"
        )
    faiss = faiss_module()
    if not hasattr(faiss, "StandardGpuResources"):
        raise ConfigurationError(
            "device cuda: this faiss is built for the CPU; install faiss-gpu in place of "
            "faiss-cpu, or use device cpu"
        )
    if faiss.get_num_gpus() < 1:
        raise ConfigurationError("device cuda: faiss sees no GPU; use device cpu")


def _silent(stage: str, done: int, total: int | None) -> None:
    del stage, done, total
