"""Cases about trams, sittings on them, and journals as they are written."""

import json
from pathlib import Path

from closecall.datasets import open_dataset
from closecall.labelling.deck import deck_of
from closecall.labelling.journal import Journal
from closecall.labelling.order import Order
from closecall.labelling.session import Session
from closecall.records import Label

ACCEPT, REJECT = Label.ACCEPT, Label.REJECT


def row(at, **more):
    return {
        "id": f"case-{at:03}",
        "question": f"When does tram {at} leave?",
        "response": f"Tram {at} leaves at {at % 24}:15.",
        "reference": f"It leaves at {at % 24}:15.",
        **more,
    }


def write(path: Path, rows):
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


def lines(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


class Table:
    """A file of cases in a folder, and sittings on it that share one journal."""

    def __init__(self, folder, rows, name="cases.jsonl"):
        self.file = write(folder / name, rows)
        self.path = folder / f"{name}.labels.jsonl"
        self._open = []

    @property
    def deck(self):
        return deck_of(open_dataset(self.file))

    def sit(self, **options):
        self.close()
        journal = Journal(self.path, self.file.name)
        self._open.append(journal)
        options.setdefault("annotator", "first")
        options.setdefault("order", Order("file"))
        return Session(self.deck, journal, **options)

    def close(self):
        while self._open:
            self._open.pop().close()


def ids(session, label=None):
    """Label everything that comes up, and return the ids in order."""
    found = []
    while session.current is not None:
        found.append(session.current.case.id)
        session.label(label or ACCEPT)
    return found
