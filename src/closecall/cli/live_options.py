"""Options about what answers, what judges, and what is recorded of both."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import click

from closecall.cli.cache import age
from closecall.cli.places import FOLDER, shown, stands_for, url_of
from closecall.cli.say import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from closecall.cassettes import Cassette
    from closecall.runs.live import SubjectPlan
    from closecall.runs.record import Run

    F = TypeVar("F", bound=Callable[..., Any])

MODES = ("record", "replay", "record_missing")
DAY = 86_400.0
SUBJECT = ("endpoint", "model", "system_prompt_file", "temperature", "max_tokens")


def live_options(function: F) -> F:
    """Add the options of a subject, of judges and of a cassette."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def cassette_options(function: F) -> F:
    """Add those of a cassette alone."""
    for option in reversed(_CASSETTE):
        function = option(function)
    return function


def judge_options(function: F) -> F:
    """Add those of judges and of a cassette alone, where nobody is asked to answer."""
    for option in reversed((*_JUDGE, *_CASSETTE)):
        function = option(function)
    return function


_JUDGE = (
    click.option(
        "--judge-model",
        "judges",
        multiple=True,
        metavar="SPEC",
        help="Chat model for metrics that ask one: openai:MODEL, azure:DEPLOYMENT, ollama:MODEL, "
        "...; repeated, a panel.  [default: the provider AI_INFERENCE_PROVIDER selects]",
    ),
)
_ANSWERS = (
    click.option(
        "--endpoint",
        metavar="URL",
        help="Address of an OpenAI-shaped server that answers the cases without a response.",
    ),
    click.option(
        "--model",
        metavar="NAME",
        help="The model that answers there; without --endpoint, a SPEC as for --judge-model.",
    ),
    click.option(
        "--system-prompt-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="What it is told before each case.",
    ),
    click.option("--temperature", type=float, help="Of the answers.  [default: 0]"),
    click.option("--max-tokens", type=click.IntRange(min=1), help="Longest answer."),
    click.option(
        "--runs",
        type=int,
        default=1,
        metavar="N",
        help="Answer each case N times, a chat model with another seed each time, and measure "
        "every answer: 3 or more.  [default: 1]",
    ),
    click.option(
        "--success-threshold",
        type=float,
        metavar="SHARE",
        help="Share of its runs that a case has to pass in.  [default: 0.8]",
    ),
    click.option(
        "--subject-command",
        metavar="CMD",
        help="Program that answers them instead: the case as JSON on its standard input, the "
        "response on its standard output.",
    ),
)
_CASSETTE = (
    click.option(
        "--record",
        type=FOLDER,
        metavar="DIR",
        help="Record everything that leaves this machine in DIR, or at a URL of object storage.",
    ),
    click.option(
        "--replay",
        type=FOLDER,
        metavar="DIR",
        help="Take it all from the recordings in DIR and ask nobody; exit 5 if one is missing.",
    ),
    click.option(
        "--record-missing",
        type=FOLDER,
        metavar="DIR",
        help="Take what is recorded in DIR, and ask for and record the rest.",
    ),
    click.option(
        "--take-over",
        is_flag=True,
        help="Go on with a recording or run at a URL that another process began there, which must "
        "have died.",
    ),
    click.option(
        "--ttl",
        type=age,
        metavar="AGE",
        help="Count no recording that is older: 30d, 8w.  [default: they never expire]",
    ),
    click.option(
        "--record-floats",
        type=click.Choice(["f32", "f16"]),
        help="How vectors are recorded; f16 takes half the bytes and rounds.  [default: f32]",
    ),
)
_OPTIONS = (*_JUDGE, *_ANSWERS, *_CASSETTE)


def subject_plan(options: dict[str, Any]) -> SubjectPlan | None:
    """Return how to make the subject that was asked for, None without any."""
    given = [name for name in SUBJECT if options[name] is not None]
    command = options["subject_command"]
    if command is not None and given:
        raise click.UsageError(
            f"--subject-command answers by itself; leave out --{given[0].replace('_', '-')}"
        )
    if command is None and not given:
        return None
    if command is None and options["endpoint"] is None and options["model"] is None:
        raise click.UsageError("name what answers: --model SPEC, or --endpoint URL --model NAME")
    from closecall.runs.live import SubjectPlan

    if command is not None:
        return SubjectPlan(command=command)
    prompt, temperature = options["system_prompt_file"], options["temperature"]
    return SubjectPlan(
        endpoint=options["endpoint"],
        model=options["model"],
        system_prompt_file=None if prompt is None else str(prompt.absolute()),
        temperature=0.0 if temperature is None else temperature,
        max_tokens=options["max_tokens"],
    )


def repeats_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return how often each case is answered, and the share of those it has to pass in."""
    threshold = options["success_threshold"]
    if threshold is None:
        return {"runs": options["runs"]}
    if options["runs"] == 1:
        raise click.UsageError("--success-threshold is about several runs; add --runs N")
    return {"runs": options["runs"], "success_threshold": threshold}


class Tape(NamedTuple):
    """Where a run records, or what it replays; kept with the run, so that it goes on there."""

    folder: str
    mode: str
    scenario: str
    floats: Literal["f32", "f16"] = "f32"
    ttl_days: int | None = None

    def kept(self) -> dict[str, Any]:
        """Return it as the run's header keeps it."""
        return self._asdict()


def tape_of(options: dict[str, Any], scenario: str, kept: Mapping[str, Any]) -> Tape | None:
    """Return the cassette that was asked for, else the one that the run was begun with."""
    given = [mode for mode in MODES if options[mode] is not None]
    if len(given) > 1:
        raise click.UsageError("--record, --replay and --record-missing exclude each other")
    scenario = str(kept.get("scenario", scenario))
    if not given and "folder" not in kept:
        _refuse_without_cassette(options)
        return None
    floats: Literal["f32", "f16"] = options["record_floats"] or kept.get("floats") or "f32"
    ttl = kept.get("ttl_days") if options["ttl"] is None else options["ttl"]
    if given:
        (mode,) = given
        return Tape(str(options[mode].absolute()), mode.replace("_", "-"), scenario, floats, ttl)
    return Tape(str(kept["folder"]), str(kept["mode"]), scenario, floats, ttl)


def _refuse_without_cassette(options: dict[str, Any]) -> None:
    for name in ("ttl", "record_floats"):
        if options[name] is not None:
            raise click.UsageError(
                f"--{name.replace('_', '-')} is about a cassette; add --record, --replay or "
                "--record-missing DIR"
            )


@contextmanager
def opened(tape: Tape | None, since: str | None = None) -> Iterator[Cassette | None]:
    """Open a cassette, and close it in any case.

    ``since`` is when the run began that is gone on with: what it recorded is not asked again.
    """
    if tape is None:
        yield None
        return
    from closecall.cassettes import open_cassette

    with (
        _folder(tape) as folder,
        open_cassette(
            folder,
            tape.mode,
            scenario=tape.scenario,
            floats=tape.floats,
            ttl=None if tape.ttl_days is None else tape.ttl_days * DAY,
            since=_moment(since),
        ) as cassette,
    ):
        yield cassette


@contextmanager
def _folder(tape: Tape) -> Iterator[Path]:
    """Give the folder of a cassette: its own, or what stands for a URL."""
    url = url_of(tape.folder)
    if url is None:
        yield Path(tape.folder)
        return
    from closecall.cassettes.afar import cassette_at

    take_over = bool(click.get_current_context().params.get("take_over"))

    def tell(text: str) -> None:
        say(f"closecall: {text}", err=True)

    with cassette_at(url, tape.mode, tape.scenario, take_over=take_over, on_notice=tell) as folder:
        stands_for(folder, url)
        yield folder


def _moment(time: str | None) -> dt.datetime | None:
    """Return when a run began; None where nobody can tell, and then everything is asked again."""
    try:
        found = None if time is None else dt.datetime.fromisoformat(time)
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=dt.UTC)


def drop_unasked(cassette: Cassette, run: Run) -> int:
    """Drop recordings that a whole run did not ask for; none where something failed.

    What failed asked for less than a sound run would: its recordings may still be needed.
    """
    return 0 if run.cases.unmeasured else cassette.forget_unasked()


def told(cassette: Cassette, *, replay: bool, dropped: int = 0) -> str:
    """Return what became of the requests, in words."""
    counts = cassette.counts
    if replay and not counts.replayed:
        return f"{_where(cassette)}: nothing was replayed; nothing in this run leaves the machine"
    parts = [
        (counts.replayed, "replayed"),
        (counts.recorded, "recorded"),
        (counts.unchanged, "unchanged"),
    ]
    said = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    if dropped:
        said += f"; {dropped:,} that nothing asked for any more were dropped"
    return f"{_where(cassette)}: {said or 'nothing to record'}"


def _where(cassette: Cassette) -> str:
    """Return the file of a cassette, as a person knows it."""
    folder, name = cassette.path.parent, cassette.path.name
    known = shown(folder)
    return str(cassette.path) if known == str(folder) else f"{known}/{name}"
