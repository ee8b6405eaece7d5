"""A model made ready to run by sentence-transformers and torch, and held against its folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from closecall.embedders.st.compiling import compiled
from closecall.embedders.st.flow import Flow, flow_for
from closecall.embedders.st.layout import StLayout
from closecall.embedders.st.loaded import Loaded, first_line, is_out_of_memory
from closecall.embedders.st.options import StOptions
from closecall.embedders.st.slow import SlowTokenizer
from closecall.embedders.st.untrained import require_trained
from closecall.embedders.st.weights import Identity, require_unchanged
from closecall.errors import ConfigurationError, MissingExtraError, ModelError

CPU_TOKENS = 2048
DEVICE_TOKENS = 32_768
"""Most tokens in one pass, padding included, on the CPU and on other devices."""

_LIBRARY = "sentence_transformers."
_LEAST_LIBRARY = 5
_NAMED_DTYPE = 5
"""The major version of transformers from which the precision is called dtype."""


class _Libraries(NamedTuple):
    torch: Any
    sentence: Any
    transformers: Any


def load(
    layout: StLayout,
    identity: Identity,
    options: StOptions,
    threads: int | None,
    flow: Flow | None = None,
) -> Loaded:
    """Load a model; importing the libraries alone takes some seconds.

    The folder is read as it was hashed: a file that changed meanwhile is refused. ``flow`` says
    how the device is fed, None: as suits it.

    Raises
    ------
    MissingExtraError
        If torch or sentence-transformers is not installed.
    ConfigurationError
        If the device asked for is not there, or the model cannot be compiled as was asked.
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
    flow = flow_for(device) if flow is None else flow
    flow = flow._replace(few=flow.few or options.compile)
    most = CPU_TOKENS if device == "cpu" else DEVICE_TOKENS
    loaded = _joined(model, modules, layout, device)._replace(
        flow=flow, tokens=most if options.batch_tokens is None else options.batch_tokens
    )
    _require_shapes(torch, loaded, options.precision)
    return compiled(torch, loaded, options.precision) if options.compile else loaded


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
        if is_out_of_memory(error):
            raise ConfigurationError(
                f"{layout.folder}: {device} has not the memory to hold the model: "
                f"{first_line(error)}"
            ) from error
        raise ModelError(
            f"{layout.folder}: sentence-transformers {library.__version__} cannot load it: "
            f"{type(error).__name__}: {first_line(error)}"
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
        flow=Flow(),
        tokens=CPU_TOKENS,
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
