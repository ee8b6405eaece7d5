"""Other ways to evaluate a file of cases, each as a person would write it from its documentation.

    PYTHON benchmarks/evaluation_peers.py NAME CASES MODEL OUT THREADS

Every one does what ``closecall eval`` does: read the file, embed, take the best reference of each
case, accept it from 0.7 on, write one line a case. MODEL is a folder of sentence-transformers.
``evaluation.py`` starts them, each with the interpreter that has its packages; nothing but the
standard library is imported before NAME is known.

A metric that takes one reference gets one sample for each reference of a case.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CUTOFF = 0.7

Ready = Callable[[], None]
Case = dict[str, Any]
Scores = list[float]
"""One a pair of a reference and its case's response, in order."""


def main() -> None:
    """Evaluate a file with the peer that is named."""
    name, cases, model, out, threads = sys.argv[1:]
    rows = [json.loads(line) for line in Path(cases).read_text("utf-8").splitlines()]
    pairs = [(reference, row["response"]) for row in rows for reference in row["reference"]]

    def ready() -> None:
        """Note when the model is there and the first case may begin."""
        Path(f"{out}.ready").write_text(str(time.time()), encoding="utf-8")

    scores = PEERS[name](pairs, model, int(threads), ready)
    left = iter(scores)
    with Path(out).open("w", encoding="utf-8") as written:
        for row in rows:
            best = max(next(left) for _ in row["reference"])
            found = {"id": row["id"], "score": best, "accepted": best >= CUTOFF}
            written.write(json.dumps(found) + "\n")


def plain(pairs: list[tuple[str, str]], model: str, threads: int, ready: Ready) -> Scores:
    """Run sentence-transformers in batches of 32, which it sorts by length itself."""
    encode, similarity = _sentence_transformer(model, threads)
    ready()
    references, responses = zip(*pairs, strict=True)
    return similarity(encode(list(references)), encode(list(responses))).tolist()


def distinct(pairs: list[tuple[str, str]], model: str, threads: int, ready: Ready) -> Scores:
    """Run it on each distinct text once, all texts in one call."""
    encode, similarity = _sentence_transformer(model, threads)
    ready()
    texts = {text: at for at, text in enumerate(dict.fromkeys(t for pair in pairs for t in pair))}
    vectors = encode(list(texts))
    left, right = ([texts[pair[side]] for pair in pairs] for side in (0, 1))
    return similarity(vectors[left], vectors[right]).tolist()


def _sentence_transformer(model: str, threads: int) -> tuple[Any, Any]:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import pairwise_cos_sim

    torch.set_num_threads(threads)
    loaded = SentenceTransformer(model, device="cpu")

    def encode(texts: list[str]) -> Any:
        return loaded.encode(texts, batch_size=32, convert_to_tensor=True, show_progress_bar=False)

    return encode, pairwise_cos_sim


def ragas(pairs: list[tuple[str, str]], model: str, threads: int, ready: Ready) -> Scores:
    """Run its metric by its own batch call, with its own class for local models."""
    import torch
    from ragas.embeddings import HuggingFaceEmbeddings
    from ragas.metrics.collections import SemanticSimilarity

    torch.set_num_threads(threads)
    metric = SemanticSimilarity(embeddings=HuggingFaceEmbeddings(model=model, device="cpu"))
    ready()
    samples = [{"reference": reference, "response": response} for reference, response in pairs]
    return [found.value for found in asyncio.run(metric.abatch_score(samples))]


def ragas_evaluate(pairs: list[tuple[str, str]], model: str, threads: int, ready: Ready) -> Scores:
    """Run it through ``evaluate`` and the wrapper of a LangChain embedder."""
    import torch
    from langchain_huggingface import HuggingFaceEmbeddings
    from ragas import EvaluationDataset, SingleTurnSample, evaluate
    from ragas.embeddings import LangchainEmbeddingsWrapper
    from ragas.metrics import SemanticSimilarity

    torch.set_num_threads(threads)
    embeddings = LangchainEmbeddingsWrapper(
        HuggingFaceEmbeddings(model_name=model, model_kwargs={"device": "cpu"})
    )
    ready()
    samples = [
        SingleTurnSample(reference=reference, response=response) for reference, response in pairs
    ]
    found = evaluate(
        EvaluationDataset(samples=samples),
        metrics=[SemanticSimilarity(embeddings=embeddings)],
        show_progress=False,
    )
    return list(found["semantic_similarity"])


def llama_index(pairs: list[tuple[str, str]], model: str, threads: int, ready: Ready) -> Scores:
    """Run its evaluator through its own runner of batches."""
    import torch
    from llama_index.core.evaluation import BatchEvalRunner, SemanticSimilarityEvaluator
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

    torch.set_num_threads(threads)
    embedder = HuggingFaceEmbedding(model_name=model, device="cpu")
    evaluator = SemanticSimilarityEvaluator(embed_model=embedder, similarity_threshold=CUTOFF)
    ready()
    references, responses = zip(*pairs, strict=True)
    runner = BatchEvalRunner({"similarity": evaluator}, workers=threads)
    found = asyncio.run(
        runner.aevaluate_response_strs(
            queries=list(responses), response_strs=list(responses), reference=list(references)
        )
    )
    return [one.score for one in found["similarity"]]


def deepeval(pairs: list[tuple[str, str]], model: str, threads: int, ready: Ready) -> Scores:
    """Run a metric of one's own as its documentation shows, one case at a time."""
    import torch
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import cos_sim

    torch.set_num_threads(threads)
    loaded = SentenceTransformer(model, device="cpu")

    class Similarity(BaseMetric):
        def __init__(self, threshold: float) -> None:
            self.threshold = threshold

        def measure(self, test_case: LLMTestCase) -> float:
            first, second = loaded.encode(
                [test_case.expected_output, test_case.actual_output], show_progress_bar=False
            )
            self.score = float(cos_sim(first, second))
            self.success = self.score >= self.threshold
            return self.score

        async def a_measure(self, test_case: LLMTestCase) -> float:
            return self.measure(test_case)

        def is_successful(self) -> bool:
            return bool(self.success)

        @property
        def __name__(self) -> str:
            return "Similarity"

    metric = Similarity(CUTOFF)
    ready()
    return [
        metric.measure(LLMTestCase(input="", expected_output=reference, actual_output=response))
        for reference, response in pairs
    ]


PEERS: dict[str, Callable[[list[tuple[str, str]], str, int, Ready], Scores]] = {
    "sentence-transformers": plain,
    "sentence-transformers-distinct": distinct,
    "ragas": ragas,
    "ragas-evaluate": ragas_evaluate,
    "llama-index": llama_index,
    "deepeval": deepeval,
}

if __name__ == "__main__":
    main()
