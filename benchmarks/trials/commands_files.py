"""Commands that are killed while they write one file, or a journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .kills import Scenario
from .making import half_json, lines_of, read, without_times, write_cases

_CALIBRATE = ["calibrate", "cases.jsonl", "--embedder", "words", "--no-cache", "-q", "--no-lock",
              "--max-far", "0.3", "-o", "cutoff.json"]  # fmt: skip


def _cutoff(folder: Path) -> dict[str, Any]:
    # The digest covers when it was made, and a second try on the same labels says that it is one.
    found = read(folder / "cutoff.json", folder)
    return {
        name: one for name, one in found.items() if name not in {"digest", "tried", "cautions"}
    }


def _calibrate() -> Scenario:
    return Scenario(
        "calibrate",
        lambda folder: write_cases(folder / "cases.jsonl", 80, label=True),
        lambda _: (_CALIBRATE, ""),
        _cutoff,
        lambda folder: half_json(folder / "cutoff.json"),
        after=((("eval", "cases.jsonl", "--calibration", "cutoff.json", "--no-aef", "--no-cache",
                 "--embedder", "words", "-q"), (0, 1, 11)),),
    )  # fmt: skip


def _calibrate_again() -> Scenario:
    def prepare(folder: Path) -> None:
        from closecall import calibrate
        from closecall.calibration.goals import Goal
        from closecall.calibration.store import save_calibration
        from closecall.testing import HashEmbedder

        write_cases(folder / "cases.jsonl", 120, label=True)
        made = calibrate(
            str(folder / "cases.jsonl"), embedder=HashEmbedder(dims=16), goal=Goal(max_far=0.3),
            lock=False, cache=False,
        )  # fmt: skip
        save_calibration(made, folder / "cutoff.json")
        write_cases(folder / "cases.jsonl", 80, label=True)

    return _calibrate()._replace(name="calibrate over an older file", prepare=prepare)


def _label() -> Scenario:
    keys = ["a", "r", "n a word about it", "a", "s"]

    def argv(folder: Path) -> tuple[list[str], str]:
        # The person goes on where the journal says: each event was one key.
        done = max(0, len(lines_of(folder / "cases.jsonl.labels.jsonl")) - 1)
        typed = [keys[at % len(keys)] for at in range(done, 60)]
        return ["label", "cases.jsonl", "--plain", "--order", "file"], "".join(
            f"{k}\n" for k in typed
        )

    def events(folder: Path) -> dict[str, Any]:
        found = lines_of(folder / "cases.jsonl.labels.jsonl")
        return {f"event {at}": one for at, one in enumerate(found)}

    def result(folder: Path) -> dict[str, Any]:
        return {name: without_times(one) for name, one in events(folder).items()}

    return Scenario(
        "label",
        lambda folder: write_cases(folder / "cases.jsonl", 30),
        argv,
        result,
        finished=events,
        after=((("label", "cases.jsonl", "--export", "out.jsonl"), (0,)),),
    )


def _export() -> Scenario:
    def prepare(folder: Path) -> None:
        write_cases(folder / "cases.jsonl", 30)
        from closecall.datasets import open_dataset
        from closecall.labelling.deck import deck_of
        from closecall.labelling.journal import Journal
        from closecall.labelling.order import order_named
        from closecall.labelling.session import Session
        from closecall.records import Label

        deck = deck_of(open_dataset(folder / "cases.jsonl"))
        with Journal(folder / "cases.jsonl.labels.jsonl", "cases.jsonl") as journal:
            session = Session(
                deck, journal, annotator="first", order=order_named("file"), mode="first"
            )
            for _ in range(20):
                session.label(Label.ACCEPT)
        (folder / "out.jsonl").write_text('{"response": "older"}\n')

    def sound(folder: Path) -> list[str]:
        count = len(lines_of(folder / "out.jsonl"))
        return [] if count in {1, 30} else [f"out.jsonl has {count} lines"]

    return Scenario(
        "label --export",
        prepare,
        lambda _: (["label", "cases.jsonl", "--export", "out.jsonl", "--replace"], ""),
        lambda folder: {"out.jsonl": (folder / "out.jsonl").read_text()},
        sound,
    )


def _report() -> Scenario:
    def prepare(folder: Path) -> None:
        from closecall import evaluate
        from closecall.testing import HashEmbedder

        write_cases(folder / "cases.jsonl", 30)
        evaluate(
            str(folder / "cases.jsonl"), embedder=HashEmbedder(dims=16), cache=False,
            aef=folder / "run", name="cases",
        )  # fmt: skip
        (folder / "page.html").write_text("<p>older</p>")

    def sound(folder: Path) -> list[str]:
        text = (folder / "page.html").read_text()
        whole = text == "<p>older</p>" or text.rstrip().endswith("</html>")
        return [] if whole else ["page.html is half there"]

    return Scenario(
        "report",
        prepare,
        lambda _: (["report", "run", "-o", "page.html"], ""),
        lambda folder: {"page.html": (folder / "page.html").read_text()},
        sound,
    )


def all_of() -> list[Scenario]:
    """Return them."""
    return [_calibrate(), _calibrate_again(), _label(), _export(), _report()]
