"""An exported graph made ready to run: its inputs fed, its outputs pooled."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.onnx_export_layout import ExportLayout
from closecall.embedders.onnx_runtime import Ids, sampled
from closecall.embedders.onnx_session import CPU, Session, as_float32, make_session
from closecall.errors import (
    ConfigurationError,
    EmbeddingError,
    ModelError,
    ModelIntegrityError,
    UnsupportedArchitectureError,
)
from closecall.models.exported import Exported
from closecall.models.hashing import read_file
from closecall.models.tokenizer_files import read_tokenizer, tokenizing

_NUMBERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_FLOATS = ("tensor(float)", "tensor(float16)")
_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
_TOKENS = ("last_hidden_state", "token_embeddings")
_TEXT = "sentence_embedding"
_TEXT_RANK, _TOKENS_RANK = 2, 3

_APART = 1e-2
"""How far a graph's own vector may be from the pooled one, each of length 1: int8 and fp16 round
the two alike, another way of pooling moves them by tenths."""


class LoadedExport(NamedTuple):
    """A session and a tokenizer; see ``onnx_runtime.Loaded``.

    ``inputs`` are the number types by name; ``states`` and ``text`` the outputs with token
    vectors and texts' vectors, one of them perhaps None.
    """

    session: Session
    tokenizer: Any
    before: Ids
    after: Ids
    unknown: int
    cuttable: bool
    inputs: Mapping[str, Any]
    states: str | None
    text: str | None
    layout: ExportLayout

    @property
    def tokens(self) -> bool:
        """Whether token vectors of the texts' width come out."""
        return self.states is not None and self.layout.st.width == self.layout.st.hidden

    def run(self, ids: Ids) -> NDArray[np.float32]:
        """Return the vectors of windows of one length: int32 (n, s) to float32 (n, d).

        Raises
        ------
        EmbeddingError
            If the runtime fails.
        """
        name = self.text or str(self.states)
        (found,) = self._outputs([name], ids)
        return self._finished(self._pooled(found) if self.text is None else found)

    def run_tokens(self, ids: Ids) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Like ``run``, with the token vectors from the same pass: float32 (n, s, d).

        Raises
        ------
        EmbeddingError
            If the runtime fails.
        """
        names = [name for name in (self.states, self.text) if name is not None]
        hidden, *texts = self._outputs(names, ids)
        vectors = self._finished(texts[0] if texts else self._pooled(hidden))
        return vectors, as_float32(hidden)[..., : self.layout.st.dims]

    def require_sound(self) -> None:
        """Run a short text and hold what comes out against what the folder says.

        Raises
        ------
        ModelError
            If widths differ, or a graph that gives both kinds of vectors pools in another way
            than the folder says.
        """
        ids = np.concatenate([self.before, self._sample(), self.after]).astype(np.int32)[None, :]
        st = self.layout.st
        names = [name for name in (self.states, self.text) if name is not None]
        found = dict(zip(names, self.session.run(names, self._feed(ids)), strict=True))
        for name, width in ((self.states, st.hidden), (self.text, st.width)):
            if name is None:
                continue
            shape = found[name].shape
            if shape[-1:] != (width,):
                raise ModelError(
                    f"{st.folder}: the graph's output '{name}' has {('no', *shape)[-1]} "
                    f"numbers, but its configuration says {width}"
                )
            if problem := self._misshapen(name, shape, 1):
                raise ModelError(f"{st.folder}: {problem}")
        if self.states is None or self.text is None or not self.layout.pooled:
            return
        own, pooled = (
            vector[0].astype(np.float64) / max(float(np.linalg.norm(vector[0])), 1e-30)
            for vector in (found[self.text], self._pooled(found[self.states]))
        )
        apart = float(np.abs(own - pooled).max())
        if not apart <= _APART:
            raise ModelError(
                f"{st.folder}: the graph's own '{self.text}' is not what pooling "
                f"'{st.pooling}' makes of its token vectors (they differ by {apart:.2g}), so the "
                "graph and the configuration are of two models. Export it again"
            )

    def _outputs(self, names: list[str], ids: Ids) -> list[NDArray[Any]]:
        """Return outputs of the shapes that ``require_sound`` found; a graph may give others."""
        found = self.session.run(names, self._feed(ids))
        for name, one in zip(names, found, strict=True):
            if problem := self._misshapen(name, one.shape, len(ids)):
                raise EmbeddingError(problem)
        return found

    def _misshapen(self, name: str, shape: tuple[int, ...], rows: int) -> str:
        """Return what is wrong with the shape of an output, empty if nothing is."""
        st = self.layout.st
        wanted: tuple[object, ...]
        if name == self.text:
            wanted, fits = (rows, st.width), shape == (rows, st.width)
        else:
            wanted = (rows, "tokens", st.hidden)
            fits = len(shape) == _TOKENS_RANK and shape == (rows, max(shape[1], 1), st.hidden)
        shown = ", ".join(map(str, wanted))
        return "" if fits else f"the graph's output '{name}' has the shape {shape}, not ({shown})"

    def _sample(self) -> Ids:
        with tokenizing(f"{self.layout.tokenizer}: cannot read three letters", ModelError):
            ids = self.tokenizer.encode("a b c", add_special_tokens=False).ids
            return np.array(ids, dtype=np.int32)

    def _feed(self, ids: Ids) -> dict[str, NDArray[Any]]:
        first = self.layout.first_position
        positions = np.arange(first, first + ids.shape[1], dtype=np.int32)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.ascontiguousarray(np.broadcast_to(positions, ids.shape)),
        }
        return {name: given[name].astype(kind) for name, kind in self.inputs.items()}

    def _pooled(self, hidden: NDArray[Any]) -> NDArray[np.float64]:
        """Return texts' vectors of windows that are filled to the end: (n, s, h) to (n, h)."""
        if self.layout.st.pooling == "mean":
            mean: NDArray[np.float64] = hidden.mean(axis=1, dtype=np.float64)
            return mean
        at = 0 if self.layout.st.pooling == "cls" else -1
        return hidden[:, at].astype(np.float64)

    def _finished(self, vectors: NDArray[Any]) -> NDArray[np.float32]:
        """Return vectors cut to the dims that are kept, of length 1 where the model says so."""
        st = self.layout.st
        cut = vectors[:, : st.dims]
        if not st.normalize:
            return as_float32(cut)
        wide = cut.astype(np.float64)
        lengths = np.sqrt(np.square(wide).sum(axis=1, keepdims=True))
        return as_float32(wide / np.where(lengths > 0, lengths, 1.0))


def load_export(
    exported: Exported, layout: ExportLayout, tokenizer: str, device: str
) -> LoadedExport:
    """Make an exported graph ready to run.

    Parameters
    ----------
    tokenizer
        The sha256 its tokenizer had before.

    Raises
    ------
    ModelIntegrityError
        If the tokenizer has another.
    ModelError
        If the runtime cannot load the graph, or it has other inputs or outputs than a text
        encoder, or they are not what the folder says.
    ConfigurationError
        If the device is not there, or has no operators for this graph.
    """
    # Texts are tokenised on the embedder's own threads; the tokenizer's would not survive a fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    where = str(exported.path)
    if exported.facts.batch_wide and device != CPU:
        raise ConfigurationError(
            f"{where}: rounds by operators (DynamicQuantizeLinear) that onnxruntime has for the "
            f"CPU only, so on {device} most of it would run on the CPU and say nothing. Run it "
            "with device=cpu, or take a file in fp32 or fp16"
        )
    file = _tokenizer_bytes(layout, tokenizer)
    made = read_tokenizer(layout.tokenizer, file)
    session = make_session(exported.data, where, device=device, fuse=True, beside=exported.beside)
    states, text = _outputs(session.raw.get_outputs(), layout, where)
    loaded = LoadedExport(
        session,
        made,
        *sampled(layout.tokenizer, made, file),
        inputs=_inputs(session.raw.get_inputs(), where),
        states=states,
        text=text,
        layout=layout,
    )
    loaded.require_sound()
    return loaded


def _tokenizer_bytes(layout: ExportLayout, expected: str) -> bytes:
    data = read_file(layout.tokenizer)
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise ModelIntegrityError(
            f"{layout.tokenizer}: changed while the model was in use: sha256 was {expected}, now "
            f"{found}. Start again"
        )
    return data


def _inputs(entries: Sequence[Any], where: str) -> dict[str, Any]:
    """Return the number type of each input, or refuse a graph that wants something else."""
    for entry in entries:
        if entry.name not in _INPUTS or entry.type not in _NUMBERS:
            raise UnsupportedArchitectureError(
                f"{where}: input '{entry.name}' of {entry.type}: a text encoder takes "
                f"{', '.join(_INPUTS)}, whole numbers, of which the first has to be there"
            )
        fixed = [size for size in entry.shape if isinstance(size, int)]
        if fixed or len(entry.shape) != 2:  # noqa: PLR2004 - texts and tokens
            raise UnsupportedArchitectureError(
                f"{where}: input '{entry.name}' has the shape {entry.shape}: expected any number "
                "of texts by any number of tokens. Export it with dynamic axes"
            )
    found = {entry.name: _NUMBERS[entry.type] for entry in entries}
    if _INPUTS[0] not in found:
        raise UnsupportedArchitectureError(f"{where}: has no input '{_INPUTS[0]}'")
    return found


def _outputs(
    entries: Sequence[Any], layout: ExportLayout, where: str
) -> tuple[str | None, str | None]:
    """Return the outputs with token vectors and with texts' vectors."""
    ranks = {entry.name: len(entry.shape) for entry in entries if entry.type in _FLOATS}
    states = next((name for name in _TOKENS if ranks.get(name) == _TOKENS_RANK), None)
    text = _TEXT if ranks.get(_TEXT) == _TEXT_RANK else None
    shown = ", ".join(f"{entry.name} {entry.shape}" for entry in entries)
    if states is None and text is None:
        raise UnsupportedArchitectureError(
            f"{where}: its outputs are {shown}; expected {' or '.join(_TOKENS)} (texts, tokens, "
            f"width) or {_TEXT} (texts, width). Export it for feature extraction"
        )
    if text is None and not layout.pooled:
        raise UnsupportedArchitectureError(
            f"{where}: modules.json says {layout.st.chain}, of which the graph does only the "
            f"first, and only pooling and normalising are done here. Export the whole model, "
            f"with an output {_TEXT}, or run it with st:"
        )
    return states, text
