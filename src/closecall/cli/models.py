"""``closecall models``: the models on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from closecall.cli.options import HELP_NAMES
from closecall.cli.say import say, say_json

EXAMPLES = """\b
Examples:
  closecall models list
  closecall models info minilm
  closecall models add ./bge-small-en-v1.5 --storage fp16
  closecall models verify
"""


@click.group("models", context_settings=HELP_NAMES, epilog=EXAMPLES)
def command() -> None:
    """List, inspect, add and verify local models. Nothing is downloaded."""


@command.command("list", epilog="Example: closecall models list --json")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(as_json: bool) -> None:
    """List every model on this machine."""
    import msgspec

    from closecall.models import store

    listing = store.list_models()
    if as_json:
        say_json(
            [
                {
                    **msgspec.to_builtins(model.card),
                    "place": model.place,
                    "folder": str(model.folder),
                }
                for model in listing.models
            ]
        )
    else:
        for model in listing.models:
            card = model.card
            names = ", ".join((card.name, *card.aliases))
            say(
                f"{names:<36} {card.dims:>5} dims  {card.max_tokens:>5} tokens  "
                f"{card.precision:<13} {model.place}"
            )
        _say_where()
    for broken in listing.broken:
        say(f"closecall: {broken.problem}", err=True)


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
    """Show what is known of the model NAME and the identity of its vectors."""
    import msgspec

    from closecall.embedders.registry import load_embedder
    from closecall.models import store

    instrument = load_embedder(name).instrument
    facts: dict[str, Any] = {"digest": instrument.digest, **msgspec.to_builtins(instrument)}
    if not name.startswith("onnx:"):
        model = store.find_model(name)
        facts = {
            "card": msgspec.to_builtins(model.card),
            "folder": str(model.folder),
            "instrument": facts,
        }
    if as_json:
        say_json(facts)
        return
    for line in _lines(facts):
        say(line)


def _lines(value: dict[str, Any], indent: str = "") -> list[str]:
    lines = []
    for key, item in value.items():
        if isinstance(item, dict) and item:
            lines += [f"{indent}{key}:", *_lines(item, indent + "  ")]
        elif isinstance(item, list | tuple) and item and isinstance(item[0], dict):
            lines.append(f"{indent}{key}:")
            lines += [f"{indent}  {'  '.join(str(v) for v in entry.values())}" for entry in item]
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
    """Compile a model FOLDER in sentence-transformers layout (BERT family) into the store."""
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
    from closecall.models import store

    checks = store.verify_all() if name is None else store.verify_model(store.find_model(name))
    for check in checks:
        say(f"{'ok ' if check.ok else 'BAD'} {check.model}: {check.path}")
        if not check.ok:
            say(f"    {check.problem}")
    bad = sum(not check.ok for check in checks)
    say(f"{len(checks) - bad} / {len(checks)} files as recorded")
    return 3 if bad else 0
