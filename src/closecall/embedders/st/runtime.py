"""A model made ready to run by sentence-transformers and torch, and held against its folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Vectors
from closecall.embedders.onnx_runtime import Ids
from closecall.embedders.st.layout import StLayout
from closecall.embedders.st.options import StOptions
from closecall.embedders.st.slow import SlowTokenizer
from closecall.embedders.st.untrained import require_trained
from closecall.embedders.st.weights import Identity, require_unchanged
from closecall.errors import ConfigurationError, EmbeddingError, MissingExtraError, ModelError

_LIBRARY = "sentence_transformers."
_NO_MEMORY = (
    "out of memory", "not enough memory", "can't allocate memory", "invalid buffer size",
)  # fmt: skip
_LEAST_LIBRARY = 5
_NAMED_DTYPE = 5
"""The major version of transformers from which the precision is called dtype."""


class OutOfMemory(Exception):  # noqa: N818 - told to nobody but the batches
    """The device had not the memory for a batch."""


class _Libraries(NamedTuple):
    torch: Any
    sentence: Any
    transformers: Any


class Loaded(NamedTuple):
    """A model and its tokenizer; see ``onnx_reading.Tokenizing`` for what reading needs.

    ``modules`` are called one after the other, the transformer first. ``pad`` fills rows up;
    ``types``: whether the model is told of token types, which are all 0; ``places``: whether
    the tokenizer says where in the text each token stands.
    """

    modules: tuple[Any, ...]
    tokenizer: Any
    before: Ids
    after: Ids
    unknown: int
    cuttable: bool
    pad: int
    types: bool
    places: bool
    device: str
    layout: StLayout

    def run(self, rows: Sequence[Ids], *, hidden: bool) -> tuple[Vectors, Vectors | None]:
        """Return the vectors of windows, and their token vectors where they are wanted.

        Parameters
        ----------
        rows
            int32, (s,) each, special tokens included, none empty.
        hidden
            Whether the last hidden states are wanted: float32, (n, s, d), d as ``dims``.

        Raises
        ------
        OutOfMemory
            If the device has not the memory for them.
        EmbeddingError
            If torch fails in another way.
        """
        import torch

        try:
            with torch.inference_mode():
                features = self._features(torch, rows)
                features = self.modules[0](features)
                # Pooling and what follows it are computed in float32, whatever the precision.
                states = features["token_embeddings"] = features["token_embeddings"].float()
                for module in self.modules[1:]:
                    features = module(features)
                vectors = features["sentence_embedding"].float().cpu().numpy()
                found = states[..., : self.layout.dims].cpu().numpy() if hidden else None
        except (RuntimeError, MemoryError) as error:
            problem = error
        else:
            return self._cut(vectors), found
        # Outside of the handler, whose traceback would keep the tensors alive.
        if not _is_out_of_memory(problem):
            raise EmbeddingError(f"torch failed: {_first_line(problem)}") from problem
        problem.__traceback__ = None
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
        raise OutOfMemory(_first_line(problem))

    def _features(self, torch: Any, rows: Sequence[Ids]) -> dict[str, Any]:
        longest = max(len(row) for row in rows)
        ids = np.full((len(rows), longest), self.pad, dtype=np.int64)
        mask = np.zeros_like(ids)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
            mask[at, : len(row)] = 1
        features = {"input_ids": ids, "attention_mask": mask}
        if self.types:
            features["token_type_ids"] = np.zeros_like(ids)
        return {name: torch.from_numpy(array).to(self.device) for name, array in features.items()}

    def _cut(self, vectors: Vectors) -> Vectors:
        """Return the first ``dims`` numbers, of length 1 again if the whole vectors had it."""
        if vectors.shape[1] == self.layout.dims:
            return vectors
        cut = vectors[:, : self.layout.dims]
        if not self.layout.normalize:
            return cut
        lengths = np.sqrt(np.square(cut, dtype=np.float64).sum(axis=1, keepdims=True))
        scaled: NDArray[Any] = cut / np.where(lengths > 0, lengths, 1.0)
        return scaled.astype(np.float32)


def load(layout: StLayout, identity: Identity, options: StOptions, threads: int | None) -> Loaded:
    """Load a model; importing the libraries alone takes some seconds.

    The folder is read as it was hashed: a file that changed meanwhile is refused.

    Raises
    ------
    MissingExtraError
        If torch or sentence-transformers is not installed.
    ConfigurationError
        If the device asked for is not there.
    ModelError
        If the libraries cannot load it, or make something else of it than its folder says.
    """
    require_unchanged(layout, identity)
    libraries = _libraries()
    torch = libraries.torch
    device = choose_device(torch, options.device)
    if threads is not None:
        torch.set_num_threads(threads)
    model = _model(libraries, layout, options.precision, device, 0)
    require_unchanged(layout, identity)
    modules = tuple(model.children())
    _require_modules(modules, layout)
    for module in modules[1:]:
        module.float()
    require_trained(
        modules[0], layout, lambda: _model(libraries, layout, options.precision, "cpu", 1)
    )
    loaded = _joined(model, modules, layout, device)
    _require_shapes(torch, loaded, options.precision)
    return loaded


def choose_device(torch: Any, asked: str) -> str:
    """Return the device to run on; ``auto`` takes cuda, else mps, else cpu.

    Raises
    ------
    ConfigurationError
        If a device is asked for that is not there.
    """
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = torch.backends.mps.is_available()
    if asked == "auto":
        return "cuda" if cards else "mps" if mps else "cpu"
    kind, _, number = asked.partition(":")
    there = {"cpu": True, "mps": mps, "cuda": int(number or 0) < cards}[kind]
    if not there:
        have = ["cpu", *(f"cuda:{card}" for card in range(cards)), *(["mps"] if mps else [])]
        raise ConfigurationError(
            f"device {asked} was asked for, but torch {torch.__version__} finds only "
            f"{', '.join(have)} here. Choose one of those, or device=auto for the best there is"
        )
    return asked


def _libraries() -> _Libraries:
    try:
        import sentence_transformers
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError(
            "A model of sentence-transformers (st:)", "torch", ["sentence-transformers", "torch"]
        ) from error
    version = sentence_transformers.__version__
    if int(version.split(".")[0]) < _LEAST_LIBRARY:
        raise ConfigurationError(
            f"sentence-transformers {version} is installed; {_LEAST_LIBRARY} or later is needed, "
            "as older versions open pickled weights. Install with: pip install 'closecall[torch]'"
        )
    return _Libraries(torch, sentence_transformers, transformers)


def _model(libraries: _Libraries, layout: StLayout, precision: str, device: str, seed: int) -> Any:
    torch, library, transformers = libraries

    kinds = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
    major = int(transformers.__version__.split(".")[0])
    named = "dtype" if major >= _NAMED_DTYPE else "torch_dtype"
    try:
        # Weights that no file holds are drawn; the seed tells them, the caller's draws stay.
        with torch.random.fork_rng(devices=[]), _quiet(transformers):
            torch.default_generator.manual_seed(seed)
            model = library.SentenceTransformer(
                str(layout.folder),
                device=device,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={named: kinds[precision], "use_safetensors": True},
            )
    except Exception as error:  # the libraries raise whatever their parts raise
        if _is_out_of_memory(error):
            raise ConfigurationError(
                f"{layout.folder}: {device} has not the memory to hold the model: "
                f"{_first_line(error)}"
            ) from error
        raise ModelError(
            f"{layout.folder}: sentence-transformers {library.__version__} cannot load it: "
            f"{type(error).__name__}: {_first_line(error)}"
        ) from error
    return model.eval()


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Keep progress bars and reports of loading off the terminal; errors are raised anyway."""
    logs = transformers.utils.logging
    level, bars = logs.get_verbosity(), logs.is_progress_bar_enabled()
    logs.set_verbosity_error()
    logs.disable_progress_bar()
    try:
        yield
    finally:
        logs.set_verbosity(level)
        if bars:
            logs.enable_progress_bar()


def _require_modules(modules: Sequence[Any], layout: StLayout) -> None:
    found = [type(module) for module in modules]
    foreign = [kind for kind in found if not kind.__module__.startswith(_LIBRARY)]
    names = [kind.__name__ for kind in found]
    if foreign or names != [module.kind for module in layout.modules]:
        raise ModelError(
            f"{layout.folder}: loaded as {', '.join(names)}, but modules.json says {layout.chain}"
        )


def _joined(model: Any, modules: tuple[Any, ...], layout: StLayout, device: str) -> Loaded:
    tokenizer = model.tokenizer
    if not callable(getattr(tokenizer, "convert_tokens_to_ids", None)):
        raise ModelError(f"{layout.folder}: no tokenizer of texts was loaded")
    sample = tokenizer("a", return_special_tokens_mask=True, return_token_type_ids=True)
    if any(sample.get("token_type_ids") or ()):
        raise ModelError(
            f"{layout.folder}: its tokenizer gives texts token types other than 0, which are not "
            "kept up in windows"
        )
    mask = sample["special_tokens_mask"]
    content = [at for at, special in enumerate(mask) if not special]
    if not content:
        raise ModelError(f"{layout.folder}: its tokenizer makes no token of the letter a")
    ids = np.array(sample["input_ids"], dtype=np.int32)
    fast = bool(tokenizer.is_fast)
    backend: Any = tokenizer.backend_tokenizer if fast else SlowTokenizer(tokenizer)
    if fast:
        # Published files often cut and pad; lengths are the embedder's to decide.
        backend.no_truncation()
        backend.no_padding()
    unknown = tokenizer.unk_token_id
    return Loaded(
        modules=modules,
        tokenizer=backend,
        before=ids[: content[0]],
        after=ids[content[-1] + 1 :],
        unknown=-1 if unknown is None else int(unknown),
        cuttable=fast
        and type(backend.pre_tokenizer).__name__ == "BertPreTokenizer"
        and type(backend.normalizer).__name__ in ("BertNormalizer", "NoneType"),
        pad=int(tokenizer.pad_token_id or 0),
        types="token_type_ids" in tokenizer.model_input_names
        and "token_type_ids" in signature(modules[0].auto_model.forward).parameters,
        places=fast,
        device=device,
        layout=layout,
    )


def _require_shapes(torch: Any, loaded: Loaded, precision: str) -> None:
    """Run one short text and hold what comes out against what the folder says."""
    layout = loaded.layout
    row = np.concatenate([loaded.before, [loaded.pad], loaded.after]).astype(np.int32)
    vectors, hidden = loaded.run([row], hidden=True)
    found = (vectors.shape[-1], 0 if hidden is None else hidden.shape[-1])
    wanted = (layout.dims, min(layout.dims, layout.hidden))
    if found != wanted:
        raise ModelError(
            f"{layout.folder}: its vectors and token vectors have {found[0]} and {found[1]} "
            f"numbers, but its configuration says {wanted[0]} and {wanted[1]}"
        )
    kind = next(
        (p.dtype for p in loaded.modules[0].parameters() if p.is_floating_point()), torch.float32
    )
    names = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}
    if names.get(kind) != precision:
        raise ModelError(f"{layout.folder}: asked for {precision}, but it was loaded as {kind}")


def _is_out_of_memory(error: BaseException) -> bool:
    text = str(error).lower()
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or any(words in text for words in _NO_MEMORY)
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
