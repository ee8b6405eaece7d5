"""Options several commands share, and the parsing of ``NAME=VALUE``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from closecall.cli.places import OUTPUT

WINDOWS = ("chunk", "truncate", "error")
ROLES = ("query", "document", "text")
"""Spelt out here too, because ``--help`` is to load neither records nor instruments."""

HELP_NAMES: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
"""Context settings of every group; commands below a group inherit them."""

FORBIDDEN = "closecall.offline"
"""Key in a context's ``meta`` that --offline leaves, for a command with a meaning of its own."""

F = TypeVar("F", bound=Callable[..., Any])


def _go_offline(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Keep this process off the network until the command has ended."""
    if not wanted:
        return
    import os

    from closecall.offline import VARIABLE, sealed

    context.meta[FORBIDDEN] = True
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    # The outermost context is closed even where a later argument is refused.
    outermost = context.find_root()
    outermost.with_resource(sealed("--offline forbids the network"))

    def restore() -> None:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before

    outermost.call_on_close(restore)


def offline_option(function: F) -> F:
    """Add --offline."""
    return click.option(
        "--offline",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_go_offline,
        help="Refuse any connection that leaves this machine, and say what wanted it; as "
        "CLOSECALL_OFFLINE=1 does.",
    )(function)


def with_offline(command: click.Command) -> click.Command:
    """Give a command, and each one of a group, --offline where it has none; return the command."""
    if isinstance(command, click.Group):
        for one in command.commands.values():
            with_offline(one)
    if not any("--offline" in one.opts for one in command.params):
        offline_option(command)
    return command


def embedder_options(function: F) -> F:
    """Add --embedder, --window, --threads and --offline."""
    return embedder_options_with(threads="every core this process may use")(function)


def embedder_options_with(*, threads: str) -> Callable[[F], F]:
    """Return what adds these options, where ``threads`` says what the default of --threads is."""

    def add(function: F) -> F:
        for option in reversed(
            (
                click.option(
                    "--embedder",
                    metavar="SPEC",
                    help="minilm (bundled, the default), the name of a stored model, onnx:FOLDER, "
                    "st:FOLDER-OR-NAME, static:FOLDER, isotropic:FILE, or a provider: "
                    "openai:MODEL, azure:DEPLOYMENT, foundry:MODEL, bitdeer:MODEL, "
                    "openai-compatible:MODEL, ollama:MODEL.",
                ),
                click.option(
                    "--window",
                    type=click.Choice(WINDOWS),
                    default="chunk",
                    show_default=True,
                    help="A text longer than the model's window: read it in windows and average, "
                    "read the first only (and say so), or do not measure it.",
                ),
                click.option(
                    "--threads",
                    type=click.IntRange(min=1),
                    help=f"Runs side by side.  [default: {threads}]",
                ),
                offline_option,
            )
        ):
            function = option(function)
        return function

    return add


def bad_row_option(skip: str = "leave out and count") -> Callable[[F], F]:
    """Return what adds --on-bad-row, where ``skip`` says what becomes of a row passed over."""
    return click.option(
        "--on-bad-row",
        type=click.Choice(["fail", "skip"]),
        default="fail",
        show_default=True,
        help=f"Rows that cannot be read: stop, or {skip}.",
    )


def case_options(fields: str, skip: str = "leave out and count") -> Callable[[F], F]:
    """Return what adds --map and --on-bad-row, where ``fields`` names some of a case's."""

    def add(function: F) -> F:
        return click.option(
            "--map",
            "mapping",
            multiple=True,
            metavar="FIELD=COLUMN",
            help=f"Read FIELD ({fields}) from this column.",
        )(bad_row_option(skip)(function))

    return add


def group_option(function: F) -> F:
    """Add --group."""
    return click.option(
        "--group",
        metavar="FIELD",
        help="Field that says which rows belong together.  [default: group, else the question]",
    )(function)


def cache_options(function: F) -> F:
    """Add --cache-dir and --no-cache."""
    function = click.option(
        "--no-cache", is_flag=True, help="Neither read nor write the vector cache."
    )(function)
    return click.option(
        "--cache-dir",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of the vector cache.",
    )(function)


def require_one_cache(options: dict[str, Any]) -> None:
    """Refuse the two options of the cache together."""
    if options["cache_dir"] and options["no_cache"]:
        raise click.UsageError("--cache-dir and --no-cache exclude each other")


def print_option(said: str = "How to print what was found.") -> Callable[[F], F]:
    """Return what adds --format, text or JSON; ``said`` is its help."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help=said,
    )


def report_option(function: F) -> F:
    """Add -o, the file a report goes to."""
    return click.option(
        "-o",
        "--output",
        type=OUTPUT,
        help="Write the report to this file, or URL of object storage.",
    )(function)


def guards_option(function: F) -> F:
    """Add --guards."""
    return click.option(
        "--guards",
        metavar="POLICY",
        help="What a guard (numbers, negation, names, quantifiers, antonyms) that finds a "
        "difference to the references does to an answer that a cutoff accepts: unsure, reject or "
        "off for all, or pairs such as numbers=reject,names=off.  [default: unsure]",
    )(function)


def typed_window(context: click.Context) -> str | None:
    """Return --window if it was typed; None leaves the choice to what the command is given."""
    if context.get_parameter_source("window") is click.core.ParameterSource.DEFAULT:
        return None
    window: str = context.params["window"]
    return window


def require_parts(context: click.Context, *, in_parts: bool) -> None:
    """Refuse --part-cases where no run in parts is written, which would take no notice of it."""
    source = context.get_parameter_source("part_cases")
    if not in_parts and source is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError("--part-cases is of a run in parts: give --parts too")


def pairs(values: tuple[str, ...], option: str, example: str) -> dict[str, str]:
    """Return ``NAME=VALUE`` arguments as a dict; a name given twice is an error."""
    found: dict[str, str] = {}
    for value in values:
        name, sep, rest = value.rpartition("=") if option == "--cutoff" else value.partition("=")
        if not sep or not name.strip() or not rest.strip():
            raise click.UsageError(f"{option} takes {example}, got {value!r}")
        if name.strip() in found:
            raise click.UsageError(f"{option} names {name.strip()!r} twice")
        found[name.strip()] = rest.strip()
    return found


def cutoffs(values: tuple[str, ...], names: tuple[str, ...]) -> dict[str, float]:
    """Return ``--cutoff NAME=VALUE`` arguments as numbers; for one metric VALUE alone will do."""
    found: dict[str, float] = {}
    metrics = [part.strip() for name in names for part in name.split(",") if part.strip()]
    if len(values) == 1 and len(metrics) == 1 and _is_number(values[0]):
        values = (f"{metrics[0]}={values[0]}",)
    for name, text in pairs(
        values, "--cutoff", "NAME=VALUE (for example embed_answer_similarity=62)"
    ).items():
        try:
            found[name] = float(text)
        except ValueError:
            raise click.UsageError(f"--cutoff {name}={text}: {text!r} is not a number") from None
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
