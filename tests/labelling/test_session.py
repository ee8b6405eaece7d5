"""A sitting: what comes up, what keys do, and that it goes on where it was."""

import random

import pytest
from label_helpers import ACCEPT, REJECT, ids, lines, row, write

from closecall.calibration.labels.label_stock import take_stock
from closecall.calibration.labels.labelling import certify_batch
from closecall.datasets import open_dataset
from closecall.errors import UsageError
from closecall.labelling.certifiable import Goal, standing
from closecall.labelling.order import Order, order_named


def test_only_cases_without_a_label_come_up(table):
    made = table([row(0, label="accept"), row(1), row(2, label="reject"), row(3)])
    assert ids(made.sit()) == ["case-001", "case-003"]


def test_again_asks_for_all_of_them(table):
    made = table([row(0, label="accept"), row(1)])
    assert ids(made.sit(again=True), REJECT) == ["case-000", "case-001"]
    # A sitting that was cut off does not begin anew.
    assert made.sit(again=True).current is None
    assert made.sit(again=True).progress().counts.rejects == 2


def test_it_goes_on_where_it_was_after_any_key(table):
    rows = [row(at) for at in range(8)]
    order = Order("random", 3)
    made = table(rows)
    draw, done = random.Random(1), []
    for _ in range(60):
        session = made.sit(order=order)
        before = session.current
        key = draw.choice(["a", "r", "s", "u"])
        if key == "u":
            event = session.undo()
            assert (event is None) == (not done)
            if done:
                assert session.current.case.id == done.pop()
        elif before is not None:
            if key == "s":
                session.unsure()
            else:
                session.label(ACCEPT if key == "a" else REJECT)
            done.append(before.case.id)
        after = session.progress()
        assert made.sit(order=order).progress() == after
        assert after.done + len(
            [k for k in made.deck.items if not session.ledger.opinions(k)]
        ) == len(rows)


def test_unsure_comes_back_when_nothing_new_is_left_the_oldest_first(table):
    session = table([row(at) for at in range(4)]).sit()
    seen = []
    for key in "sasassa":
        seen.append(session.current.case.id[-1])
        session.unsure() if key == "s" else session.label(ACCEPT)
    assert "".join(seen) == "0123020"
    assert session.progress().unsure == 1
    assert session.current.case.id == "case-002"


def test_undo_brings_back_what_was_said_before(table):
    session = table([row(0), row(1)]).sit()
    session.unsure()
    session.label(ACCEPT)  # case-001
    session.label(REJECT)  # case-000
    assert session.current is None
    session.undo()
    assert session.current.case.id == "case-000"
    assert session.progress().unsure == 1
    session.undo()
    assert session.current.case.id == "case-001"
    session.undo()
    assert session.progress().unsure == 0
    assert session.undo() is None


def test_undo_takes_back_a_note_too(table):
    session = table([row(0)]).sit()
    session.note("first thought")
    session.note("second thought")
    session.undo()
    assert session.own_note(session.current) == "first thought"
    session.note("  ")
    assert session.own_note(session.current) == ""
    with pytest.raises(UsageError, match="at most 10,000 characters"):
        session.note("x" * 10_001)


def test_undo_of_one_annotator_leaves_the_other_alone(table):
    made = table([row(0), row(1)])
    made.sit().label(ACCEPT)
    session = made.sit(annotator="ana")
    assert session.undo() is None
    assert session.current.case.id == "case-001"


def test_a_label_does_not_pass_to_a_text_that_changed(table):
    made = table([row(0), row(1)])
    session = made.sit()
    session.label(ACCEPT)
    session.label(REJECT)
    made.close()
    write(made.file, [row(1), row(0, response="Tram 0 never leaves.")])
    session = made.sit()
    assert session.current.case.id == "case-000"
    assert session.progress().counts.rejects == 1
    assert session.progress().counts.accepts == 0


def test_the_same_texts_twice_are_asked_once(table):
    made = table([row(0), {**row(0), "id": "copy"}, row(1)])
    assert ids(made.sit()) == ["case-000", "case-001"]


def test_plan_order_is_the_draw_of_plan_and_goes_round_the_groups(table):
    rows = [row(at, group=f"g{at % 4}") for at in range(12)]
    made = table(rows)
    order = Order("plan", 5)
    came = ids(made.sit(order=order))
    _, pool = take_stock(open_dataset(made.file))
    batch = certify_batch(pool.undrawn, pool.groups, size=4, seed=5, labels=pool.labels)
    assert came[:4] == [pick.id for pick in batch.picks]
    groups = [int(name[-2:]) % 4 for name in came]
    for start in (0, 4, 8):
        assert sorted(groups[start : start + 4]) == [0, 1, 2, 3]
    assert sorted(came) == sorted(one["id"] for one in rows)


def test_orders_depend_on_their_seed_and_not_on_the_file(table, tmp_path):
    rows = [row(at) for at in range(30)]
    made = table(rows)
    first = made.sit(order=Order("random", 1))._queue
    assert made.sit(order=Order("random", 2))._queue != first
    made.close()
    write(made.file, rows[::-1])
    assert made.sit(order=Order("random", 1))._queue == first


def test_one_huge_group_is_ordered_at_once(table):
    made = table([row(at, group="all") for at in range(3000)])
    assert len(set(made.sit(order=Order("plan"))._queue)) == 3000


@pytest.mark.parametrize("text", ["", "plan:", "plan:-1", "plan:x", "file:1", "score", "random:٣"])
def test_an_order_that_is_none_is_refused(text):
    with pytest.raises(UsageError, match="plan or plan:SEED"):
        order_named(text)


def test_labels_of_a_random_order_say_so_and_those_picked_by_score_stay_what_they_are(table):
    made = table([row(0), row(1, sampling="active", inclusion_probability=0.5), row(2)])
    ids(made.sit(order=Order("plan")))
    drawn = {one["id"]: one.get("drawn", False) for one in lines(made.path)[1:]}
    assert drawn == {"case-000": True, "case-001": False, "case-002": True}
    counts = made.sit().progress().counts
    assert (counts.have.accepts, counts.active) == (2, 1)


def test_a_random_draw_comes_upon_labels_that_were_picked_by_score(table):
    rows = [row(0), row(1, label="reject", sampling="active"), row(2, label="accept")]
    made = table(rows)
    assert "case-001" not in ids(made.sit())
    session = made.sit(order=Order("random"))
    assert session.current.case.id == "case-001"
    assert session.progress().counts.active == 1
    session.label(REJECT)
    assert session.progress().counts.have.rejects == 1
    assert session.progress().counts.active == 0


def test_file_order_claims_nothing(table):
    made = table([row(0)])
    ids(made.sit())
    assert "drawn" not in lines(made.path)[1]


def test_counts_are_those_that_plan_counts(table):
    rows = [
        row(at, group=f"g{at % 5}", **({"label": "reject"} if at % 7 == 0 else {}))
        for at in range(40)
    ]
    made = table(rows)
    session = made.sit(order=Order("plan"))
    draw = random.Random(4)
    labels = {}
    for _ in range(25):
        label = draw.choice([ACCEPT, REJECT])
        labels[session.current.case.id] = label
        session.label(label)
    written = [
        {**one, **({"label": labels[one["id"]]} if one["id"] in labels else {})} for one in rows
    ]
    stock, _ = take_stock(open_dataset(write(made.file.with_name("with.jsonl"), written)))
    assert session.progress().counts.have == stock.have


def test_what_can_be_promised_is_said_in_words(table):
    rows = [row(at, label="reject" if at % 2 else "accept") for at in range(118)]
    made = table([*rows, row(900)])
    goal = Goal(max_far=0.05)
    lines_ = made.sit(goal=goal).progress().lines
    assert lines_[0] == (
        "You can promise so far: at most 5% of wrong answers are accepted, at confidence 95%."
    )
    assert "Labels enough" in lines_[1]
    have = table(rows[:60], name="fewer.jsonl").sit(again=True).progress().counts.have
    assert standing(goal, have)[1] == (
        "To promise that at most 5% of wrong answers are accepted: 29 more rejects."
    )
