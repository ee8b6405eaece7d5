"""One sitting: what is asked next, what a key does, how far it got. Knows no screen.

What comes up depends on the file, the journal and the order alone, so a sitting that was cut
off at any moment goes on where it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from closecall.errors import UsageError
from closecall.labelling.certifiable import Goal, standing
from closecall.labelling.deck import Deck, Item
from closecall.labelling.double import differing, labelled_by_others
from closecall.labelling.events import LABELS, MOST_NOTE, RESOLVES, Event, Kind, now
from closecall.labelling.journal import Journal
from closecall.labelling.ledger import Ledger
from closecall.labelling.order import Order, asked, sample
from closecall.labelling.tally import Counts, Tally, opinions
from closecall.records import Label

Mode: TypeAlias = Literal["first", "second", "resolve"]

Mark: TypeAlias = Label | Literal["new", "open", "others"]
"""Where an item of a sitting stands: not asked, left open, labelled, or labelled by others."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a sitting got: ``done`` of ``total``, ``unsure`` of them left open for now.

    ``accepts`` and ``rejects`` are those of this annotator in what is asked. ``counts`` and
    ``lines`` are of all labels; None and empty for a second annotator, whom they would tell
    what the first one said.
    """

    done: int
    total: int
    unsure: int
    accepts: int
    rejects: int
    counts: Counts | None
    lines: tuple[str, ...]


class Session:
    """A sitting of one annotator on the items of a file.

    Parameters
    ----------
    deck, journal
        What is labelled, and where each key is kept before the next.
    annotator
        Who presses the keys.
    mode
        ``first`` asks for what has no label, ``second`` for a ``share`` of what others labelled
        and never shows how, ``resolve`` for what two people label differently.
    order
        How cases come up; for ``second`` its seed alone counts.
    again
        Ask in ``first`` for cases with a label in the file too.
    others
        Events of other journals, which are read and never changed.
    """

    def __init__(
        self,
        deck: Deck,
        journal: Journal,
        *,
        annotator: str,
        mode: Mode = "first",
        order: Order,
        share: float = 1.0,
        again: bool = False,
        goal: Goal | None = None,
        others: Iterable[Iterable[Event]] = (),
    ) -> None:
        self.deck, self.journal, self.annotator, self.mode = deck, journal, annotator, mode
        self.ledger = ledger_of(journal.events, others)
        self.order = order
        self._again, self._goal = again, goal or Goal()
        self._queue = self._asked(share)
        self._tally = Tally(deck, self.ledger)
        self._back: str | None = None
        self._at = {key: at for at, key in enumerate(self._queue)}
        self._marks: dict[str, Mark] = {}
        self._count: Counter[Mark] = Counter()
        self._open: dict[str, int] = {}
        self._fresh = 0
        for key in self._queue:
            self._mark(key)

    def _asked(self, share: float) -> tuple[str, ...]:
        if self.mode == "second":
            theirs = labelled_by_others(self.deck, self.ledger, self.annotator)
            return sample(theirs, share, self.order.seed)
        if self.mode == "resolve":
            return tuple(item.key for item, _ in differing(self.deck, self.ledger))
        return asked(self.deck, self.order, again=self._again)

    @property
    def current(self) -> Item | None:
        """The item on the screen; None when nothing is left to ask.

        Those left open come back, the longest ago first, when there is nothing new.
        """
        if self._back is not None:
            return self.deck.items[self._back]
        while self._fresh < len(self._queue) and self._marks[self._queue[self._fresh]] != "new":
            self._fresh += 1
        if self._fresh < len(self._queue):
            return self.deck.items[self._queue[self._fresh]]
        if not self._open:
            return None
        return self.deck.items[min(self._open, key=self._open.__getitem__)]

    def label(self, label: Label) -> Event | None:
        """Accept or reject the current item, and go on; None where there is none."""
        kind: Kind = RESOLVES[label] if self.mode == "resolve" else _KINDS[label]
        return self._press(kind)

    def unsure(self) -> Event | None:
        """Leave the current item open for now; it comes back later."""
        if self.mode == "resolve":
            raise UsageError("a disagreement is settled by a or r; leave it open with q")
        return self._press("unsure")

    def note(self, text: str) -> Event | None:
        """Keep a note on the current item, in place of the one before; an empty one removes it."""
        item, text = self.current, text.strip()
        if item is None:
            return None
        if len(text) > MOST_NOTE:
            raise UsageError(f"a note has at most {MOST_NOTE:,} characters, not {len(text):,}")
        return self._keep(self._event("note", item.key, item.case.id, note=text))

    def undo(self) -> Event | None:
        """Take back this annotator's last key in sittings of this mode, and go back there.

        None where there is none.
        """
        done = self.ledger.standing_events(self.annotator)
        last = next((event for event in done if _mode_of(event) == self.mode), None)
        if last is None:
            return None
        event = self._event("undo", last.item, last.id, undoes=last.number)
        self._keep(event)
        self._back = last.item if last.item in self._at else None
        return event

    def progress(self) -> Progress:
        """Return how far it got."""
        blind = self.mode == "second"
        counts = None if blind else self._tally.counts()
        return Progress(
            done=len(self._queue) - self._count["new"] - self._count["open"],
            total=len(self._queue),
            unsure=self._count["open"],
            accepts=self._count[Label.ACCEPT],
            rejects=self._count[Label.REJECT],
            counts=counts,
            lines=() if counts is None else standing(self._goal, counts.have),
        )

    def own_note(self, item: Item) -> str:
        """Return this annotator's note on an item, empty where there is none."""
        return self.ledger.notes(item.key).get(self.annotator, "")

    def heard(self, item: Item) -> dict[str, tuple[Label, str]]:
        """Return what others said of an item and why; nothing unless it is to be settled."""
        if self.mode != "resolve":
            return {}
        notes = self.ledger.notes(item.key)
        said = opinions(item, self.ledger)
        return {name: (label, notes.get(name, "")) for name, label in said.items()}

    def _mark(self, key: str) -> None:
        """Note anew where one item stands, and what is to be asked first."""
        at = self._at.get(key)
        if at is None:
            return
        mark = self._marked(key)
        if key in self._marks:
            self._count[self._marks[key]] -= 1
        self._marks[key] = mark
        self._count[mark] += 1
        self._open.pop(key, None)
        if mark == "open":
            self._open[key] = self.ledger.unsure(key, self.annotator)
        elif mark == "new":
            self._fresh = min(self._fresh, at)

    def _marked(self, key: str) -> Mark:
        ledger = self.ledger
        if self.mode == "resolve":
            event = ledger.settled(key)
            if event is not None:
                return LABELS[event.event]
            return "others" if len(self.deck.items[key].settled) == 1 else "new"
        mine = ledger.label(key, self.annotator)
        if mine is not None:
            return mine
        if self.mode == "first" and not self._again and ledger.opinions(key):
            return "others"
        return "open" if ledger.unsure(key, self.annotator) else "new"

    def _press(self, kind: Kind) -> Event | None:
        item = self.current
        if item is None:
            return None
        event = self._event(kind, item.key, item.case.id)
        self._keep(event)
        self._back = None
        return event

    def _event(self, kind: Kind, key: str, name: str, *, note: str = "", undoes: int = 0) -> Event:
        item = self.deck.items.get(key)
        return Event(
            number=self.journal.next_number,
            event=kind,
            id=name,
            item=key,
            annotator=self.annotator,
            at=now(),
            order=self._how(),
            drawn=kind in _KINDS.values() and item is not None and self._drawn(item),
            note=note,
            undoes=undoes,
        )

    def _how(self) -> str:
        """Return how cases come up, as events say it."""
        if self.mode == "first":
            return str(self.order)
        return f"second:{self.order.seed}" if self.mode == "second" else "resolve"

    def _drawn(self, item: Item) -> bool:
        """Whether a label given now is one of a random sample.

        What the file says was picked by score stays so, unless it had a label already and the
        draw came upon it among all the others.
        """
        if self.mode != "first" or self._again or not self.order.random:
            return False
        return not item.active or bool(item.labels)

    def _keep(self, event: Event) -> Event:
        self.journal.append(event)
        self.ledger.add(event)
        self._tally.refresh(event.item)
        self._mark(event.item)
        return event


def _mode_of(event: Event) -> Mode:
    if event.order == "resolve":
        return "resolve"
    return "second" if event.order.startswith("second:") else "first"


_KINDS: dict[Label, Kind] = {Label.ACCEPT: "accept", Label.REJECT: "reject"}


def ledger_of(own: Iterable[Event], others: Iterable[Iterable[Event]] = ()) -> Ledger:
    """Return what several journals say together; each is played alone, as undos are its own."""
    ledger = Ledger(own)
    for events in others:
        ledger.merge(Ledger(events))
    return ledger
