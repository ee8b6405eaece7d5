"""Embeddings from an ONNX graph that another tool exported, on the CPU or on CUDA."""

from __future__ import annotations

from pathlib import Path

from closecall.embedders.onnx import checked_work
from closecall.embedders.onnx_export_layout import ExportLayout, read_export_layout
from closecall.embedders.onnx_export_runtime import LoadedExport, load_export
from closecall.embedders.onnx_options import ExportOptions
from closecall.embedders.onnx_texts import OnnxTexts
from closecall.embedders.st.places import Place, find_place
from closecall.embedders.windows import checked_policy
from closecall.errors import ModelError
from closecall.instrument import CHUNK, Instrument
from closecall.models.exported import find_graph, read_exported
from closecall.models.graph_facts import GraphFacts
from closecall.models.hashing import hash_file
from closecall.there import is_dir

# Special tokens a model puts around a text, at most; what it really does is known once loaded.
_SPECIALS = 2


class ExportedEmbedder(OnnxTexts):
    """Turns texts into vectors with a graph that another tool exported, as ``OnnxEmbedder`` does.

    The folder is one of sentence-transformers with ``onnx/model.onnx`` or another file in it, or
    one that holds graph, ``config.json`` and ``tokenizer.json``, with ``pooling`` and
    ``normalize`` given. The graph's own ``sentence_embedding`` counts where it has one; otherwise
    its token vectors are pooled here. Nothing is downloaded and no code of the folder is run.

    Making an embedder reads the folder's JSON; ``instrument`` hashes the graph and the files it
    keeps weights in; the model is loaded when the first text comes. What is run are the very
    bytes that were hashed.

    A graph with dynamically quantised operators rounds each row by the range of all rows beside
    it, so its windows are run one at a time, and each vector is that of the text alone.

    Parameters
    ----------
    folder
        The model's folder; one in the hub's cache is called by the model's name.
    options
        How it is run; see ``ExportOptions``.
    window, overlap, threads
        See ``OnnxEmbedder``.

    Raises
    ------
    UsageError
        If an argument is wrong.
    ModelError
        If the folder holds no such graph, or does not say what is needed.
    """

    def __init__(
        self,
        folder: Path | str,
        options: ExportOptions | None = None,
        *,
        window: str = CHUNK,
        overlap: int | None = None,
        threads: int | None = None,
    ) -> None:
        self._options = options or ExportOptions()
        self._place = _place(Path(folder).expanduser())
        self._graph = find_graph(self._place.folder, self._options.file)
        self._layout: ExportLayout = read_export_layout(
            self._place.folder, self._place.model, self._options
        )
        self._window, self._overlap = checked_policy(
            window, overlap, self._layout.st.max_tokens - _SPECIALS
        )
        threads, batch_tokens = checked_work(
            threads, self._options.batch_tokens, self._options.device
        )
        super().__init__(threads, batch_tokens)
        self._instrument: Instrument | None = None

    @property
    def instrument(self) -> Instrument:
        """The identity of this embedder; the first time, about 1 s a gigabyte of weights.

        The weights are those of the graph and of every file it names; the precision is that of
        the weights in it, so int8 and fp16 variants are instruments of their own. The device is
        no part of it: it moves a vector by less than the precision does. Nor is the file's name.

        Raises
        ------
        ModelError
            If a file is missing, cannot be read or is no ONNX file.
        """
        with self._lock:
            if self._instrument is None:
                exported = read_exported(self._place.folder, self._graph)
                self._instrument = self._made(exported.digest, exported.facts)
            return self._instrument

    @property
    def device(self) -> str:
        """Where the model runs, as it was asked for."""
        return self._options.device

    def load(self) -> None:
        """Load the model now instead of with the first text.

        Raises
        ------
        ModelIntegrityError
            If a file was changed since it was hashed.
        ModelError
            If the graph cannot be loaded, or is not what its folder says.
        ConfigurationError
            If the device asked for is not there, or the runtime cannot be imported.
        """
        self._ready()

    def _load(self) -> LoadedExport:
        known = self.instrument
        exported = read_exported(self._place.folder, self._graph, known.weights)
        if exported.facts.batch_wide:
            self._batch_tokens = 1
        return load_export(exported, self._layout, known.tokenizer, self._options.device)

    def _made(self, weights: str, facts: GraphFacts) -> Instrument:
        st = self._layout.st
        options = {"modules": st.chain, "prompts": st.prompts.source}
        if st.lowercase:
            options["lowercase"] = "true"
        if self._layout.first_position:
            options["first_position"] = str(self._layout.first_position)
        if facts.batch_wide:
            options["rounding"] = "by the range of each text"
        return Instrument(
            kind="onnx",
            model=self._place.model,
            provider="local",
            revision=self._place.revision,
            dims=st.dims,
            weights=weights,
            tokenizer=hash_file(self._layout.tokenizer).sha256,
            pooling=st.pooling,
            normalize=st.normalize,
            prefixes=dict(st.prompts.prefixes),
            max_tokens=st.max_tokens,
            precision=facts.precision,
            window=self._window,
            overlap=self._overlap,
            options=options,
        )


def _place(folder: Path) -> Place:
    try:
        there = is_dir(folder)
    except OSError as error:
        raise ModelError(f"{folder}: cannot be read: {error.strerror or error}") from error
    if not there:
        raise ModelError(f"{folder}: no such folder")
    return find_place(str(folder))
