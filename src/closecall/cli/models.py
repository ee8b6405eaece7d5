"""``closecall models``: the models on this machine, and how they get here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.distil import command as distil
from closecall.cli.distil import static_facts
from closecall.cli.groups import NamingGroup
from closecall.cli.isotropy import command as isotropy
from closecall.cli.models_carry import bundle, remove, unbundle
from closecall.cli.models_pull import known, pull, used_as
from closecall.cli.options import HELP_NAMES
from closecall.cli.parity import command as parity
from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.models.bundled_pair import StoredPair
    from closecall.models.store import StoredModel

EXAMPLES = """\b
Examples:
  closecall models list
  closecall models known
  closecall models pull bge-small-en-v1.5
  closecall models bundle bge-small-en-v1.5
  closecall models info minilm
  closecall models add ./bge-small-en-v1.5 --storage fp16
  closecall models verify
  closecall models isotropy answers.jsonl -o answers.isotropy.json
  closecall models distil -o minilm-static
"""


@click.group("models", cls=NamingGroup, context_settings=HELP_NAMES, epilog=EXAMPLES)
def command() -> None:
    """List, inspect, add, fetch, carry and verify local models. Only pull uses the network."""


for subcommand in (isotropy, distil, known, pull, bundle, unbundle, remove):
    command.add_command(subcommand)
command.add_command(parity)


@command.command("list", epilog="Example: closecall models list --json")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(as_json: bool) -> None:
    """List every model on this machine; 'closecall models known' lists those that may be had."""
    from closecall.models import store
    from closecall.models.published import list_published

    listing = store.list_models()
    bundled = [model for model in listing.models if model.place == store.BUNDLED]
    pairs, unread = _pairs()
    own = [model for model in listing.models if model.place != store.BUNDLED]
    found = [list_published(root) for _, root in store.places()]
    published = [one for some, _ in found for one in some]
    if as_json:
        say_json(
            [
                *(_facts(model.card, model.place, model.folder) for model in bundled),
                *(
                    {"kind": "pair", **_facts(one.card, store.BUNDLED, one.folder)}
                    for one in pairs
                ),
                *(_facts(model.card, model.place, model.folder) for model in own),
                *(_facts(one.model, "published", one.folder) for one in published),
            ]
        )
    else:
        for model in bundled:
            _say_model(model)
        for pair in pairs:
            say(
                f"{pair.card.name:<36}      pairs  {pair.card.window:>5} tokens  "
                f"{pair.card.precision:<13} {store.BUNDLED}"
            )
        for model in own:
            _say_model(model)
        for one in published:
            spec = used_as(one.model.name, one.folder)
            how = f"--embedder {spec}" if spec else f"in {one.folder}"
            say(f"{one.model.name:<36} as published: {how}")
        _say_where()
    for problem in [*(broken.problem for broken in listing.broken), *_unread(found), *unread]:
        say(f"closecall: {problem}", err=True)


def _facts(card: Any, place: str, folder: Path) -> dict[str, Any]:
    import msgspec

    return {**msgspec.to_builtins(card), "place": place, "folder": str(folder)}


def _say_model(model: StoredModel) -> None:
    card = model.card
    names = ", ".join((card.name, *card.aliases))
    say(
        f"{names:<36} {card.dims:>5} dims  {card.max_tokens:>5} tokens  "
        f"{card.precision:<13} {model.place}"
    )


def _pairs() -> tuple[list[StoredPair], list[str]]:
    """Return the bundled pair model, or why its card cannot be used."""
    from closecall.errors import ModelError
    from closecall.models.bundled_pair import find_pair

    try:
        return [find_pair()], []
    except ModelError as error:
        return [], [str(error)]


def _unread(found: list[tuple[Any, list[tuple[Path, str]]]]) -> list[str]:
    return [problem for _, broken in found for _, problem in broken]


def _say_where() -> None:
    from closecall.errors import ModelError
    from closecall.models import store

    try:
        say(f"Added models are kept in {store.store_folder()}", err=True)
    except ModelError as error:
        say(f"closecall: {error}", err=True)


@command.command("info", epilog="Example: closecall models info minilm")
@click.argument("name", default="minilm")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(name: str, as_json: bool) -> None:
    """Show what is known of the model NAME and the identity of what it makes."""
    from closecall.embedders.registry import ISOTROPIC
    from closecall.models.pair_card import PAIR_MODEL

    if name.casefold() == PAIR_MODEL:
        facts = _pair()
    else:
        facts = _isotropy(name) if name.partition(":")[0] == ISOTROPIC else _model(name)
    if as_json:
        say_json(facts)
        return
    for line in _lines(facts):
        say(line)


def _model(name: str) -> dict[str, Any]:
    import msgspec

    from closecall.embedders.registry import STATIC, load_embedder
    from closecall.models import store

    embedder = load_embedder(name)
    instrument = embedder.instrument
    facts: dict[str, Any] = {"digest": instrument.digest, **msgspec.to_builtins(instrument)}
    if instrument.kind == STATIC:
        return {**static_facts(embedder), "instrument": facts}
    if not name.startswith("onnx:"):
        model = store.find_model(name)
        facts = {
            "card": msgspec.to_builtins(model.card),
            "folder": str(model.folder),
            "instrument": facts,
        }
    return facts


def _pair() -> dict[str, Any]:
    import msgspec

    from closecall.metrics.support.model import bundled_pair_model
    from closecall.models.bundled_pair import find_pair

    pair = find_pair()
    identity = bundled_pair_model().identity
    return {
        "card": msgspec.to_builtins(pair.card),
        "folder": str(pair.folder),
        "identity": {"digest": identity.digest, **msgspec.to_builtins(identity)},
    }


def _isotropy(name: str) -> dict[str, Any]:
    """Return what a fitted transform's file says, without its numbers, and what it makes."""
    import msgspec

    from closecall.embedders.isotropy.file import load_isotropy
    from closecall.embedders.registry import load_embedder

    path = name.partition(":")[2]
    held = msgspec.to_builtins(load_isotropy(path)[0])
    instrument = load_embedder(name, window=held["window"]).instrument
    numbers = {"mean", "matrix", "instrument"}
    return {
        "transform": {key: value for key, value in held.items() if key not in numbers},
        "instrument": {"digest": instrument.digest, **msgspec.to_builtins(instrument)},
    }


def _lines(value: dict[str, Any], indent: str = "") -> list[str]:
    lines = []
    for key, item in value.items():
        if isinstance(item, dict) and item:
            lines += [f"{indent}{key}:", *_lines(item, indent + "  ")]
        elif isinstance(item, list | tuple) and item and isinstance(item[0], dict):
            lines.append(f"{indent}{key}:")
            lines += [f"{indent}  {'  '.join(str(v) for v in entry.values())}" for entry in item]
        elif isinstance(item, list | tuple) and any(str(entry).endswith(".") for entry in item):
            lines += [f"{indent}{key}:", *(f"{indent}  {entry}" for entry in item)]  # sentences
        else:
            shown = ", ".join(map(str, item)) if isinstance(item, list | tuple) else item
            lines.append(f"{indent}{key}: {'-' if shown in ('', {}, None) else shown}")
    return lines


@command.command(
    "add", epilog="Example: closecall models add ./bge-small-en-v1.5 --name bge-small"
)
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--name", help="What to call it.  [default: the folder's name]")
@click.option("--alias", "aliases", multiple=True, help="A further name; repeatable.")
@click.option(
    "--storage",
    type=click.Choice(["fp32", "fp16"]),
    default="fp32",
    show_default=True,
    help="How weights are stored; they are computed in float32 either way.",
)
@click.option(
    "--prefix",
    "prefix",
    multiple=True,
    metavar="ROLE=TEXT",
    help="Text before every query, document or text, where the folder does not say; repeatable.",
)
@click.option("--source", default="", help="Where the weights come from.")
@click.option("--revision", default="", help="Their published revision.")
@click.option("--licence", default="", help="Their licence.")
@click.option("--force", is_flag=True, help="Replace a model of the same name.")
def add(
    folder: Path,
    name: str | None,
    aliases: tuple[str, ...],
    prefix: tuple[str, ...],
    **options: Any,
) -> None:
    """Compile a model FOLDER in sentence-transformers layout into the store.

    BERT, RoBERTa, XLM-RoBERTa, CamemBERT, MPNet and DistilBERT are known.
    """
    from closecall.models import store

    prefixes = {}
    for value in prefix:
        role, sep, text = value.partition("=")
        if not sep:
            raise click.UsageError(f"--prefix takes ROLE=TEXT, got {value!r}")
        prefixes[role] = text
    model = store.add_model(folder, name, aliases=aliases, prefixes=prefixes or None, **options)
    say(f"added {model.card.name} ({model.card.dims} dims) in {model.folder}")
    say(f"use it with: closecall eval FILE --embedder {model.card.name}", err=True)


@command.command("verify", epilog="Example: closecall models verify minilm")
@click.argument("name", required=False)
def verify(name: str | None) -> int:
    """Hash every file of every model (or of NAME) again and compare with its card."""
    from closecall.models import verifying

    checks = verifying.verify_all() if name is None else verifying.verify_named(name)
    for check in checks:
        say(f"{'ok ' if check.ok else 'BAD'} {check.model}: {check.path}")
        if not check.ok:
            say(f"    {check.problem}")
    bad = sum(not check.ok for check in checks)
    say(f"{len(checks) - bad} / {len(checks)} files as recorded")
    return 3 if bad else 0
