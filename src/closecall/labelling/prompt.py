"""Labelling at a plain prompt: a letter and Enter, for any terminal or a pipe."""

from __future__ import annotations

from collections.abc import Callable

from closecall.errors import UsageError
from closecall.labelling.journal import JournalError
from closecall.labelling.session import Session
from closecall.labelling.sheet import asked_of, counted, heard_lines, parts_of
from closecall.records import Label

KEYS = "a accept, r reject, s unsure (comes back), u undo, n TEXT note, q quit"
HELP = f"Keys, each with Enter: {KEYS}. Every key is kept at once."

WIDTH = 2000
"""Characters of a text that are shown at once; m shows all."""


def label_at_prompt(
    session: Session, say: Callable[[str], None], ask: Callable[[], str | None]
) -> None:
    """Ask case after case until all are done, or the person leaves.

    Parameters
    ----------
    say
        Prints a line.
    ask
        Returns what was typed; None at the end of the input.
    """
    say(HELP)
    again = True
    while session.current is not None:
        if again:
            say(counted(session.progress()))
            _show(session, say, WIDTH)
        typed = ask()
        letter, _, rest = ("q" if typed is None else typed.strip()).partition(" ")
        if letter in {"q", "quit"}:
            say(counted(session.progress()))
            return
        try:
            again = _obey(session, letter, rest, say)
        except UsageError as error:
            if isinstance(error, JournalError):
                raise
            say(str(error))
            again = False
    say(f"{counted(session.progress())}. Nothing is left to ask.")


def _obey(session: Session, letter: str, rest: str, say: Callable[[str], None]) -> bool:
    """Do what a letter says; return whether the case is to be shown, which may be another."""
    if letter in {"a", "r"}:
        session.label(Label.ACCEPT if letter == "a" else Label.REJECT)
    elif letter == "s":
        session.unsure()
    elif letter == "u":
        if session.undo() is None:
            say("There is nothing to undo.")
            return False
    elif letter == "n":
        if not rest.strip() and not (session.current and session.own_note(session.current)):
            say("A note stands after n, on one line: n TEXT. n alone removes a note.")
            return False
        session.note(rest)
        say("Note kept." if rest.strip() else "Note removed.")
        return False
    elif letter == "m":
        _show(session, say, None)
        return False
    else:
        say(HELP)
        return False
    return True


def _show(session: Session, say: Callable[[str], None], most: int | None) -> None:
    item = session.current
    if item is None:
        return
    say("")
    for part in parts_of(item):
        text = part.text if most is None else part.text[:most]
        say(f"{part.name}: {text}")
        if len(text) < len(part.text):
            say(f"  ... {len(part.text) - len(text):,} characters more: m shows all")
    for line in heard_lines(session, item):
        say(line)
    note = session.own_note(item)
    if note:
        say(f"Your note: {note}")
    say(f"{asked_of(session)} [{'a/r/u/n/q' if session.mode == 'resolve' else 'a/r/s/u/n/q'}]")
