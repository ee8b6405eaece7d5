"""``closecall doctor``: does this installation work?"""

from __future__ import annotations

import platform
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from closecall._version import __version__
from closecall.cli.options import FORBIDDEN
from closecall.cli.say import say, say_json
from closecall.there import exists

CANARY = "The parcel arrived two days late."
OTHER = "The package came two days after it was due."
"""Texts of about the same meaning; their cosine tells a working model from a broken one."""

PACKAGES = (
    "onnxruntime",
    "tokenizers",
    "numpy",
    "click",
    "rich",
    "msgspec",
    "platformdirs",
    "pyyaml",
    "scipy",
    "faiss-cpu",
    "bm25s",
    "jinja2",
)


class Check(NamedTuple):
    """One line of the report."""

    name: str
    ok: bool
    found: str


@click.command("doctor", epilog="Example: closecall doctor --json")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@click.option(
    "--offline",
    is_flag=True,
    help="Show that nothing here needs the network: check it all with every connection refused.",
)
def command(as_json: bool, offline: bool) -> int:
    """Check versions, the bundled models, both at work, the folders written to, no network.

    Where faiss and torch each bring an OpenMP of their own, some systems end the process: so both
    are loaded beside onnxruntime in processes of their own, in either order, and made to compute.

    Where AI_INFERENCE_PROVIDER selects a provider, it is asked for one short embedding, and what
    answers is shown: address, model, deployment, width; never the key.

    Exits with 0 when everything works and 3 when something does not.
    """
    forbidden = offline or FORBIDDEN in click.get_current_context().meta
    checks = list(_offline() if forbidden else _all())
    if as_json:
        say_json([check._asdict() for check in checks])
    else:
        for check in checks:
            say(f"{'ok ' if check.ok else 'BAD'} {check.name:<16} {check.found}")
    return 0 if all(check.ok for check in checks) else 3


def _all() -> Iterator[Check]:
    for name, check in CHECKS.items():
        yield _guarded(name, check)


def _offline() -> Iterator[Check]:
    """Make every check without a network, and say who tried to use it."""
    from closecall.offline import sealed

    with sealed("closecall doctor --offline refuses every connection") as tried:
        yield from _all()
    told = ", ".join(dict.fromkeys(tried))
    yield Check(
        "offline", ok=not tried, found=f"tried to reach {told}" if tried else "no connection tried"
    )


def _guarded(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, ok=True, found=check())
    except Exception as error:  # noqa: BLE001 - finding out what is broken is the point
        return Check(name, ok=False, found=f"{error}" or type(error).__name__)


def _versions() -> str:
    from importlib.metadata import version

    here = f"closecall {__version__}, Python {platform.python_version()}, {sys.platform}"
    return ", ".join([here, *(f"{package} {version(package)}" for package in PACKAGES)])


def _bundled() -> str:
    from closecall.models import store, verifying

    model = store.find_model()
    bad = [check for check in verifying.verify_model(model) if not check.ok]
    if bad:
        raise RuntimeError(f"{bad[0].path}: {bad[0].problem}; install closecall again")
    return f"{model.card.name}: {len(model.card.files)} files as recorded, in {model.folder}"


def _embedding() -> str:
    import numpy as np

    from closecall.embedders.registry import DEFAULT, load_embedder

    with _no_network() as tried:
        embedder = load_embedder(DEFAULT)
        vectors = embedder.embed([CANARY, OTHER])
    if tried:
        raise RuntimeError(f"embedding tried to connect to {tried[0]}")
    cosine = float(np.dot(vectors[0], vectors[1]))
    if not 0.5 < cosine < 1:  # noqa: PLR2004 - far from what a working model says
        raise RuntimeError(f"two sentences of one meaning have cosine {cosine:.4f}")
    return f"{vectors.shape[1]} dims, cosine of two paraphrases {cosine:.4f}, no connection tried"


def _pair() -> str:
    from closecall.metrics.support.model import bundled_pair_model
    from closecall.models import verifying

    bad = [check for check in verifying.verify_bundled_pair() if not check.ok]
    if bad:
        raise RuntimeError(f"{bad[0].problem}; install closecall again")
    with _no_network() as tried:
        model = bundled_pair_model()
        canaries = model.check_canaries()
    if tried:
        raise RuntimeError(f"the pair model tried to connect to {tried[0]}")
    moved = [one for one in canaries if not one.ok]
    if moved:
        raise RuntimeError(
            f"{model.name}: {len(moved)} of {len(canaries)} fixed pairs score otherwise than when "
            f"it was made, the first {moved[0].found:.6f} in place of {moved[0].expected:.6f}; "
            "this onnxruntime computes it wrongly, try another version"
        )
    worst = max(abs(one.found - one.expected) for one in canaries)
    return (
        f"{model.name}: files as recorded, {len(canaries)} fixed pairs score as when it was made "
        f"(within {worst:.0e}), no connection tried"
    )


@contextmanager
def _no_network() -> Iterator[list[str]]:
    """Refuse every connection and name lookup of this process meanwhile, and note who asked."""
    tried: list[str] = []
    connect, lookup = socket.socket.connect, socket.getaddrinfo

    def refuse(*args: object, **_: object) -> None:
        tried.append(str(args[-1]))
        raise OSError("no network while closecall doctor looks")

    socket.socket.connect = refuse  # type: ignore[method-assign]
    socket.getaddrinfo = refuse  # type: ignore[assignment]
    try:
        yield tried
    finally:
        socket.socket.connect = connect  # type: ignore[method-assign]
        socket.getaddrinfo = lookup


def _cache() -> str:
    from closecall.cache.location import cache_enabled, cache_path

    if not cache_enabled():
        return "switched off by CLOSECALL_CACHE"
    path = cache_path()
    _writable(path.parent)
    return str(path)


def _models() -> str:
    from closecall.models import store, verifying

    folder = store.store_folder()
    _writable(folder)
    bad = [check for check in verifying.verify_all() if not check.ok]
    if bad:
        raise RuntimeError(f"{bad[0].model}: {bad[0].problem}")
    return str(folder)


def _runs() -> str:
    folder = Path(".closecall").absolute()
    _writable(folder)
    return str(folder / "runs")


def _writable(folder: Path) -> None:
    """Write and remove a file in the nearest folder that exists; make no folder."""
    import tempfile

    place = folder
    try:
        while not exists(place):
            place = place.parent
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise RuntimeError(f"{folder} cannot be written: {error.strerror or error}") from error


def _provider() -> str:
    from closecall.embedders.registry import DEFAULT, chosen_name, load_embedder

    if chosen_name(None) == DEFAULT:
        return f"{load_embedder().instrument.model}, embedded on this machine"
    return _remote()


def _remote() -> str:
    """Return what answers at the provider the environment selects."""
    from closecall.embedders.registry import load_embedder
    from closecall.embedders.remote.embedder import RemoteEmbedder

    embedder = load_embedder()
    if not isinstance(embedder, RemoteEmbedder):
        raise TypeError(f"{type(embedder).__name__} is no provider's embedder")
    found = embedder.probe()
    embedder.close()
    facts = [
        f"{found.provider}: POST {found.host}{found.path}",
        f"api-version {found.api_version}" if found.api_version else "",
        f"deployment {found.deployment}" if found.deployment else "",
        f"model {found.model}",
        f"the server calls it {found.server_model}" if found.server_model else "",
        f"{found.dims} dims",
        f"{found.latency_s:.2f} s",
    ]
    return ", ".join(fact for fact in facts if fact)


def _runtimes() -> str:
    from closecall.index.side_by_side import runtimes_side_by_side

    return runtimes_side_by_side()


CHECKS: dict[str, Callable[[], str]] = {
    "versions": _versions,
    "bundled model": _bundled,
    "embedding": _embedding,
    "pair model": _pair,
    "default embedder": _provider,
    "vector cache": _cache,
    "model store": _models,
    "run folders": _runs,
    "runtimes": _runtimes,
}
