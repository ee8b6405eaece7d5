"""Two people on the same cases: blind, counted, settled, and read by calibrate as such."""

import json

import msgspec
import pytest
from label_helpers import ACCEPT, REJECT, ids, lines, row, write

from closecall.calibration.labels.agreement import agreement
from closecall.calibration.labels.label_stock import take_stock
from closecall.calibration.labels.rows import collect
from closecall.datasets import open_dataset
from closecall.datasets._as_written import layout_of
from closecall.errors import DataError
from closecall.labelling.certifiable import Goal
from closecall.labelling.double import agreements, differing
from closecall.labelling.exported import exported
from closecall.labelling.journal import read_journal
from closecall.labelling.order import Order
from closecall.labelling.session import ledger_of
from closecall.labelling.sheet import heard_lines
from closecall.labelling.status import status_lines, status_value
from closecall.labelling.web.desk import Desk
from closecall.records import Measured


def second(made, **options):
    return made.sit(annotator="ana", mode="second", **options)


@pytest.fixture
def doubled(table):
    """Ten cases; the first accepts those before 6, Ana those before 4 and the last."""
    made = table([row(at) for at in range(10)])
    session = made.sit()
    for at in range(10):
        if at == 5:
            session.note("the hour is right")
        session.label(ACCEPT if at < 6 else REJECT)
    session = second(made)
    while session.current is not None:
        at = int(session.current.case.id[-1])
        session.label(ACCEPT if at < 4 or at == 9 else REJECT)
    return made


def out(made, others=()):
    """Export a table's labels and return the file's rows."""
    made.close()
    dataset = open_dataset(made.file)
    ledger = ledger_of(read_journal(made.path), others)
    found = exported(dataset, layout_of(dataset), made.deck, ledger)
    path = write(made.file.with_name("out.jsonl"), [one.values for one in found.rows])
    return found, path


def measured(path):
    return collect(
        [(case, Measured(similarity=0.5, value=50.0, score=50.0)) for case in open_dataset(path)]
    )


def test_the_second_sees_a_seeded_share_of_what_others_labelled(table):
    made = table([row(at, **({"label": "accept"} if at < 30 else {})) for at in range(40)])
    asked = second(made, share=0.2)._queue
    assert len(asked) == 6
    assert {made.deck.items[key].case.id for key in asked} <= {f"case-{at:03}" for at in range(30)}
    assert second(made, share=0.2)._queue == asked
    assert second(made, share=0.2, order=Order("plan", 1))._queue != asked
    assert second(made, share=0.3)._queue[:6] == asked
    assert len(second(made, share=0.001)._queue) == 1


def test_the_second_is_told_nothing_of_the_first(table):
    reason = "the first one thought so"
    made = table([row(0), row(1)])
    session = made.sit()
    session.note(reason)
    session.label(REJECT)
    session.label(REJECT)
    session = second(made)
    shown = json.dumps(Desk(session).look())
    assert reason not in shown
    assert "1 reject" not in shown.replace("0 rejects", "")
    progress = session.progress()
    assert (progress.counts, progress.lines, progress.rejects) == (None, (), 0)
    assert heard_lines(session, session.current) == []
    # Nor does the order tell: it is the same whatever the first said.
    made.close()
    made.path.unlink()
    before = [session.deck.items[key].case.id for key in session._queue]
    again = made.sit()
    ids(again, ACCEPT)
    assert [made.deck.items[key].case.id for key in second(made)._queue] == before


def test_nobody_labels_the_same_case_twice_as_the_second(doubled):
    assert second(doubled).current is None
    assert doubled.sit(annotator="first", mode="second").current is None


def test_kappa_is_that_of_the_agreement_code(doubled):
    session = doubled.sit()
    (found,) = agreements(session.deck, session.ledger)
    pairs = [(at < 4 or at == 9, at < 6) for at in range(10)]
    assert (found.one, found.other) == ("ana", "first")
    assert found.agreement == agreement(pairs)
    said = "\n".join(status_lines(session.deck, session.ledger, Goal(), "cases.jsonl"))
    assert (
        f"ana and first agree on 7 / 10 (70.0 %) that both labelled: kappa {found.agreement.kappa:.2f}"
        in said
    )
    assert "Labelled differently: 3, 3 of them not settled." in said
    assert "case-004: first accept, ana reject" in said
    json.dumps(status_value(session.deck, session.ledger, Goal()))


def test_what_differs_counts_for_nothing_until_it_is_settled(doubled):
    assert doubled.sit().progress().counts.disagreed == 3
    session = doubled.sit(mode="resolve")
    assert [session.deck.items[key].case.id for key in session._queue] == [
        "case-004", "case-005", "case-009",
    ]  # fmt: skip
    session.label(ACCEPT)
    assert "first: accept (the hour is right)" in heard_lines(session, session.current)
    session.label(REJECT)
    session.label(REJECT)
    assert session.current is None
    session.undo()
    assert session.current.case.id == "case-009"
    session.label(REJECT)
    assert session.progress().counts.disagreed == 0
    assert session.progress().counts.have.rejects == 5
    # A sitting of another kind takes back keys of its own kind only.
    first = doubled.sit()
    assert first.undo().undoes == 11
    assert first.progress().counts.have.rejects == 5


def test_an_export_reads_as_the_labels_and_their_agreement(doubled):
    found, path = out(doubled)
    assert found.labels == len(found.rows) == 20
    rows = lines(path)
    assert [one["annotator"] for one in rows] == ["first"] * 10 + ["ana"] * 10
    assert rows[5]["label_note"] == "the hour is right"
    read = measured(path)
    assert read.agreement.kappa == pytest.approx(
        agreement([(at < 6, at < 4 or at == 9) for at in range(10)]).kappa
    )
    assert read.attributed == 10
    assert len(read.conflicts) == 3
    assert len(read.rows) == 7


def test_a_settled_label_counts_and_the_disagreement_stays_counted(doubled):
    before = measured(out(doubled)[1]).agreement
    session = doubled.sit(mode="resolve", annotator="ben")
    for label in (ACCEPT, REJECT, REJECT):
        session.label(label)
    counts = session.progress().counts
    found, path = out(doubled)
    assert found.labels == 23
    assert sum(one.get("adjudicated") is True for one in lines(path)) == 3
    read = measured(path)
    assert read.conflicts == ()
    assert {one.case.id[:8]: one.accept for one in read.rows} == {
        f"case-{at:03}": at < 5 for at in range(10)
    }
    assert read.agreement == before
    stock, _ = take_stock(open_dataset(path))
    assert stock.have == counts.have
    assert (stock.conflicts, stock.have.rejects) == (0, 5)


def test_an_exported_file_can_be_labelled_on_and_exported_again(doubled, table):
    session = doubled.sit(mode="resolve")
    session.label(ACCEPT)
    counts = session.progress().counts
    _, path = out(doubled)
    made = table(lines(path), name="again.jsonl")
    session = made.sit(mode="resolve")
    assert msgspec.structs.asdict(session.progress().counts) == msgspec.structs.asdict(counts)
    assert session.progress().done == 1
    before = measured(path)
    session.label(REJECT)
    session.label(REJECT)
    after = measured(out(made)[1])
    assert after.agreement == before.agreement
    assert (len(before.conflicts), len(after.conflicts)) == (2, 0)


def test_export_keeps_rows_as_they_stand_and_says_how_labels_came_about(table):
    made = table(
        [row(0, price=3, nested={"a": [1]}), row(1, label="reject", annotator="eve"), row(2)]
    )
    session = made.sit(order=Order("random"))
    session.label(ACCEPT)
    session.unsure()
    found, path = out(made)
    labelled = {one["id"]: one for one in lines(path)}
    assert list(labelled) == ["case-000", "case-001", "case-002"]
    assert labelled["case-001"] == row(1, label="reject", annotator="eve")
    done = next(one for one in labelled.values() if one.get("annotator") == "first")
    assert done["sampling"] == "random"
    assert done["labelled_at"].endswith("Z")
    assert labelled["case-000"]["nested"] == {"a": [1]}
    assert (found.labels, found.unsure, found.strange) == (2, 1, 0)


def test_a_journal_of_somebody_elsewhere_is_read_along(table):
    made = table([row(0), row(1)])
    ids(made.sit(annotator="eve"), REJECT)
    made.close()
    theirs = read_journal(made.path)
    made.path.unlink()
    session = second(made, others=[theirs])
    assert len(session._queue) == 2
    ids(session, REJECT)
    assert session.undo() is not None
    session.label(REJECT)
    (found,) = agreements(session.deck, session.ledger)
    assert (found.one, found.other, found.agreement.agreed) == ("ana", "eve", 2)
    assert not list(differing(session.deck, session.ledger))
    read = measured(out(made, [theirs])[1])
    assert read.attributed == 2


def test_a_label_inside_an_object_is_written_there(table):
    rows = [{**row(0), "review": {"label": "accept"}}, {**row(1), "review": {"by": "x"}}]
    made = table(rows)
    dataset = open_dataset(made.file, mapping={"label": "review.label"})
    from closecall.labelling.deck import deck_of

    deck = deck_of(dataset)
    session = made.sit(again=True)
    session.label(REJECT)
    session.label(REJECT)
    found = exported(dataset, layout_of(dataset), deck, session.ledger)
    assert [one.values["review"]["label"] for one in found.rows] == ["reject", "reject"]
    assert found.rows[1].values["review"]["by"] == "x"


@pytest.mark.parametrize("value", ["maybe", 1, ["true"]])
def test_a_label_that_settles_says_true_or_false(table, value):
    made = table([row(0, label="accept", adjudicated=value)])
    with pytest.raises(DataError, match=r"cases.jsonl:1: adjudicated: expected true or false"):
        assert made.deck


def test_two_that_settle_in_different_ways_settle_nothing(table):
    rows = [row(0, label="accept"), row(0, label="reject", annotator="ana")]
    rows += [row(0, label=label, adjudicated="TRUE") for label in ("accept", "reject")]
    made = table(rows)
    read = measured(made.file)
    assert (len(read.conflicts), read.rows) == (1, ())
    assert made.sit(again=True).progress().counts.disagreed == 1
    stock, _ = take_stock(open_dataset(made.file))
    assert stock.conflicts == 1
    session = made.sit(mode="resolve")
    session.label(REJECT)
    assert session.current is None
    assert session.progress().counts.have.rejects == 1
