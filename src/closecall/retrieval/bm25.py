"""Search by words: BM25, the baseline that an embedder has to beat.

Scores are those of bm25s with ``method="lucene"``: for each word of the question the document
holds, ``ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 (1 - b + b dl / avgdl))`` (Robertson
and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; in the form of Lucene,
Kamphuis et al., ECIR 2020). Words are lower-cased runs of letters and digits of any script, each
sign of a script without spaces one of its own; no stemmer and no stop words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from closecall.metrics.lexical.tokenizers import alnum_tokens
from closecall.retrieval.collection import Collection, Query
from closecall.retrieval.ranking import Ranking, ranked

KIND = "bm25"
NAME = "BM25"
K1 = 1.5
B = 0.75
METHOD = "lucene"


def search_bm25(
    collection: Collection,
    queries: Sequence[Query],
    *,
    depth: int,
    title: bool = True,
    k1: float = K1,
    b: float = B,
) -> Ranking:
    """Return the documents that share words with each question, best first.

    A document that shares none is not found, so a question may find fewer than ``depth`` or
    nothing, which counts as that. Equal scores go by id.

    Parameters
    ----------
    collection, queries
        What is searched, and for what.
    depth
        How many documents of a question are kept.
    title
        Whether a document's title stands before its text.
    k1, b
        How soon more of the same word stops to count, and how much a long document loses.
    """
    bodies = [document.body(title=title) for document in collection.documents]
    corpus = [alnum_tokens(body) for body in bodies]
    depth = min(depth, len(bodies))
    positions = np.full((len(queries), depth), -1, dtype=np.int64)
    scores = np.zeros((len(queries), depth))
    wordless = 0
    if any(corpus):
        import bm25s

        index = bm25s.BM25(k1=k1, b=b, method=METHOD, backend="numpy")
        index.index(corpus, show_progress=False)
        for row, query in enumerate(queries):
            known = index.get_tokens_ids(alnum_tokens(query.text))
            wordless += not known
            if known:
                found = np.asarray(index.get_scores_from_ids(known), dtype=np.float64)
                positions[row], scores[row] = ranked(found, depth, above=0.0)
    else:
        wordless = len(queries)
    notes = []
    if wordless:
        notes.append(
            f"{wordless:,} of {len(queries):,} questions share no word with any document: "
            "nothing found"
        )
    return Ranking(
        name=NAME,
        kind=KIND,
        queries=tuple(query.id for query in queries),
        ids=[document.id for document in collection.documents],
        positions=positions,
        scores=scores,
        facts={
            "library": f"bm25s {_version()}",
            "method": METHOD,
            "k1": k1,
            "b": b,
            "words": "lower-cased runs of letters and digits; no stemmer, no stop words",
            "title": title,
        },
        notes=tuple(notes),
    )


def _version() -> str:
    from importlib.metadata import version

    return version("bm25s")
