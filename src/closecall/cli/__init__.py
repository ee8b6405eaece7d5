"""The command line: one file a command, loaded when it is used.

``main`` turns every deliberate error into its exit code; see ``closecall.errors`` and the table in
the README.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from closecall._version import __version__
from closecall.cli.ending import TerminatedError, interruption_in, terminable
from closecall.cli.groups import NamingGroup
from closecall.cli.options import HELP_NAMES, offline_option, with_offline
from closecall.cli.pipes import may_close, settle
from closecall.cli.redacted import redacted
from closecall.cli.say import say
from closecall.errors import ClosecallError, ConfigurationError
from closecall.offline import offline, sealed

COMMANDS = {
    "score": "Score one pair of texts.",
    "eval": "Score a file of cases and say which are close enough.",
    "calibrate": "Choose a cutoff from your labels, and say how wrong it is.",
    "import": "Take over the case files of other evaluators.",
    "audit": "Look for duplicates, leaks and bad labels in a file.",
    "stress": "Count which made-up wrong answers get through.",
    "index": "Embed a corpus into a folder to search again and again.",
    "search": "Show the passages nearest to a question.",
    "retrieval": "Say how good a search is, beside a search by words.",
    "check-gates": "Say whether the gates would stop bad answers.",
    "plan": "Say how many labels a promise needs, and which come next.",
    "label": "Accept or reject answers by single keys.",
    "compare-cutoffs": "Say which of two calibrations decides better.",
    "compare-models": "Say which of two embedders or metrics accepts more.",
    "compare": "Say whether a run is worse than an earlier one.",
    "report": "Show kept runs as one page to look at.",
    "runs": "List, show, merge and remove the runs kept.",
    "verify": "Check a run folder from end to end.",
    "sign": "Sign a run, so that others know who vouches for it.",
    "demo": "See it work on a packaged set of labelled answers.",
    "plot": "Draw scores, errors or runs as SVG or PNG.",
    "metrics": "List the metrics, what they need and their cutoffs.",
    "models": "List, fetch, carry, add and verify local models.",
    "cache": "Look at the cache of vectors, prune or clear it.",
    "cassette": "Look at recordings, compare, prune or verify them.",
    "doctor": "Check this installation.",
    "completion": "Print the completion script for your shell.",
}

_GARBAGE = 50_000
"""Containers made and not freed before garbage is looked for; Python's own 700 suits few."""

EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143

_NO_NAME = frozenset({errno.ENAMETOOLONG})
"""Errors of a name that no file can have, whatever was to be done with it."""

_OUTPUT_FAILED = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""A full or broken output is the machine's fault, not a bug."""


class LazyGroup(NamingGroup):
    """Lists every command without importing any; imports the one that is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order a newcomer meets them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, or None when there is none of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = cmd_name.replace("-", "_") + "_" * iskeyword(cmd_name)  # import_.py
        command: click.Command = import_module(f"closecall.cli.{module}").command
        return with_offline(command)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a reader of its output that leaves early is no error."""
        with may_close(sys.stdout):
            return super().invoke(ctx)
        return 0

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list from the table above."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings=HELP_NAMES,
    epilog="Start with: closecall demo",
)
@click.version_option(__version__, "-V", "--version", prog_name="closecall")
@offline_option
def cli() -> None:
    """Is this text close enough to that one?

    Scores LLM and RAG answers with embeddings computed on this machine, without network.
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    code = run(args)
    settle(sys.stdout)
    sys.exit(code)


def run(args: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    typed = sys.argv[1:] if args is None else args
    _streams_are_there()
    _any_text_prints()
    try:
        with terminable():
            return _run(args)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        say(redacted(shown.getvalue().removesuffix("\n"), typed), err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort) as error:
        return _interrupted(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it gets its own exit code
        if interruption_in(error) is not None:
            return _interrupted(error)
        if isinstance(error, ClosecallError):
            say(redacted(f"closecall: {error}", typed), err=True)
            return error.exit_code
        return _internal(error, typed)


def _interrupted(error: BaseException) -> int:
    """Say what ended the work, and return the exit code for it; click raises its own from it."""
    ended = isinstance(interruption_in(error), TerminatedError)
    click.echo("closecall: ended by SIGTERM" if ended else "closecall: interrupted", err=True)
    return EXIT_TERMINATED if ended else EXIT_INTERRUPTED


def _internal(error: Exception, typed: list[str]) -> int:
    """Say what went wrong that no command expected, and return the exit code for it."""
    if isinstance(error, OSError) and error.errno in _NO_NAME:
        say(f"closecall: {error.filename!s:.60}...: {error.strerror}", err=True)
        return click.UsageError.exit_code
    if isinstance(error, OSError) and error.errno in _OUTPUT_FAILED:
        say(f"closecall: the output cannot be written: {error.strerror}", err=True)
        return click.UsageError.exit_code
    if _is_out_of_memory(error):
        say(
            f"closecall: there is not enough memory: {str(error) or 'an allocation failed'}",
            err=True,
        )
        return ConfigurationError.exit_code
    if os.environ.get("CLOSECALL_DEBUG"):
        raise error
    say(
        redacted(f"closecall: internal error: {type(error).__name__}: {error}\n", typed)
        + "This is a bug in closecall; CLOSECALL_DEBUG=1 shows where it happened.",
        err=True,
    )
    return EXIT_INTERNAL


def _is_out_of_memory(error: Exception) -> bool:
    """Whether the machine is at fault; a library that found no room is one that does not load."""
    if isinstance(error, ImportError):
        return "failed to map segment" in str(error) or "allocate memory" in str(error)
    return isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM


def _streams_are_there() -> None:
    """Give a process that was started without output (``>&-``) one that goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115,PTH123 - for good
            setattr(sys, name, nowhere)


def _run(args: list[str] | None) -> int:
    try:
        with sealed() if offline() else nullcontext(), _collecting_seldom():
            result: Any = cli.main(args=args, prog_name="closecall", standalone_mode=False)
    except SystemExit as done:  # how click ends a completion
        result = done.code
    return result if isinstance(result, int) else 0


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Let cyclic garbage wait: a command makes little of it, and looking for it takes 7 %."""
    before = gc.get_threshold()
    gc.set_threshold(_GARBAGE, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _any_text_prints() -> None:
    """Make output escape what it cannot hold: most in ASCII or a code page, little in UTF-8."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
