"""What faiss does of an index: it proposes positions, which are then scored exactly.

Positions in faiss are those of the rows, from 0. A removed row stays in faiss and is kept from
being proposed, as not every kind can remove; the part is built again when too many are gone.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from closecall.errors import ConfigurationError, IndexFolderError, UsageError
from closecall.index.exact import BLOCK_ELEMENTS, Rows
from closecall.index.faiss_file import check_faiss_file
from closecall.index.kinds import Kind
from closecall.index.products import Floats32, Positions, Similarity, unit_rows

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how much is done, and how much there is (None: unknown)."""

DEVICES = ("cpu", "cuda")
ON_CUDA = ("flat", "ivf", "ivfpq")

_SAMPLE_A_LIST = 64
_LEAST_SAMPLE = 16_384
_CODE_ROUNDS = 10
_SMALL = 1 << 22
"""Numbers that one thread trains on sooner than several that wait for each other."""

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
        """
        rows, width = vectors.shape
        part = cls(kind, _made(kind, width, similarity, seed), similarity)
        tell = progress or _silent
        if not part._index.is_trained:
            sample = part._fit(_sample(vectors, kind, seed))
            tell("train", 0, sample.shape[0])
            # Codes train in many short steps; threads that wait for each other at every one of
            # them took ten times as long on a busy machine.
            with _threads(1 if sample.size < _SMALL or kind.name == "ivfpq" else None):
                part._index.train(sample)
            tell("train", sample.shape[0], sample.shape[0])
        step = max(1, BLOCK_ELEMENTS // max(1, width))
        for start in range(0, rows, step):
            part.add(vectors[start : start + step], threads=threads)
            tell("index", min(start + step, rows), rows)
        return part

    def add(self, rows: Floats32, *, threads: int) -> None:
        """Add rows after those there are."""
        with _threads(threads if self.kind.name == "hnsw" else None):
            fitted = self._fit(rows)
            self._cpu.add(fitted)
            if self._index is not self._cpu:
                self._index.add(fitted)

    def propose(
        self, queries: Floats32, count: int, keep: NDArray[np.bool_] | None
    ) -> tuple[Positions, Floats32]:
        """Return (q, count) positions, -1 where fewer were found, and faiss's own numbers."""
        asked = self._fit(queries)
        if keep is None and self.kind.name not in {"hnsw", "ivf", "ivfpq"}:
            numbers, positions = self._index.search(asked, count)
        else:
            numbers, positions = self._index.search(
                asked, count, params=self._parameters(count, keep)
            )
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
        moved = faiss.index_cpu_to_gpu(self._resources, 0, self._cpu, options)
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

    def write(self, path: Path) -> None:
        """Write faiss's own file."""
        faiss_module().write_index(self._cpu, str(path))

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
        metric = _metric(similarity)
        check_faiss_file(path, kind, rows=rows, width=width, metric=metric)
        try:
            index = faiss.read_index(str(path))
        except RuntimeError as error:
            reason = str(error).rsplit(": ", maxsplit=1)[-1].splitlines()[0]
            raise IndexFolderError(f"{path}: faiss cannot read it: {reason:.120}") from error
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

    def _fit(self, rows: Floats32) -> Floats32:
        """Return rows as this index takes them: a cosine is the product of unit rows."""
        if self.similarity == "cosine":
            return unit_rows(rows)
        return np.ascontiguousarray(rows, dtype=np.float32)


def faiss_module() -> Any:
    """Return faiss, loaded on first use.

    Raises
    ------
    ConfigurationError
        It cannot be loaded.
    """
    try:
        return importlib.import_module("faiss")
    except ImportError as error:
        raise ConfigurationError(
            f"faiss cannot be loaded ({error}); install it with: pip install faiss-cpu, "
            "or use the kind exact, which needs none"
        ) from error


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


def _made(kind: Kind, width: int, similarity: Similarity, seed: int) -> Any:
    faiss = faiss_module()
    metric, options = _metric(similarity), kind.options
    if kind.name == "flat":
        flat = faiss.IndexFlatL2 if metric == faiss.METRIC_L2 else faiss.IndexFlatIP
        return flat(width)
    if kind.name == "hnsw":
        graph = faiss.IndexHNSWFlat(width, options["m"], metric)
        graph.hnsw.efConstruction = options["ef_construction"]
        return graph
    if kind.name in {"sq8", "sqfp16"}:
        code = "QT_8bit" if kind.name == "sq8" else "QT_fp16"
        return faiss.IndexScalarQuantizer(width, getattr(faiss.ScalarQuantizer, code), metric)
    centres = faiss.IndexFlatL2(width) if metric == faiss.METRIC_L2 else faiss.IndexFlatIP(width)
    if kind.name == "ivf":
        lists = faiss.IndexIVFFlat(centres, width, options["nlist"], metric)
    else:
        lists = faiss.IndexIVFPQ(centres, width, options["nlist"], options["m"], 8, metric)
        lists.pq.cp.seed = _faiss_seed(seed)
        lists.pq.cp.min_points_per_centroid = 1
        lists.pq.cp.max_points_per_centroid = _SAMPLE_A_LIST
        lists.pq.cp.niter = _CODE_ROUNDS
    lists.cp.seed = _faiss_seed(seed)
    lists.cp.min_points_per_centroid = 1  # else it prints a warning
    return lists


def _metric(similarity: Similarity) -> int:
    faiss = faiss_module()
    return int(faiss.METRIC_L2 if similarity == "euclidean" else faiss.METRIC_INNER_PRODUCT)


def _faiss_seed(seed: int) -> int:
    return seed % (1 << 31)


def _sample(vectors: Rows, kind: Kind, seed: int) -> Floats32:
    """Return rows to train on: 64 a list and at least 16,384, or all there are."""
    rows = vectors.shape[0]
    wanted = max(_LEAST_SAMPLE, _SAMPLE_A_LIST * kind.options.get("nlist", 0))
    if rows <= wanted:
        every: Floats32 = vectors[0:rows]
        return every
    chosen = np.random.default_rng(seed).choice(rows, size=wanted, replace=False, shuffle=False)
    sample: Floats32 = vectors[np.sort(chosen)]
    return sample


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Let faiss use so many threads meanwhile; None: as many as it likes."""
    if count is None:
        yield
        return
    faiss = faiss_module()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _silent(stage: str, done: int, total: int | None) -> None:
    del stage, done, total
