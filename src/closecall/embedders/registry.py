"""Embedders by name, as ``--embedder`` and ``load_embedder`` take them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from closecall.embedders.remote.providers import Provider, provider_named
from closecall.embedders.remote.settings import read_settings, selected_provider
from closecall.errors import ConfigurationError, UnknownNameError, UsageError
from closecall.instrument import CHUNK, WINDOW_POLICIES, Instrument
from closecall.plugins import EMBEDDERS, plugin, plugin_names

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder

DEFAULT = "minilm"
ISOTROPIC = "isotropic"
"""The kind of names that stand for a transform and the embedder behind it."""
STATIC = "static"
"""The kind of names that stand for a table of token vectors."""


def load_embedder(
    spec: str | None = None, *, window: str = CHUNK, threads: int | None = None
) -> Embedder:
    """Return the embedder a name stands for. Nothing is downloaded, and nothing sent yet.

    Parameters
    ----------
    spec
        ``minilm`` (the bundled model), the name of a model added with ``closecall models add``,
        ``onnx:FOLDER`` (a compiled model, or the export of another tool, with options as in
        ``onnx:models/mine?file=onnx/model_fp16.onnx&device=cuda``; see ``ExportOptions``; a
        compiled model takes ``device`` and ``batch_tokens``, by its name too, as in
        ``minilm?device=cuda``), ``st:FOLDER-OR-NAME`` (a model of sentence-transformers in a
        folder or in the hub's cache, with options as in
        ``st:models/mine?dims=256&precision=bf16``; see ``StOptions``), ``static:FOLDER``, a table
        of token vectors such as ``closecall models distil`` makes (``StaticEmbedder``), or
        ``isotropic:FILE``, a transform that ``closecall models isotropy`` fitted, in front of the
        embedder it was fitted with. Of a provider: ``openai:MODEL``, ``azure:DEPLOYMENT``,
        ``foundry:MODEL``, ``bitdeer:MODEL``, ``openai-compatible:MODEL``, ``ollama:MODEL``; what
        stands after the colon may be left out where the environment or a default says it. Or the
        name of a plug-in, ``NAME`` or ``NAME:WHATEVER`` (see ``closecall.plugins``). None:
        the provider ``AI_INFERENCE_PROVIDER`` selects, else the bundled model; a key in the
        environment selects nothing.
    window
        What happens to a text longer than the model's window: ``chunk``, ``truncate``,
        ``error``.
    threads
        Runs side by side; None: every core this process may use. Of a provider, requests side
        by side; None: what suits it.

    Raises
    ------
    UnknownNameError
        No model of that name; lists those there are.
    InstrumentMismatchError
        A transform was fitted with another model, or another window, than is here now.
    ConfigurationError
        A file or folder cannot be used; or settings of a provider are missing or wrong, which
        never turns into another provider or the bundled model.
    """
    if window not in WINDOW_POLICIES:
        raise UsageError(f"window must be one of {', '.join(WINDOW_POLICIES)}; got {window!r}")
    if threads is not None and threads < 1:
        raise UsageError(f"threads must be at least 1, got {threads}")
    from closecall.models.static_files import static_named

    chosen = chosen_name(spec)
    kind, sep, rest = chosen.partition(":")
    provider = provider_named(kind)
    if provider is not None:
        return _remote(provider, rest, spec, window=window, in_flight=threads)
    maker = _KINDS.get(kind) if sep else None
    if maker is None and sep:
        maker = _plugged(kind)
    if maker is not None:
        return maker(rest, window=window, threads=threads)
    static = static_named(chosen)
    if static is not None:
        return _static(str(static), window=window, threads=threads)
    return _named(chosen, window=window, threads=threads)


def _named(name: str, *, window: str, threads: int | None) -> Embedder:
    """Return the embedder of a model of this machine, by its name in the store."""
    from closecall.embedders.onnx import OnnxEmbedder
    from closecall.embedders.onnx_options import parse_running
    from closecall.models import store

    bare, running = parse_running(name)
    try:
        model = store.find_model(bare)
    except UnknownNameError as error:
        maker = _plugged(name)
        if maker is not None:
            return maker("", window=window, threads=threads)
        others = plugin_names(EMBEDDERS)
        if not others:
            raise
        raise UnknownNameError(f"{error} Of other packages: {', '.join(others)}.") from error
    return OnnxEmbedder(model, window=window, threads=threads, **running)


def _plugged(name: str) -> Callable[..., Embedder] | None:
    """Return what makes the embedder of another package, called as those below are."""
    found = plugin(EMBEDDERS, name)
    if found is None:
        return None

    def make(rest: str, *, window: str, threads: int | None) -> Embedder:
        embedder: Embedder = found(rest, window=window, threads=threads)
        if not isinstance(getattr(embedder, "instrument", None), Instrument) or not callable(
            getattr(embedder, "embed", None)
        ):
            raise ConfigurationError(
                f"the plug-in {name} made a {type(embedder).__name__}, which is no embedder: it "
                "needs an instrument (closecall.Instrument) and embed(texts, role)"
            )
        return embedder

    return make


def _onnx(spec: str, *, window: str, threads: int | None) -> Embedder:
    """Return the embedder of a folder: a compiled model if it has a card, else an export."""
    from closecall.embedders.onnx import OnnxEmbedder
    from closecall.embedders.onnx_export import ExportedEmbedder
    from closecall.embedders.onnx_options import parse_export, running
    from closecall.models import store
    from closecall.models.exported import is_export

    name, options = parse_export(spec)
    folder = Path(name).expanduser()
    if is_export(folder, options.file):
        return ExportedEmbedder(folder, options, window=window, threads=threads)
    ways = running(options, name)
    return OnnxEmbedder(store.load_model(folder), window=window, threads=threads, **ways)


def _st(spec: str, *, window: str, threads: int | None) -> Embedder:
    from closecall.embedders.st.embedder import StEmbedder
    from closecall.embedders.st.options import parse_spec

    model, options = parse_spec(spec)
    return StEmbedder(model, options, window=window, threads=threads)


def _static(folder: str, *, window: str, threads: int | None) -> Embedder:
    del window  # a table has none
    from closecall.embedders.static.embedder import StaticEmbedder

    if not folder:
        raise UsageError("static: needs a folder, for example static:models/my-static-model")
    return StaticEmbedder(Path(folder), threads=threads)


def _isotropic(path: str, *, window: str, threads: int | None) -> Embedder:
    if not path:
        raise UsageError("isotropic: needs a file, for example isotropic:mine.isotropy.json")
    from closecall.embedders.isotropy.embedder import IsotropicEmbedder
    from closecall.embedders.isotropy.file import load_isotropy

    found, transform = load_isotropy(path)
    base = load_embedder(found.embedder, window=window, threads=threads)
    return IsotropicEmbedder(base, transform, found.instrument, name=path)


def _remote(
    provider: Provider, model: str, spec: str | None, *, window: str, in_flight: int | None
) -> Embedder:
    from closecall.embedders.remote.embedder import RemoteEmbedder

    asked_by = f"the embedder {provider.tag} was asked for" if spec is not None else ""
    settings = read_settings(provider, model, asked_by=asked_by)
    return RemoteEmbedder(settings, window=window, in_flight=in_flight)


_KINDS: dict[str, Callable[..., Embedder]] = {
    "onnx": _onnx,
    "st": _st,
    STATIC: _static,
    ISOTROPIC: _isotropic,
}
"""What stands before the colon of a name, besides the providers."""


def chosen_name(spec: str | None) -> str:
    """Return the name that is loaded: the one given, else the one the environment selects.

    Raises
    ------
    UsageError
        The name given is empty.
    ConfigurationError
        ``AI_INFERENCE_PROVIDER`` names no provider.
    """
    if spec is not None:
        if not spec.strip():
            raise UsageError("the embedder's name is empty; try minilm")
        return spec.strip()
    provider = selected_provider()
    return DEFAULT if provider is None else provider.tag
