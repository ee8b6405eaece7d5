"""Rows and vectors in clumps, as passages have them, and small helpers around an index."""

import numpy as np

from closecall.index.building import build_index

KINDS = ("exact", "flat", "hnsw", "ivf", "ivfpq", "sq8", "sqfp16")
APPROXIMATE = ("hnsw", "ivf", "ivfpq", "sq8", "sqfp16")
SIMILARITIES = ("cosine", "dot", "euclidean")
N, D = 400, 16


def vectors(n=N, d=D, seed=1):
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(12, d))
    # The first rows are the same whatever n is.
    near = centres[np.arange(n) * 5 % 12] + 0.4 * chance.normal(size=(n, d))
    return near.astype(np.float32)


def rows(n=N):
    # Ids in an order of their own, so that a tie by id is not a tie by position.
    return [
        (
            f"p{(i * 7919) % 100003:06d}",
            f"passage {i}",
            {"lang": ("de", "en", "fr")[i % 3], "year": 2000 + i % 25},
        )
        for i in range(n)
    ]


def made(kind="exact", n=N, path=None, similarity="cosine", **options):
    return build_index(
        rows(n), path, vectors=vectors(n), kind=kind, similarity=similarity, **options
    )


def told(hits):
    return [(hit.id, hit.score) for hit in hits]


def files(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }
