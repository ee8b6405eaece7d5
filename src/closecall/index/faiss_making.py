"""An empty index of faiss of a kind, and the rows and threads that it is trained with."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from closecall.errors import ConfigurationError
from closecall.index.exact import Rows
from closecall.index.kinds import Kind
from closecall.index.products import Floats32, Similarity

_SAMPLE_A_LIST = 64
_LEAST_SAMPLE = 16_384
_CODE_ROUNDS = 10


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


def empty_index(kind: Kind, width: int, similarity: Similarity, seed: int) -> Any:
    """Return an empty index of a kind for rows of this width; some have to be trained."""
    faiss = faiss_module()
    metric, options = metric_of(similarity), kind.options
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


def metric_of(similarity: Similarity) -> int:
    """Return faiss's number for a similarity; a cosine is the product of unit rows."""
    faiss = faiss_module()
    return int(faiss.METRIC_L2 if similarity == "euclidean" else faiss.METRIC_INNER_PRODUCT)


def _faiss_seed(seed: int) -> int:
    return seed % (1 << 31)


def training_rows(vectors: Rows, kind: Kind, seed: int) -> Floats32:
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
def threads_of_faiss(count: int | None) -> Iterator[None]:
    """Let faiss use so many threads meanwhile, of those there are; None: as many as it likes."""
    if count is None:
        yield
        return
    faiss = faiss_module()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(min(count, max(before, os.cpu_count() or 1)))
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def reason_of(error: RuntimeError) -> str:
    """Return what faiss says at the end of its message, after the places in its source."""
    last = str(error).rsplit(": ", maxsplit=1)[-1].splitlines() or [type(error).__name__]
    return f"{last[0]:.120}"
