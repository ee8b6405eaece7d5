"""What the page is told and may press: one sitting, shared by every request of the server."""

from __future__ import annotations

from threading import Lock
from typing import Any, Literal

import msgspec

from closecall.errors import UsageError
from closecall.labelling.events import MOST_NOTE
from closecall.labelling.journal import JournalError
from closecall.labelling.session import Session
from closecall.labelling.sheet import asked_of, counted, heard_lines, parts_of
from closecall.records import Label
from closecall.report.words import visible


class Press(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One key of the page. ``step`` is that of the state it was pressed on."""

    key: Literal["accept", "reject", "unsure", "undo", "note"]
    step: int
    note: str = ""


class Reply(msgspec.Struct, frozen=True):
    """The state after a request, and its HTTP status."""

    status: int
    state: dict[str, Any]


class Desk:
    """A session behind a lock. A key pressed on a state that another tab changed does nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = Lock()
        self._closed = False

    def look(self) -> dict[str, Any]:
        """Return what the page shows now."""
        with self._lock:
            return self._state("")

    def press(self, press: Press) -> Reply:
        """Do what a key says; the reply is sent when the key is on the disk."""
        with self._lock:
            if self._closed:
                return Reply(503, self._state("Not kept: labelling has ended."))
            if press.step != self._session.journal.next_number:
                return Reply(
                    409, self._state("Not kept: another tab went on. Here is what is next.")
                )
            try:
                return Reply(200, self._state(self._pressed(press)))
            except JournalError as error:
                return Reply(507, self._state(f"Not kept: {error}"))
            except UsageError as error:
                return Reply(422, self._state(f"Not kept: {error}"))

    def close(self) -> None:
        """Take no more keys; returns when the last one is kept."""
        with self._lock:
            self._closed = True

    def _pressed(self, press: Press) -> str:
        session, item = self._session, self._session.current
        if press.key == "undo":
            return "Undone." if session.undo() else "There is nothing to undo."
        if item is None:
            return ""
        name = visible(item.case.id)
        if press.key == "note":
            session.note(press.note)
            return "Note kept." if press.note.strip() else "Note removed."
        if press.key == "unsure":
            session.unsure()
            return f"{name}: left open, it comes back later."
        label = Label(press.key)
        session.label(label)
        return f"{name}: {label}ed."

    def _state(self, message: str) -> dict[str, Any]:
        session, item = self._session, self._session.current
        progress = session.progress()
        return {
            "step": session.journal.next_number,
            "mode": session.mode,
            "message": visible(message),
            "counted": counted(progress),
            "done": progress.done,
            "total": progress.total,
            "lines": list(progress.lines),
            "note_limit": MOST_NOTE,
            "case": None
            if item is None
            else {
                "id": visible(item.case.id),
                "question": asked_of(session),
                "parts": [part._asdict() for part in parts_of(item)],
                "heard": heard_lines(session, item),
                "note": session.own_note(item),
            },
        }
