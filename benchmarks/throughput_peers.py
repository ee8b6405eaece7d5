"""One contender of the throughput comparison, in a process of its own.

Started by ``throughput.py`` as ``python throughput_peers.py NAME FOLDER THREADS BATCH``, with the
Python that the contender is installed for. It answers on standard output, one JSON line a
request: first what it is, then for each ``{"texts": FILE, "vectors": FILE or left out}`` the
seconds of the wall and of the processor that the texts took. Whatever a library prints goes to
standard error. It ends with its standard input.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

# Peers look for newer files on the network otherwise.
os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "DO_NOT_TRACK": "1"}

Embed = Callable[[list[str]], Any]


class Contender(NamedTuple):
    """How one is made, and the packages it takes: the first is named with its version."""

    make: Callable[[Path, int, int], Embed]
    packages: tuple[str, ...]


def closecall(_: Path, threads: int, __: int) -> Embed:
    """Its bundled model, whatever the folder: the same weights."""
    from closecall import load_embedder

    return load_embedder("minilm", threads=threads).embed


def static(folder: Path, threads: int, _: int) -> Embed:
    """Its embedder of static models on a folder in model2vec's layout."""
    from closecall import load_embedder

    return load_embedder(f"static:{folder}", threads=threads).embed


def torch_backend(folder: Path, threads: int, batch: int) -> Embed:
    """sentence-transformers as it comes."""
    import torch

    torch.set_num_threads(threads)
    return _sentence_transformers(folder, batch)


def onnx_backend(folder: Path, threads: int, batch: int) -> Embed:
    """sentence-transformers on onnxruntime, exported here by optimum."""
    import onnxruntime
    import torch

    torch.set_num_threads(threads)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    given = {"provider": "CPUExecutionProvider", "session_options": options, "export": True}
    return _sentence_transformers(folder, batch, backend="onnx", model_kwargs=given)


def openvino_backend(folder: Path, threads: int, batch: int) -> Embed:
    """sentence-transformers on OpenVINO, exported here; float32, its default may be bfloat16."""
    import torch

    torch.set_num_threads(threads)
    config = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    given = {"export": True, "ov_config": config}
    return _sentence_transformers(folder, batch, backend="openvino", model_kwargs=given)


def _sentence_transformers(folder: Path, batch: int, **options: Any) -> Embed:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", **options)
    return lambda texts: model.encode(
        texts, batch_size=batch, normalize_embeddings=True, show_progress_bar=False
    )


def fastembed(folder: Path, threads: int, batch: int) -> Embed:
    """Its text embedding on an ONNX export made here."""
    import tempfile

    import numpy as np
    from export import export
    from fastembed import TextEmbedding

    exported = Path(
        tempfile.mkdtemp(prefix="closecall-bench-export-", dir=os.environ["BENCH_TMP"])
    )
    model = TextEmbedding(
        model_name="sentence-transformers/all-MiniLM-L6-v2",
        specific_model_path=str(export(folder, exported)),
        threads=threads,
        providers=["CPUExecutionProvider"],
    )
    return lambda texts: np.stack(list(model.embed(texts, batch_size=batch)))


def infinity(folder: Path, threads: int, batch: int) -> Embed:
    """Its engine with torch in float32, not its server."""
    import asyncio

    import torch
    from infinity_emb import AsyncEmbeddingEngine, EngineArgs

    torch.set_num_threads(threads)
    engine = AsyncEmbeddingEngine.from_args(
        EngineArgs(
            model_name_or_path=str(folder),
            engine="torch",
            device="cpu",
            dtype="float32",
            batch_size=batch,
            bettertransformer=False,
            compile=False,
            model_warmup=False,
        )
    )
    loop = asyncio.new_event_loop()
    loop.run_until_complete(engine.astart())
    return lambda texts: loop.run_until_complete(engine.embed(sentences=texts))[0]


def model2vec(folder: Path, _: int, batch: int) -> Embed:
    """Its own class; it has no threads beside the tokenizer's."""
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(str(folder))
    return lambda texts: model.encode(texts, batch_size=batch, use_multiprocessing=False)


def numpy_product(_: Path, threads: int, __: int) -> Embed:
    """Not texts: the product of two large matrices by numpy's BLAS; see ``peak``."""
    import peak

    return peak.numpy_product(threads)


def onnxruntime_product(_: Path, threads: int, __: int) -> Embed:
    """The same by onnxruntime."""
    import peak

    return peak.onnxruntime_product(threads)


CONTENDERS = {
    "closecall": Contender(closecall, ("closecall", "onnxruntime", "tokenizers")),
    "sentence-transformers": Contender(
        torch_backend, ("sentence-transformers", "torch", "transformers")
    ),
    "st-onnx": Contender(
        onnx_backend, ("sentence-transformers", "optimum-onnx", "onnxruntime", "torch")
    ),
    "st-openvino": Contender(
        openvino_backend, ("sentence-transformers", "optimum-intel", "openvino", "torch")
    ),
    "fastembed": Contender(
        fastembed, ("fastembed", "onnxruntime", "torch", "transformers", "onnx")
    ),
    "infinity-emb": Contender(infinity, ("infinity-emb", "sentence-transformers", "torch")),
    "closecall static": Contender(static, ("closecall", "tokenizers", "numpy")),
    "model2vec": Contender(model2vec, ("model2vec", "tokenizers", "numpy")),
    "numpy product": Contender(numpy_product, ("numpy",)),
    "onnxruntime product": Contender(onnxruntime_product, ("onnxruntime", "onnx")),
}


def main() -> None:
    """Make the contender and answer until the standard input ends."""
    name, folder, threads, batch = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    contender = CONTENDERS[name]

    def answer(**said: Any) -> None:
        print(json.dumps(said), file=answers, flush=True)

    missing = [package for package in contender.packages if not _installed(package)]
    if missing:
        answer(missing=f"not installed: pip install {' '.join(missing)}")
        return
    try:
        embed = contender.make(Path(folder), int(threads), int(batch))
    except Exception as error:  # noqa: BLE001 - anybody's code; the table says why it is not in it
        answer(missing=f"{type(error).__name__}: {error}"[:300])
        return
    answer(versions={package: metadata.version(package) for package in contender.packages})
    for line in sys.stdin:
        asked = json.loads(line)
        texts = json.loads(Path(asked["texts"]).read_text(encoding="utf-8"))
        wall, cpu = time.perf_counter(), time.process_time()
        vectors = embed(texts)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if "vectors" in asked:
            import numpy as np

            np.save(asked["vectors"], np.asarray(vectors, dtype=np.float32), allow_pickle=False)
        answer(wall=wall, cpu=cpu)


def _installed(package: str) -> bool:
    with contextlib.suppress(metadata.PackageNotFoundError):
        return bool(metadata.version(package))
    return False


if __name__ == "__main__":
    main()
