"""Models that come from anywhere: cards, graphs, weights, tokenizers, folders, bundles, a hub."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from closecall.errors import ConfigurationError, EmbeddingError, ModelError
from closecall.records import Role
from trials.helpers import require, use
from trials.inputs import Target
from trials.worker import apart

TEXTS = ("red cat", "the blue bird ran", "é 好 ??", "")


def _embed(embedder: Any) -> None:
    """Use an embedder as a run does; texts that it cannot embed become *not measured*."""
    try:
        vectors = embedder.embed(list(TEXTS), Role.QUERY)
        require(vectors.shape == (len(TEXTS), embedder.instrument.dims))
        require(np.isfinite(vectors).all())
        embedder.embed_pieces(list(TEXTS[:2]))
    except EmbeddingError:
        pass
    except ModelError:
        raise
    except ConfigurationError as error:  # of a window too small: it names the model
        if embedder.instrument.model not in str(error):
            raise


@contextmanager
def own_store() -> Iterator[Path]:
    """An empty store of models for the time being."""
    before = os.environ.get("CLOSECALL_MODELS_DIR")
    with tempfile.TemporaryDirectory() as place:
        os.environ["CLOSECALL_MODELS_DIR"] = place
        try:
            yield Path(place)
        finally:
            os.environ.pop("CLOSECALL_MODELS_DIR")
            if before is not None:
                os.environ["CLOSECALL_MODELS_DIR"] = before


# --- a compiled model ----------------------------------------------------------------------------


def _make_published(folder: Path) -> None:
    use("models")
    import tiny_bert

    config = {"hidden_size": 12, "intermediate_size": 16, "num_hidden_layers": 1}
    tiny_bert.write_folder(folder, config=config, prompts={"query": "query: "})


def _make_compiled(folder: Path) -> None:
    from closecall.models.compiler import Naming, compile_folder

    with tempfile.TemporaryDirectory() as place:
        _make_published(Path(place))
        made = folder / "made"
        compile_folder(Path(place), made, Naming(name="tiny", aliases=("wee",)))
        for path in made.iterdir():
            path.rename(folder / path.name)
        made.rmdir()


def _read_compiled(folder: Path) -> None:
    from closecall.embedders.onnx import OnnxEmbedder
    from closecall.models.store import load_model
    from closecall.models.verifying import verify_model

    model = load_model(folder)
    verify_model(model)
    _embed(OnnxEmbedder(model, threads=1))


def _read_resealed(folder: Path) -> None:
    """As ``_read_compiled``, the card's hashes made to fit: as a stranger might publish it."""
    from closecall.models.cards import CARD_FILE, format_card, read_card
    from closecall.models.hashing import hash_file

    card = read_card(folder / CARD_FILE)
    files = tuple(
        hash_file(path) if (path := folder / one.name).is_file() and path.stat().st_size else one
        for one in card.files
    )
    text = format_card(msgspec.structs.replace(card, files=files))
    (folder / CARD_FILE).write_text(text, encoding="utf-8")
    _read_compiled(folder)


def _read_listed(folder: Path) -> None:
    """The folder as one of a store: listed, found by name, verified, bundled, removed."""
    from closecall.models import store
    from closecall.models.bundle import bundle, find_source
    from closecall.models.verifying import verify_all

    with own_store() as place:
        (place / folder.name).symlink_to(folder)
        listing = store.list_models()
        verify_all()
        if any(model.folder == place / folder.name for model in listing.models):
            name = listing.models[-1].card.name
            store.find_model(name)
            bundle(find_source(name), place / "tiny.tar")


# --- published folders ---------------------------------------------------------------------------


def _read_published(folder: Path) -> None:
    """A folder in the layout of sentence-transformers, compiled and run."""
    from closecall.embedders.onnx import OnnxEmbedder
    from closecall.models.own_code import refuse_own_code
    from closecall.models.store import add_model

    refuse_own_code(folder)
    with own_store():
        _embed(OnnxEmbedder(add_model(folder), threads=1))


def _make_export(folder: Path) -> None:
    use("models")
    import tiny_export

    config = {"hidden_size": 12, "intermediate_size": 16, "num_hidden_layers": 1}
    tiny_export.write_export(folder, config=config)


def _make_external(folder: Path) -> None:
    """A graph that keeps its weights in a file beside it."""
    use("models")
    import tiny_export

    config = {"hidden_size": 12, "intermediate_size": 16, "num_hidden_layers": 1}
    files = {"model.onnx": {"external": "weights.bin"}}
    tiny_export.write_export(folder, config=config, files=files)


def _read_export(folder: Path) -> None:
    from closecall.embedders.onnx_export import ExportedEmbedder

    _embed(ExportedEmbedder(folder, threads=1))


_KEPT: dict[str, tempfile.TemporaryDirectory[str]] = {}


def _sound(name: str, make: Callable[[Path], None]) -> Path:
    """A sound folder, made once by this process, for what stands around a damaged file."""
    if name not in _KEPT:
        _KEPT[name] = tempfile.TemporaryDirectory(prefix="closecall-trials-")
        make(Path(_KEPT[name].name))
    return Path(_KEPT[name].name)


@contextmanager
def _around(folder: Path, sound: Path, damaged: str) -> Iterator[None]:
    """Put a sound folder's other files around the one that was damaged, for the time being."""
    there = set(folder.iterdir())
    for path in sound.rglob("*"):
        name = path.relative_to(sound)
        if path.is_file() and name.name != damaged:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name)
    try:
        yield
    finally:
        for path in set(folder.iterdir()) - there:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _make_graph(folder: Path) -> None:
    """A graph alone, so that all damage falls on it."""
    sound = _sound("export", _make_export)
    (folder / "model.onnx").write_bytes((sound / "onnx" / "model.onnx").read_bytes())


def _read_graph(folder: Path) -> None:
    with _around(folder, _sound("export", _make_export), "model.onnx"):
        _read_export(folder)


def _make_tokenizer(folder: Path) -> None:
    sound = _sound("static", _make_static)
    (folder / "tokenizer.json").write_bytes((sound / "tokenizer.json").read_bytes())


def _read_tokenizer(folder: Path) -> None:
    """A tokenizer in a static model, whose other files are sound."""
    with _around(folder, _sound("static", _make_static), "tokenizer.json"):
        _read_static(folder)


def _make_encoder_tokenizer(folder: Path) -> None:
    sound = _sound("export", _make_export)
    (folder / "tokenizer.json").write_bytes((sound / "tokenizer.json").read_bytes())


def _read_encoder_tokenizer(folder: Path) -> None:
    """A tokenizer beside an exported graph, which numbers out of its table must not break."""
    with _around(folder, _sound("export", _make_export), "tokenizer.json"):
        _read_export(folder)


def _make_static(folder: Path) -> None:
    use("models", "embedders/static")
    import static_models

    count = static_models.SIZE
    weights, mapping = np.linspace(0.5, 1.5, count), np.arange(count)
    static_models.write_static(folder, weights=weights, mapping=mapping)


def _make_distilled(folder: Path) -> None:
    """As ``closecall models distil`` writes it: with the hashes of its files."""
    _make_static(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    files = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("model.safetensors", "tokenizer.json")
    }
    config["closecall"] = {
        "name": "small", "encoder": "minilm", "instrument": "0" * 64, "weights": "0" * 64,
        "dims": 5, "weighting": "none", "rows": 50, "kept": 0.9, "producer": "closecall 0",
        "files": files,
    }  # fmt: skip
    path.write_text(json.dumps(config), encoding="utf-8")


def _read_static(folder: Path) -> None:
    from closecall.embedders.static.embedder import StaticEmbedder

    _embed(StaticEmbedder(folder, threads=1))


def _make_pair(folder: Path) -> None:
    use("metrics/pairs")
    import pair_world

    rng = np.random.default_rng(0)
    weights = rng.normal(size=(3 * pair_world.SIZE, 3)), rng.normal(size=3)
    pair_world.write(folder, weights)


def _read_pair(folder: Path) -> None:
    from closecall.metrics.pairs.metric import CrossEncoderScore
    from closecall.records import Case

    metric = CrossEncoderScore(model=folder)
    metric.load()
    case = Case(id="1", response="the cat is red and tall", references=("the cat is red",))
    metric.measure_batch([case], {})


# --- small files ---------------------------------------------------------------------------------


def _make_isotropy(folder: Path) -> None:
    use("embedders")
    from spread import Crowded, known

    from closecall.embedders.isotropy.file import save_isotropy

    save_isotropy(
        folder / "mine.json", known("whiten:4"), Crowded().instrument, embedder="minilm",
        created="2026-01-31T12:00:00Z", producer="1", fields=("response",),
    )  # fmt: skip


def _read_isotropy(folder: Path) -> None:
    use("embedders")
    from spread import Crowded

    from closecall.embedders.isotropy.file import load_isotropy

    _, transform = load_isotropy(folder / "mine.json")
    vectors = Crowded().embed(list(TEXTS[:3]), Role.TEXT).astype(np.float64)
    units = vectors / np.sqrt((vectors**2).sum(axis=1))[:, None]
    require(np.isfinite(transform.apply(units)).all())


def _resealed(path: Path) -> None:
    """Make the digest of a JSON file fit what it holds, as a stranger would."""
    from closecall.instrument import canonical_json

    try:
        document = json.loads(path.read_bytes())
        rest = {key: value for key, value in document.items() if key != "digest"}
        document["digest"] = hashlib.sha256(canonical_json(rest)).hexdigest()
        text = json.dumps(document)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return
    path.write_text(text, encoding="utf-8")


def _read_isotropy_resealed(folder: Path) -> None:
    if (folder / "mine.json").is_file():
        _resealed(folder / "mine.json")
    _read_isotropy(folder)


def _make_known(folder: Path) -> None:
    from closecall.models.known import known_folder

    source = known_folder()
    (folder / "mine.toml").write_bytes(
        (cast(Path, source) / "bge-small-en-v1.5.toml").read_bytes()
    )


def _read_known(folder: Path) -> None:
    """A person's own card: read alone, and listed among the others, which it must not hide."""
    from closecall.models.known import CARDS_VARIABLE, known_models, read_known, unknown_model

    os.environ[CARDS_VARIABLE] = str(folder)
    try:
        require(len(known_models().cards) > 10)
        unknown_model("nothing")
    finally:
        del os.environ[CARDS_VARIABLE]
    read_known(folder / "mine.toml")


def _make_pulled(folder: Path) -> None:
    from closecall.models.published import (
        RECORD_FILE,
        PublishedFile,
        PublishedModel,
        format_published,
    )

    _make_published(folder)
    files = tuple(
        PublishedFile(
            path.relative_to(folder).as_posix(),
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_size,
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    )
    record = PublishedModel(name="tiny", repo="acme/tiny", revision="0" * 40, files=files)
    (folder / RECORD_FILE).write_text(format_published(record), encoding="utf-8")


def _read_pulled(folder: Path) -> None:
    from closecall.models.published import published_problems, read_published, unrecorded

    found = read_published(folder)
    published_problems(found)
    unrecorded(found)


def _make_tensors(folder: Path) -> None:
    from closecall.models.safetensors_file import format_tensors

    tensors = {
        "embeddings": np.ones((3, 4), dtype=np.float32),
        "weights": np.ones(3, dtype=np.float16),
        "mapping": np.arange(3),
    }
    (folder / "model.safetensors").write_bytes(format_tensors(tensors, {"made": "by hand"}))


def _read_tensors(folder: Path) -> None:
    from closecall.models.hashing import read_file
    from closecall.models.safetensors_file import TensorFile

    path = folder / "model.safetensors"
    found = TensorFile(read_file(path), path)
    for name in found.tensors:
        found.array(name)


# --- bundles -------------------------------------------------------------------------------------


def _make_bundle(folder: Path) -> None:
    from closecall.models.bundle import bundle, find_source
    from closecall.models.store import add_model

    with own_store(), tempfile.TemporaryDirectory() as place:
        _make_published(Path(place))
        add_model(place, "tiny", aliases=["wee"])
        bundle(find_source("tiny"), folder / "tiny.tar")


def _read_bundle(folder: Path) -> None:
    from closecall.models.unbundle import install, same_as_here, unpacked

    with own_store() as place:
        with unpacked(folder / "tiny.tar", place) as found:
            same_as_here(found)
            install(found)
        require(sorted(path.name for path in place.iterdir()) == ["tiny"])


def _make_members(folder: Path) -> None:
    """A bundle taken apart: what it holds, to be damaged and put together again."""
    import tarfile

    with tempfile.TemporaryDirectory() as place:
        _make_bundle(Path(place))
        with tarfile.open(Path(place) / "tiny.tar") as tar:
            tar.extractall(folder, filter="data")


def _read_members(folder: Path) -> None:
    """Put a bundle together with every hash right, as a stranger might, and unpack it."""
    from closecall.models.bundle_format import MANIFEST, header, padding

    try:
        path = folder / MANIFEST
        document = json.loads(path.read_bytes() if path.is_file() else b"")
        out = []
        for entry in document["members"]:
            path = folder / entry["path"]
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            entry |= {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
            out.append(header(entry["path"], len(data)) + data + bytes(padding(len(data))))
        head = json.dumps(document).encode()
        out.insert(0, header(MANIFEST, len(head)) + head + bytes(padding(len(head))))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return  # damaged beyond being written down
    (folder / "tiny.tar").write_bytes(b"".join(out) + bytes(1024))
    try:
        _read_bundle(folder)
    finally:
        (folder / "tiny.tar").unlink()


TARGETS: tuple[Target, ...] = (
    Target("a compiled model", _make_compiled, apart(_read_compiled)),
    Target("a compiled model, its hashes made to fit", _make_compiled, apart(_read_resealed)),
    Target("a model of the store", _make_compiled, apart(_read_listed)),
    Target("a sentence-transformers folder to compile", _make_published, apart(_read_published)),
    Target("an exported graph's folder", _make_export, apart(_read_export)),
    Target("an exported graph", _make_graph, apart(_read_graph)),
    Target("a graph with weights beside it", _make_external, apart(_read_export)),
    Target("a tokenizer of a static model", _make_tokenizer, apart(_read_tokenizer)),
    Target("a tokenizer of an encoder", _make_encoder_tokenizer, apart(_read_encoder_tokenizer)),
    Target("a static model", _make_static, apart(_read_static)),
    Target("a distilled model", _make_distilled, apart(_read_static)),
    Target("a pair model", _make_pair, apart(_read_pair)),
    Target("an isotropy file", _make_isotropy, apart(_read_isotropy)),
    Target(
        "an isotropy file, its digest made to fit", _make_isotropy, apart(_read_isotropy_resealed)
    ),
    Target("a card of a known model", _make_known, _read_known),
    Target("a pulled folder", _make_pulled, apart(_read_pulled)),
    Target("a safetensors file", _make_tensors, apart(_read_tensors)),
    Target("a bundle", _make_bundle, apart(_read_bundle)),
    Target("a bundle, its hashes made to fit", _make_members, apart(_read_members)),
)  # fmt: skip
