"""``closecall models bundle``, ``unbundle`` and ``remove``: models carried by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from closecall.cli.models_pull import used_as
from closecall.cli.say import say
from closecall.report.words import visible

if TYPE_CHECKING:
    from closecall.cache.carry import Files
    from closecall.cache.vectors import VectorCache
    from closecall.models.bundle import Source
    from closecall.models.unbundle import Unpacked

SUFFIX = ".closecall.tar"

BUNDLE_EXAMPLES = """\b
Examples:
  closecall models bundle bge-small-en-v1.5
  closecall models bundle minilm -o eval.closecall.tar --calibration cutoff.json --cache
"""


@click.command("bundle", epilog=BUNDLE_EXAMPLES)
@click.argument("name")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.closecall.tar",
    help="Where to write it.  [default: NAME.closecall.tar]",
)
@click.option(
    "--calibration",
    "calibrations",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="A calibration of this model to carry along; repeatable.",
)
@click.option("--cache", "with_cache", is_flag=True, help="Carry its cached vectors along.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def bundle(
    name: str,
    output: Path | None,
    calibrations: tuple[Path, ...],
    with_cache: bool,
    force: bool,
) -> None:
    """Write the model NAME to one file: its graph, tokenizer and card, checked by hashes.

    On the other machine, which needs no network: closecall models unbundle FILE
    """
    import tempfile

    from closecall.models.bundle import bundle as write
    from closecall.models.bundle import find_source

    source = find_source(name)
    _require_own(calibrations, _files(source), source.name)
    output = output or Path(f"{source.name}{SUFFIX}")
    with tempfile.TemporaryDirectory() as work:
        vectors = Path(work) / "vectors.sqlite3" if with_cache else None
        if vectors is not None:
            count = _export(_files(source), vectors)
            say(f"{count:,} cached vectors of {source.name}", err=True)
        manifest = write(source, output, calibrations=calibrations, cache=vectors, force=force)
    total = sum(member.size for member in manifest.members)
    say(f"bundled {source.name}: {len(manifest.members)} files, {total:,} bytes, in {output}")
    say(f"on the other machine: closecall models unbundle {output.name}", err=True)


@click.command("unbundle", epilog="Example: closecall models unbundle bge-small.closecall.tar")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--to",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Put the model into a new folder in place of the store.",
)
@click.option(
    "--calibrations-to",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where its calibrations go.  [default: beside FILE]",
)
@click.option("--force", is_flag=True, help="Replace a model or calibrations of the same name.")
def unbundle(file: Path, to: Path | None, calibrations_to: Path | None, force: bool) -> None:
    """Take a model out of FILE. All of it is checked before anything is put into place.

    Hashes say that the file is whole, not who made it: take bundles from people you trust.
    """
    from closecall.models import store
    from closecall.models.unbundle import install, same_as_here, unpacked

    beside = store.store_folder() if to is None else to.absolute().parent
    with unpacked(file, beside) as found:
        name = found.manifest.name
        targets = _targets(found, calibrations_to or file.parent, force=force)
        same = same_as_here(found) if to is None and not force else None
        if same is None:
            place = install(found, to=to, force=force)
            say(f"unbundled {name} in {place}")
        else:
            say(f"{name} is here already, with the same files, in {same}")
        for source, target in targets:
            _copy(source, target)
            say(f"calibration: {target}")
        if found.cache is not None:
            say(f"{_import(found):,} new vectors in the cache")
        folder = place if same is None else same
        spec = f"onnx:{folder}" if to is not None else used_as(name, folder)
        if found.manifest.kind != "compiled":
            spec = used_as(name, folder)
    if spec:
        say(f"use it with: closecall eval FILE --embedder {spec}", err=True)


@click.command("remove", epilog="Example: closecall models remove bge-small-en-v1.5")
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def remove(name: str, yes: bool) -> None:
    """Remove the model NAME from the store; models that came with closecall stay."""
    from closecall.models.removing import find_removable
    from closecall.models.removing import remove as take_away

    folder = find_removable(name)
    if not yes:
        click.confirm(visible(f"Remove {folder} and all in it?"), abort=True, err=True)
    take_away(folder)
    say(f"removed {folder}")


def _files(source: Source) -> Files | None:
    """Return the hashes that the model's instruments carry, None for one in several files."""
    from closecall.models.hashing import hash_file

    names = ("model.onnx", "model.safetensors")
    weights = next((name for name in names if name in source.files), None)
    if weights is None or "tokenizer.json" not in source.files:
        return None
    return _made(hash_file(source.folder / name).sha256 for name in (weights, "tokenizer.json"))


def _unpacked_files(found: Unpacked) -> Files | None:
    hashes = {member.path: member.sha256 for member in found.manifest.members}
    names = ("model/model.onnx", "model/model.safetensors")
    weights = next((name for name in names if name in hashes), None)
    if weights is None or "model/tokenizer.json" not in hashes:
        return None
    return _made((hashes[weights], hashes["model/tokenizer.json"]))


def _made(hashes: Iterable[str]) -> Files:
    from closecall.cache.carry import Files

    return Files(*hashes)


def _require_own(calibrations: Sequence[Path], files: Files | None, name: str) -> None:
    """Refuse a calibration that is none, or that belongs to another model."""
    from closecall.calibration.store import load_calibration
    from closecall.errors import InstrumentMismatchError

    for path in calibrations:
        made = load_calibration(path).instrument
        if files is not None and (made.weights, made.tokenizer) != files:
            raise InstrumentMismatchError(
                f"{path}: a calibration of {made.model}, with other files than {name} has"
            )


def _targets(found: Unpacked, folder: Path, *, force: bool) -> list[tuple[Path, Path]]:
    """Return where each calibration goes, once all may go there."""
    from closecall.errors import UsageError

    _require_own(found.calibrations, _unpacked_files(found), found.manifest.name)
    targets = [(path, folder / path.name) for path in found.calibrations]
    for _, target in targets:
        if target.is_symlink() or (target.exists() and not (force and target.is_file())):
            raise UsageError(
                f"{target}: already there; name another folder with --calibrations-to, or replace "
                "it with --force"
            )
    return targets


def _copy(source: Path, target: Path) -> None:
    from closecall.atomic import whole_file

    with whole_file(target) as file:
        file.write(source.read_bytes().decode("utf-8"))


def _export(files: Files | None, output: Path) -> int:
    from closecall.cache.carry import export_vectors
    from closecall.errors import UsageError

    if files is None:
        raise UsageError("--cache: vectors are carried of models in one file of weights only")
    with _cache() as cache:
        return export_vectors(cache, files, output)


def _import(found: Unpacked) -> int:
    from closecall.cache.carry import import_vectors

    files = _unpacked_files(found)
    if files is None or found.cache is None:
        return 0
    with _cache() as cache:
        return import_vectors(found.cache, files, cache)


@contextmanager
def _cache() -> Iterator[VectorCache]:
    from closecall.cache.location import cache_path
    from closecall.cache.vectors import VectorCache

    with closing(VectorCache(cache_path())) as cache:
        yield cache
