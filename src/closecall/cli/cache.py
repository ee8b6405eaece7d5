"""``closecall cache``: what the vector cache holds, and looking after it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from closecall.cli.groups import NamingGroup
from closecall.cli.options import HELP_NAMES, ROLES, WINDOWS, pairs
from closecall.cli.say import say, say_json
from closecall.report.words import visible

if TYPE_CHECKING:
    from closecall.cache.entries import CacheInfo, Explanation, Pruned
    from closecall.cache.vectors import VectorCache
    from closecall.embedders.base import TextKey
    from closecall.records import Case

F = TypeVar("F", bound=Callable[..., Any])

UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}


def size(value: str) -> int:
    """Return the bytes that ``500MB``, ``2GiB`` or ``1000000`` stands for."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)\s*([a-z]*)", value.strip().lower(), re.ASCII)
    if match is None or match[2] not in UNITS:
        raise click.BadParameter(f"{value!r} is not a size; write it like 500MB, 2GiB or 1000000")
    return int(float(match[1]) * UNITS[match[2]])


def age(value: str) -> int:
    """Return the days that ``30d``, ``8w`` or ``45`` stands for."""
    match = re.fullmatch(r"(\d{1,6})\s*([dw]?)", value.strip().lower(), re.ASCII)
    if match is None:
        raise click.BadParameter(f"{value!r} is not an age; write it like 30d or 8w")
    return int(match[1]) * (7 if match[2] == "w" else 1)


def example(*lines: str) -> str:
    """Return the end of a command's help; the backspace keeps click from joining the lines."""
    return "\n".join(["\b", "Example:", *(f"  {line}" for line in lines)])


def common(command: F) -> F:
    """Add the options every command here takes."""
    command = click.option(
        "--cache-dir",
        type=click.Path(path_type=Path),
        help="Folder of the cache; without it CLOSECALL_CACHE_DIR or the system's place.",
    )(command)
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


@click.group(cls=NamingGroup, context_settings=HELP_NAMES, epilog=example("closecall cache info"))
def cache() -> None:
    """Look after the vectors kept between runs.

    The cache holds vectors and hashes of texts, never texts.
    """


@cache.command(epilog=example("closecall cache info --json"))
@common
def info(cache_dir: Path | None, as_json: bool) -> None:
    """Say where the cache is, how large, and whose vectors it holds."""
    from closecall.cache import maintenance

    with _cache(cache_dir) as vectors:
        found = maintenance.info(vectors)
    _say_record(found) if as_json else _print_info(found)


@cache.command(epilog=example("closecall cache prune --max-size 500MB --older-than 30d"))
@click.option(
    "--max-size", type=size, metavar="SIZE", help="Drop the least recently used beyond this size."
)
@click.option(
    "--older-than", type=age, metavar="AGE", help="Drop what was not used for longer than this."
)
@click.option("--model", help="Only this model's vectors: its name, or its id from info.")
@common
def prune(
    *,
    max_size: int | None,
    older_than: int | None,
    model: str | None,
    cache_dir: Path | None,
    as_json: bool,
) -> None:
    """Drop vectors by size, age or model. Runs embed again what they miss."""
    from closecall.cache import maintenance

    if max_size is None and older_than is None and model is None:
        raise click.UsageError(
            "say what to drop: --max-size 500MB, --older-than 30d or --model ID"
        )
    with _cache(cache_dir) as vectors:
        done = maintenance.prune(
            vectors, max_bytes=max_size, older_than_days=older_than, instrument=model
        )
    _say_record(done) if as_json else _print_pruned(done)


@cache.command(epilog=example("closecall cache clear --yes"))
@click.option("--yes", is_flag=True, help="Do not ask.")
@common
def clear(yes: bool, cache_dir: Path | None, as_json: bool) -> None:
    """Drop every vector, and the damaged files once set aside."""
    from closecall.cache import maintenance

    with _cache(cache_dir) as vectors:
        if not yes:
            if not _someone_is_there():
                raise click.UsageError("nobody is there to ask; type: closecall cache clear --yes")
            click.confirm(visible(f"Drop every vector in {vectors.path}?"), abort=True, err=True)
        done = maintenance.clear(vectors)
    _say_record(done) if as_json else _print_pruned(done)


@cache.command(
    epilog=example(
        'closecall cache explain "Your parcel left on Monday." --role text',
        "closecall cache explain --case cases.jsonl:17 -m embed_response_context",
    )
)
@click.argument("text", required=False)
@click.option(
    "--case",
    "case",
    metavar="FILE:ID",
    help="Explain the texts that metrics embed for one case instead.",
)
@click.option(
    "-m",
    "--metrics",
    "names",
    multiple=True,
    metavar="NAMES",
    help="The metrics to ask, with --case.  [default: embed_answer_similarity]",
)
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="How the file is read, with --case; as for closecall eval.",
)
@click.option(
    "--role",
    type=click.Choice(ROLES),
    help="What TEXT is to the model; without it every role that the model tells apart.",
)
@click.option("--embedder", "spec", help="The embedder to ask for; without it the default.")
@click.option("--window", type=click.Choice(WINDOWS), default="chunk", show_default=True)
@common
def explain(
    *,
    text: str | None,
    case: str | None,
    names: tuple[str, ...],
    mapping: tuple[str, ...],
    role: str | None,
    spec: str | None,
    window: str,
    cache_dir: Path | None,
    as_json: bool,
) -> None:
    """Say whether a text's vector would come from the cache, and if not, why not.

    On a miss it lists where else this very text is stored and what differs there.
    """
    from closecall.cache.explain import explain as look
    from closecall.embedders.registry import load_embedder

    if (text is None) == (case is None):
        raise click.UsageError("give either a TEXT or --case FILE:ID")
    if text is not None:
        if names or mapping:
            raise click.UsageError("-m and --map are for --case; a TEXT is looked up as it is")
        asked = _plain_text(text, role)
    elif role:
        raise click.UsageError("--role is for a TEXT; with --case the metrics (-m) say the roles")
    else:
        asked = _case_texts(case or "", names, mapping)
    instrument = load_embedder(spec, window=window).instrument
    # Roles that the model does not tell apart are one entry.
    keys = {(instrument.effective_role(key.role), key.text): name for key, name in asked.texts}
    with _cache(cache_dir) as vectors:
        found = [(name, look(vectors, instrument, *key)) for key, name in keys.items()]
    if as_json:
        import msgspec

        rows = [{"name": name, **msgspec.to_builtins(one)} for name, one in found]
        say_json({"texts": rows, "absent": asked.absent})
        return
    for name, one in found:
        _print_explanation(name, one)
    for metric, reason in asked.absent.items():
        say(f"{metric}: embeds nothing: {reason}")


def _someone_is_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _cache(folder: Path | None) -> VectorCache:
    from closecall.cache.location import cache_path
    from closecall.cache.vectors import VectorCache

    # What a failure says is in the error raised for it; only what was repaired is told here.
    def tell(notice: str) -> None:
        if "set aside" in notice:
            say(notice, err=True)

    return VectorCache(cache_path(folder), on_notice=tell)


class Asked(NamedTuple):
    """Texts to look for, each with its role and its name; and metrics that embed none, and why."""

    texts: list[tuple[TextKey, str]]
    absent: dict[str, str]


def _plain_text(text: str, role: str | None) -> Asked:
    from closecall.embedders.base import TextKey
    from closecall.records import Role

    roles = [Role(role)] if role else [Role.TEXT, Role.QUERY, Role.DOCUMENT]
    return Asked([(TextKey(text, one), "text") for one in roles], {})


def _case_texts(place: str, names: tuple[str, ...], mapping: tuple[str, ...]) -> Asked:
    """Return what the metrics embed for one case: a context of several passages is joined."""
    from closecall.metrics.registry import DEFAULT, load_metrics
    from closecall.records import Unmeasured

    metrics = load_metrics(list(names) or DEFAULT)
    case = _case(place, pairs(mapping, "--map", "FIELD=COLUMN"))
    keys: dict[TextKey, None] = {}
    absent = {}
    for metric in metrics:
        found = metric.texts(case)
        if isinstance(found, Unmeasured):
            absent[metric.spec.id] = found.reason
        else:
            keys.update(dict.fromkeys(found))
    return Asked([(key, _name(case, key.text)) for key in keys], absent)


def _case(place: str, mapping: dict[str, str]) -> Case:
    from closecall.datasets import open_dataset
    from closecall.errors import UsageError

    file, separator, wanted = place.rpartition(":")
    if not separator or not file or not wanted:
        raise UsageError(f"--case takes FILE:ID, for example cases.jsonl:17; got {place!r}")
    for case in open_dataset(Path(file), mapping=mapping or None):
        if case.id == wanted:
            return case
    raise UsageError(f"{file} holds no case with the id {wanted!r}")


def _name(case: Case, text: str) -> str:
    """Return where in the case a text stands; passages that were joined are the ``context``."""
    fields = {
        "input": case.input,
        "response": case.response,
        **{f"references[{i}]": reference for i, reference in enumerate(case.references)},
        **{f"context[{i}]": passage for i, passage in enumerate(case.context)},
    }
    return ", ".join(name for name, found in fields.items() if found == text) or "context"


def _say_record(record: object) -> None:
    import msgspec

    say_json(msgspec.to_builtins(record))


def _print_info(found: CacheInfo) -> None:
    say(f"vector cache: {found.path}")
    if not found.exists:
        say("  nothing stored yet")
    else:
        say(f"  {found.rows} vectors, {_size(found.bytes)} on disk")
    for one in found.instruments:
        say(
            f"  {one.digest[:12]}  {one.model} ({one.provider}): {one.rows} vectors, "
            f"{_size(one.bytes)}, last used {one.last_used}"
        )
    for name in found.set_aside:
        say(f"  set aside: {name} (closecall cache clear removes it)")


def _print_pruned(done: Pruned) -> None:
    say(
        f"dropped {done.rows} vectors, {done.rows_left} left; "
        f"{_size(done.bytes_before)} -> {_size(done.bytes_after)}"
    )
    for name in done.files:
        say(f"removed {name}")


def _print_explanation(name: str, one: Explanation) -> None:
    head = f"{name} as {one.role} under {one.model} {one.digest[:12]}"
    if one.hit:
        seen = f", {one.tokens.seen} of {one.tokens.total} tokens seen" if one.tokens else ""
        say(f"{head}: hit{seen}")
        return
    say(f"{head}: miss")
    if not one.others:
        say("  this text is not stored under any model")
    for other in one.others:
        say(
            f"  stored as {other.role} under {other.model} {other.digest[:12]}, "
            f"last used {other.last_used}; it differs in:"
        )
        for difference in other.differences:
            say(
                f"    {difference.field}: stored {difference.stored!r}, asked {difference.asked!r}"
            )


def _size(count: int) -> str:
    for unit in ("GB", "MB", "kB"):
        if count >= UNITS[unit.lower()]:
            return f"{count / UNITS[unit.lower()]:.1f} {unit}"
    return f"{count} B"


command = cache
