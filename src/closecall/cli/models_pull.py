"""``closecall models known`` and ``closecall models pull``: which models may be had, and how."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.models.keeping import Pulled
    from closecall.models.known import KnownCard

EXAMPLES = """\b
Examples:
  closecall models pull bge-small-en-v1.5
  closecall models pull BAAI/bge-base-en-v1.5 --revision main --as bge
  closecall models pull multilingual-e5-large --to ./multilingual-e5-large

Proxies (HTTPS_PROXY, NO_PROXY), certificates (SSL_CERT_FILE, REQUESTS_CA_BUNDLE), a mirror
(HF_ENDPOINT) and a token (HF_TOKEN) are taken from these variables.
"""


@click.command("known", epilog="Example: closecall models known --json")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def known(as_json: bool) -> None:
    """List the models that closecall knows by name, and say which of them are here."""
    from closecall.models.known import known_models, own_folder

    listing = known_models()
    here = _here()
    if as_json:
        say_json([_facts(card, here) for card in listing.cards])
    else:
        for card in listing.cards:
            say(_line(card, here))
        say(f"Cards of your own are read from {own_folder() or '(no home folder)'}", err=True)
    for problem in listing.problems:
        say(f"closecall: {problem}", err=True)


@click.command("pull", epilog=EXAMPLES)
@click.argument("name", metavar="NAME|ORG/REPO")
@click.option(
    "--revision",
    default="",
    help="Branch, tag or commit.  [default: the card's commit, else the newest]",
)
@click.option("--as", "save_as", default="", help="What to call it here.  [default: its name]")
@click.option(
    "--to",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Put the published files into a new folder in place of the store.",
)
@click.option("--raw", is_flag=True, help="Keep the published files, for st:, do not compile.")
@click.option("--onnx", is_flag=True, help="Take the ONNX graph in place of the safetensors.")
@click.option(
    "--storage",
    type=click.Choice(["fp32", "fp16"]),
    default="fp32",
    show_default=True,
    help="How weights are stored where they are compiled; computed in float32 either way.",
)
@click.option(
    "--at-most",
    type=click.FloatRange(min=0, min_open=True, max=10_000),
    default=20.0,
    show_default=True,
    metavar="GB",
    help="Largest model that is fetched.",
)
@click.option("--force", is_flag=True, help="Replace a model of the same name.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def pull(name: str, at_most: float, quiet: bool, **options: Any) -> None:
    """Fetch a model from the hub at a fixed commit, every file checked by its hash.

    Interrupted, it is gone on with by the same command. Only safetensors and ONNX are taken, no
    pickles, and no code of a model is ever run.
    """
    from closecall.cli.transfer import Transfer
    from closecall.models.keeping import Wanted
    from closecall.models.patience import Patience
    from closecall.models.pull import pull as fetch

    def told(text: str) -> None:
        if not quiet:
            say(f"closecall: {text}", err=True)

    wanted = Wanted(name=name, most_bytes=int(at_most * 1e9), **options)
    try:
        with Transfer(name, quiet=quiet) as progress:
            found = fetch(wanted, patience=Patience(told=told), progress=progress)
    except KeyboardInterrupt:
        say("closecall: what came so far is kept; type the same again to go on", err=True)
        raise
    _say_pulled(found)


def _say_pulled(found: Pulled) -> None:
    from closecall.models.keeping import HERE

    origin = f"{found.repo} at {found.revision}" if found.revision else found.repo
    if found.outcome == HERE:
        say(f"{found.name} is here already, its files as recorded: {origin}, in {found.folder}")
    else:
        say(f"{found.outcome} {found.name} ({origin}) in {found.folder}")
        say(f"fetched {found.fetched:,} bytes, every file checked by its hash", err=True)
    if found.reason:
        say(f"not compiled: {found.reason}", err=True)
    spec = used_as(found.name, found.folder)
    if spec:
        say(f"use it with: closecall eval FILE --embedder {spec}", err=True)


def used_as(name: str, folder: Path) -> str:
    """Return what --embedder takes for a model in a folder, empty where no embedder takes it."""
    from closecall.models.choosing import GRAPHS
    from closecall.models.static_files import is_static, static_named

    if (folder / "card.toml").is_file():
        return name
    if is_static(folder):
        return name if static_named(name) == folder else f"static:{folder}"
    if any((folder / graph).is_file() for graph in GRAPHS):
        return f"onnx:{folder}"
    return f"st:{folder}" if (folder / "modules.json").is_file() else ""


def _here() -> dict[str, str]:
    """Return what of each model is on this machine, by its name in lower case."""
    from closecall.models import store
    from closecall.models.published import list_published

    found = {model.card.name.casefold(): model.place for model in store.list_models().models}
    for _, root in store.places():
        found |= {one.model.name.casefold(): "published" for one in list_published(root)[0]}
    return found


def _facts(card: KnownCard, here: dict[str, str]) -> dict[str, Any]:
    import msgspec

    return {
        **msgspec.to_builtins(card.model),
        "card": str(card.path),
        "origin": card.origin,
        "replaces": card.replaces,
        "here": here.get(card.model.name.casefold()),
    }


def _line(card: KnownCard, here: dict[str, str]) -> str:
    model = card.model
    place = here.get(model.name.casefold())
    marks = [f"here ({place})"] if place else []
    if model.remote_code and not place:
        marks.append("refused: runs code of its own")
    if model.pickled and not place:
        marks.append("refused: weights are pickles")
    if model.gated:
        marks.append("terms to accept")
    if card.origin == "own":
        marks.append("your card, in place of the shipped one" if card.replaces else "your card")
    dims = f"{model.dims} dims" if model.dims else "-"
    window = f"{model.max_tokens} tokens" if model.max_tokens else "-"
    languages = len(model.languages)
    spoken = ", ".join(model.languages) if languages == 1 else f"{languages or 'many'} languages"
    facts = f"{model.name:<38} {dims:>9}  {window:>12}  {model.licence or '-':<17} {spoken:<14}"
    return f"{facts} {'; '.join(marks)}".rstrip()
