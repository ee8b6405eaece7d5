"""The embedder that belongs to an index, and vectors of texts that were embedded before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closecall.records import Role

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder, Vectors
    from closecall.embedders.cached import CachedEmbedder
    from closecall.instrument import Instrument

Notice = Callable[[str], None]


def embedder_for(
    instrument: Instrument | None,
    spec: str | None,
    window: str | None,
    threads: int | None,
    name: str = "",
) -> Embedder:
    """Return the embedder named, else the one of this machine that made an index.

    Whoever made the index may not be the one who searches it, so nothing is sent or opened only
    because an index names it. Tried are the default, the static model of that name in the store,
    and each compiled model of this machine. A provider is asked only where it is typed, or
    ``AI_INFERENCE_PROVIDER`` selects it. Where none fits, the default comes, to be refused by
    name.

    Parameters
    ----------
    spec
        As typed; None: not.
    name
        What the index says that its embedder was loaded by; may be empty.

    Raises
    ------
    UsageError
        A provider embedded the rows, or a model by its path or a plug-in; the message says what
        to type.
    UnknownNameError, ConfigurationError
        As for ``load_embedder``.
    """
    from closecall.embedders.registry import DEFAULT, STATIC, chosen_name, load_embedder
    from closecall.embedders.remote.providers import provider_named
    from closecall.errors import ConfigurationError, UsageError
    from closecall.plugins import EMBEDDERS, plugin_names
    from closecall.runs.claim import quoted

    policy = window or (instrument.window if instrument else None) or "chunk"
    if spec is not None or instrument is None:
        return load_embedder(spec, window=policy, threads=threads)
    tags = [tag for tag in (instrument.kind, instrument.provider) if provider_named(tag)]
    if tags:
        if chosen_name(None) == tags[0]:
            return load_embedder(None, window=policy, threads=threads)
        model = instrument.options.get("deployment", instrument.model)
        raise UsageError(
            f"the rows were embedded by {instrument.model} of {instrument.provider}, and a search "
            "sends the query there; if you want that, add: --embedder "
            f"{quoted(f'{tags[0]}:{model}')}"
        )
    from closecall.models.static_files import static_named
    from closecall.models.store import list_models

    first = chosen_name(None)
    if provider_named(first.partition(":")[0]) is not None:
        first = DEFAULT
    default = load_embedder(first, window=policy, threads=threads)
    if default.instrument.digest == instrument.digest:
        return default
    known = [f"onnx:{model.folder}" for model in list_models().models]
    static = static_named(name)
    for one in known if static is None else [f"{STATIC}:{static}", *known]:
        try:
            found = load_embedder(one, window=policy, threads=threads)
        except ConfigurationError:
            continue
        if found.instrument.digest == instrument.digest:
            return found
    elsewhere = ":" in name or name in plugin_names(EMBEDDERS)
    if elsewhere and provider_named(name.partition(":")[0]) is None:
        raise UsageError(
            f"the rows were embedded by {instrument.model}, which whoever built the index loaded "
            "as below; a path out of an index is not opened unless you say so. If you trust it, "
            f"add: --embedder {quoted(name)}"
        )
    return default


class FromCache:
    """An embedder whose vectors are looked for in the cache first, and kept there.

    ``embedded`` counts the texts that had to be embedded, ``read`` those that were in the cache.
    """

    def __init__(self, cached: CachedEmbedder) -> None:
        self._cached = cached

    @property
    def instrument(self) -> Instrument:
        """The identity of the embedder behind."""
        return self._cached.instrument

    @property
    def embedded(self) -> int:
        """Texts embedded so far."""
        return self._cached.stats.embedded

    @property
    def read(self) -> int:
        """Texts whose vectors were in the cache."""
        return self._cached.stats.store_hits

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return one vector a text.

        Raises
        ------
        EmbeddingError
            Some have none; names those that share the first reason.
        """
        import numpy as np

        from closecall.embedders.base import Failure, TextKey
        from closecall.errors import EmbeddingError

        found = self._cached.fetch(TextKey(text, role) for text in texts)
        outcomes = [found[TextKey(text, role)] for text in texts]
        reasons = {at: one.reason for at, one in enumerate(outcomes) if isinstance(one, Failure)}
        if reasons:
            first = next(iter(reasons.values()))
            raise EmbeddingError(
                first, [at for at, reason in reasons.items() if reason == first], reason=first
            )
        vectors: list[Any] = [one.vector for one in outcomes if not isinstance(one, Failure)]
        return np.stack(vectors).astype(np.float32, copy=False)


@contextmanager
def from_cache(
    embedder: Embedder, *, folder: Path | None, enabled: bool, notice: Notice | None
) -> Iterator[FromCache]:
    """Open the vector cache around an embedder, and load the embedder.

    Raises
    ------
    ConfigurationError
        The embedder cannot be used at all.
    """
    from closecall.embedders.cached import CachedEmbedder
    from closecall.runs.asked import open_run_cache

    store = open_run_cache(embedder, folder if folder and enabled else enabled, notice)
    try:
        # Rows are asked for once, so nothing is remembered in memory.
        cached = CachedEmbedder(embedder, store, memory_bytes=0)
        cached.prepare()
        yield FromCache(cached)
    finally:
        if store is not None:
            store.close()
