"""Fetching a model from a hub into the store: the only thing here that uses the network.

Files come one by one into a hidden folder of the store, which outlives an interruption. When all
of them are there and every hash is right, the model is compiled if its architecture is one the
compiler knows; otherwise its folder is kept as it was published, for ``st:``.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

from closecall.errors import (
    ModelError,
    ModelIntegrityError,
    UnsupportedArchitectureError,
    UsageError,
)
from closecall.models import store
from closecall.models.cards import is_model_name
from closecall.models.choosing import WEIGHTS, choose, require_size
from closecall.models.external import has_external_data
from closecall.models.fetching import Fetcher, bytes_here
from closecall.models.hashing import MOST_GRAPH, read_file
from closecall.models.hub import Hub, RemoteFile, Repository
from closecall.models.keeping import (
    Fetched,
    Pulled,
    Wanted,
    already_here,
    keep,
    may_give_way,
    seed,
)
from closecall.models.known import KnownModel, find_known, is_repo, unknown_model
from closecall.models.one_at_a_time import one_at_a_time
from closecall.models.own_code import refuse_own_code
from closecall.models.patience import Patience, patiently
from closecall.models.placing import tidy, unwritable
from closecall.there import exists, is_dir

_WORK = ".pulling"
_SPARE_BYTES = 100_000_000


def pull(
    wanted: Wanted,
    *,
    hub: Hub | None = None,
    patience: Patience | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Pulled:
    """Fetch a model; what is here already is not fetched again.

    Parameters
    ----------
    wanted
        Which model, and how.
    hub
        Where from; None: ``HF_ENDPOINT``, else the Hugging Face hub.
    patience
        How often something that fails in passing is tried again.
    progress
        Called with the bytes that are here and all there are to be.

    Raises
    ------
    UnknownNameError
        If there is no known model of that name.
    UsageError
        If a name is taken or cannot be used.
    UnsupportedArchitectureError
        If the model needs code of its own, or has no weights that may be read.
    ModelIntegrityError
        If what came is not what it was said to be.
    ModelError
        If it cannot be had or kept.
    ConfigurationError
        If the network is forbidden, or a variable cannot be used.
    """
    known = _known(wanted)
    repo = wanted.name if known is None else known.repo
    name = wanted.save_as or (repo.partition("/")[2] if known is None else known.name)
    revision = wanted.revision or ("" if known is None else known.revision)
    if not is_model_name(name):
        raise UsageError(
            f"--as {name!r:.80} cannot name a model; give another name, of letters, digits, '.', "
            "'-' and '_'"
        )
    place = store.place_for(name) if wanted.to is None else wanted.to
    patience = patience or Patience()
    here = already_here(name, repo, revision, wanted)
    if here is not None:
        _tidy(place.parent, name)
        return here
    hub = hub or Hub(f"closecall models pull {wanted.name}")
    repository = patiently(lambda: hub.repository(repo, revision or "main"), patience)
    here = already_here(name, repo, repository.commit, wanted)
    if here is not None:
        _tidy(place.parent, name)
        return here
    _require_free(name, known, repository, place, wanted)
    files = choose(repository, onnx=wanted.onnx)
    _require_card(files, repository, known)
    total = require_size(files, repo, wanted.most_bytes)
    work = place.parent / _WORK / f"{name}@{repository.commit[:12]}"
    with one_at_a_time(work.with_name(f"{name}.lock")):
        seed(work, place, repository, files)
        _require_room(place.parent, total - sum(bytes_here(work, file) for file in files))
        fetcher = Fetcher(hub, repository, work, patience=patience, came=_meter(total, progress))
        _fetch(fetcher, files, work)
        kept = keep(Fetched(name, repository, files, known, work), place, wanted)
        _clear(work)
    return Pulled(
        name=name,
        repo=repo,
        revision=repository.commit,
        folder=place,
        outcome=kept.outcome,
        reason=kept.reason,
        fetched=fetcher.fetched,
    )


def _known(wanted: Wanted) -> KnownModel | None:
    """Return the card of what is wanted, or None for a repository without one."""
    card = find_known(wanted.name)
    if card is None:
        if not is_repo(wanted.name):
            raise unknown_model(wanted.name)
        return None
    known = card.model
    refused = (
        "runs only with Python code of its own, which closecall never runs"
        if known.remote_code
        else "has its weights as pickles, which are never read"
        if known.pickled and not wanted.onnx
        else ""
    )
    if refused and not wanted.revision:
        raise UnsupportedArchitectureError(
            f"{known.name} ({known.repo}) {refused}. {known.remark}".rstrip()
        )
    return known


def _require_free(
    name: str, known: KnownModel | None, repository: Repository, place: Path, wanted: Wanted
) -> None:
    """Refuse a name that is taken, or a folder that is."""
    if wanted.to is not None:
        if exists(place) and (not is_dir(place) or any(place.iterdir())):
            raise UsageError(f"--to {place}: something is there; name a folder that is not")
        return
    aliases = () if known is None or wanted.save_as else known.aliases
    force = wanted.force or may_give_way(place, repository)
    store.require_free((name, *aliases), place, force=force)


def _require_card(
    files: list[RemoteFile], repository: Repository, known: KnownModel | None
) -> None:
    """Refuse weights that are not those the card names at its commit."""
    if known is None or not known.weights_sha256 or repository.commit != known.revision:
        return
    for file in files:
        if file.path == WEIGHTS and file.sha256 != known.weights_sha256:
            raise ModelIntegrityError(
                f"{repository.repo}/{file.path} at {repository.commit[:12]}: the hub says sha256 "
                f"{file.sha256}, the card of {known.name} {known.weights_sha256}. One commit has "
                "one content: this hub cannot be trusted with it"
            )


def _require_room(folder: Path, needed: int) -> None:
    """Refuse early what would fill the disk."""
    while not exists(folder) and folder != folder.parent:
        folder = folder.parent
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise unwritable(folder, error) from error
    if needed + _SPARE_BYTES > free:
        raise ModelError(
            f"{folder}: {needed / 1e9:.2f} GB are needed and {free / 1e9:.2f} GB free; make room, "
            "or set CLOSECALL_MODELS_DIR to another disk"
        )


def _meter(total: int, progress: Callable[[int, int], None]) -> Callable[[int], None]:
    """Return what adds up bytes and passes the sum on."""
    done = 0

    def came(more: int) -> None:
        nonlocal done
        done += more
        progress(done, total)

    return came


def _fetch(fetcher: Fetcher, files: list[RemoteFile], work: Path) -> None:
    """Fetch every file, the small ones first: what they say may make the large ones needless."""
    checked = False
    for file in files:
        if not checked and file.path.endswith((".safetensors", ".onnx")):
            refuse_own_code(work)
            checked = True
        path = fetcher.fetch(file)
        if file.path.endswith(".onnx"):
            _require_whole_graph(path)


def _require_whole_graph(path: Path) -> None:
    try:
        elsewhere = has_external_data(read_file(path, MOST_GRAPH))
    except ValueError as error:
        raise ModelError(f"{path}: not an ONNX file: {error}") from error
    if elsewhere:
        raise UnsupportedArchitectureError(
            f"{path.name}: keeps weights in other files, which no hash of it covers"
        )


def _tidy(root: Path, name: str) -> None:
    """Remove what a pull left that was killed when the model was in place already."""
    tidy(root)
    work = root / _WORK / f"{name}@"
    if any(work.parent.glob(f"{work.name}*")):
        with contextlib.suppress(ModelError), one_at_a_time(work.with_name(f"{name}.lock")):
            _clear(work)


def _clear(work: Path) -> None:
    """Remove what is left of this model's fetching, of other commits too."""
    name = work.name.rpartition("@")[0]
    for folder in work.parent.glob(f"{name}@*"):
        shutil.rmtree(folder, ignore_errors=True)
