"""What all events together say: the labels of each annotator, notes, and what was settled."""

from __future__ import annotations

from collections.abc import Iterable

from closecall.labelling.events import LABELS, Event, Kind
from closecall.records import Label

_OPINIONS: frozenset[Kind] = frozenset({"accept", "reject", "unsure"})
_RESOLUTIONS: frozenset[Kind] = frozenset({"resolve_accept", "resolve_reject"})


class Ledger:
    """Labels by item and annotator, from events in the order they happened.

    Undoing an event brings back what the same annotator had said before it.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._said: dict[str, dict[str, list[Event]]] = {}
        self._settled: dict[str, list[Event]] = {}
        self._notes: dict[str, dict[str, list[Event]]] = {}
        self._done: dict[str, list[Event]] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take one event in."""
        if event.event == "undo":
            self._undo(event)
            return
        self._stack(event).append(event)
        self._done.setdefault(event.annotator, []).append(event)

    def merge(self, other: Ledger) -> None:
        """Take in what another journal says; none of it can be undone here.

        Where both have labels of one annotator on one item, the later one stands.
        """
        for item, events in other._settled.items():
            self._settled[item] = _by_time(self._settled.get(item, []), events)
        for mine, theirs in ((self._said, other._said), (self._notes, other._notes)):
            for item, by_name in theirs.items():
                held = mine.setdefault(item, {})
                for name, events in by_name.items():
                    held[name] = _by_time(held.get(name, []), events)

    def standing_events(self, annotator: str) -> tuple[Event, ...]:
        """Return what the annotator can undo, the latest first."""
        return tuple(reversed(self._done.get(annotator, ())))

    def opinions(self, item: str) -> dict[str, Event]:
        """Return the accept or reject that stands, by annotator, who labelled first first."""
        found = {
            name: events[-1]
            for name, events in self._said.get(item, {}).items()
            if events and events[-1].event != "unsure"
        }
        return dict(sorted(found.items(), key=lambda pair: (pair[1].at, pair[1].number, pair[0])))

    def label(self, item: str, annotator: str) -> Label | None:
        """Return what an annotator said of an item; None too where they were unsure."""
        events = self._said.get(item, {}).get(annotator)
        return LABELS.get(events[-1].event) if events else None

    def unsure(self, item: str, annotator: str) -> int:
        """Return the number of the event by which an annotator left it open; 0 where not."""
        events = self._said.get(item, {}).get(annotator)
        return events[-1].number if events and events[-1].event == "unsure" else 0

    def settled(self, item: str) -> Event | None:
        """Return the event that settled a disagreement."""
        events = self._settled.get(item)
        return events[-1] if events else None

    def notes(self, item: str) -> dict[str, str]:
        """Return the notes on an item by annotator."""
        return {
            name: events[-1].note
            for name, events in self._notes.get(item, {}).items()
            if events and events[-1].note
        }

    def items(self) -> frozenset[str]:
        """Return every item that any event is about."""
        return frozenset({*self._said, *self._settled, *self._notes})

    def annotators(self) -> tuple[str, ...]:
        """Return who pressed keys, by name."""
        return tuple(sorted(self._done))

    def _stack(self, event: Event) -> list[Event]:
        if event.event in _RESOLUTIONS:
            return self._settled.setdefault(event.item, [])
        of = self._said if event.event in _OPINIONS else self._notes
        return of.setdefault(event.item, {}).setdefault(event.annotator, [])

    def _undo(self, undo: Event) -> None:
        done = self._done.get(undo.annotator, [])
        for at in range(len(done) - 1, -1, -1):
            if done[at].number == undo.undoes:
                event = done.pop(at)
                self._stack(event).remove(event)
                return


def _by_time(mine: list[Event], theirs: list[Event]) -> list[Event]:
    return sorted([*mine, *theirs], key=lambda event: (event.at, event.number))
