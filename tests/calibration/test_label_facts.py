"""What labels say of themselves: how they were sampled, by whom, when."""

import pytest

from closecall.calibration.labels.label_facts import (
    MADE_UP_BY,
    active_message,
    active_rows,
    facts_of,
    label_facts,
    refuse_active,
    refuse_made_up,
    warn_active,
    warn_made_up,
)
from closecall.errors import DataError
from closecall.records import Case, Label


def case(at=1, label=Label.ACCEPT, **metadata):
    return Case(id=f"c{at}", label=label, metadata=metadata, place=f"answers.jsonl:{at}")


def test_all_that_a_row_can_say():
    said = facts_of(
        case(
            sampling="active",
            inclusion_probability=0.25,
            annotator="kim",
            labelled_at="2026-03-14T09:30:00Z",
        )
    )
    assert said.active
    assert (said.inclusion_probability, said.annotator, said.labelled_at) == (
        0.25,
        "kim",
        "2026-03-14T09:30:00Z",
    )


def test_a_row_that_says_nothing():
    said = facts_of(case(sampling=None, inclusion_probability="", annotator=" "))
    assert (said.sampling, said.inclusion_probability, said.annotator, said.labelled_at) == (
        None,
    ) * 4


def test_the_cells_of_a_table_are_texts():
    said = facts_of(
        case(
            sampling=" Random ", inclusion_probability="0.5", annotator=7, labelled_at="2026-03-14"
        )
    )
    assert (said.sampling, said.inclusion_probability, said.annotator) == ("random", 0.5, "7")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sampling", "stratified"),
        ("sampling", True),
        ("inclusion_probability", 0),
        ("inclusion_probability", -0.1),
        ("inclusion_probability", 1.01),
        ("inclusion_probability", "half"),
        ("inclusion_probability", "nan"),
        ("inclusion_probability", True),
        ("inclusion_probability", [0.5]),
        ("inclusion_probability", 10**400),
        ("annotator", ["kim"]),
        ("annotator", False),
        ("labelled_at", "yesterday"),
        ("labelled_at", 1773480600),
        ("labelled_at", "2026-13-01"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_value_that_cannot_be_names_its_place_and_field(field, value):
    with pytest.raises(DataError, match=rf"answers\.jsonl:8: {field}: expected .+; got"):
        label_facts([case(7), case(8, **{field: value})])


def test_bad_values_are_named_together_and_counted():
    with pytest.raises(DataError) as caught:
        label_facts([case(at, sampling="odd", annotator=[]) for at in range(4)])
    lines = str(caught.value).splitlines()
    assert len(lines) == 7
    assert lines[-1].strip() == "... and 3 more"


def test_one_is_the_largest_probability():
    assert facts_of(case(inclusion_probability=1)).inclusion_probability == 1.0


def test_counts_are_of_labelled_cases():
    facts = label_facts(
        [
            case(1, sampling="random", annotator="kim", labelled_at="2026-03-14T23:30:00-02:00"),
            case(
                2,
                sampling="active",
                inclusion_probability=0.1,
                annotator="lee",
                labelled_at="2026-03-15",
            ),
            case(3, sampling="active", annotator="kim"),
            case(4),
            case(5, label=None, sampling="active", annotator="kim", labelled_at="2020-01-01"),
        ]
    )
    assert (facts.random, facts.active, facts.unstated, facts.unweighted, facts.labels) == (
        1,
        2,
        1,
        1,
        4,
    )
    assert facts.annotators == {"kim": 2, "lee": 1}
    # 23:30 two hours west of Greenwich is later than midnight there.
    assert (facts.first, facts.last, facts.undated) == (
        "2026-03-15",
        "2026-03-14T23:30:00-02:00",
        2,
    )
    assert (facts.active_ids, facts.active_places) == (
        ("c2", "c3"),
        ("answers.jsonl:2", "answers.jsonl:3"),
    )


def test_active_rows_are_the_labelled_ones():
    rows = [
        case(1, sampling="active"),
        case(2, label=None, sampling="active"),
        case(3, sampling="random"),
    ]
    assert [row.id for row in active_rows(rows)] == ["c1"]


def test_no_promise_rests_on_labels_picked_by_score():
    facts = label_facts(case(at, sampling="active" if at < 8 else "random") for at in range(1, 12))
    with pytest.raises(DataError) as caught:
        refuse_active(facts)
    said = str(caught.value)
    assert said == active_message(facts)
    assert "7 of 11 labels say sampling: active" in said
    assert (
        "answers.jsonl:1, answers.jsonl:2, answers.jsonl:3, answers.jsonl:4, answers.jsonl:5 and 2 more"
        in said
    )
    assert "--leave-out-active" in said
    assert "other 4 labels" in said


def test_no_promise_rests_on_answers_that_were_made():
    facts = label_facts(
        case(at, annotator="closecall stress" if at > 4 else "kim") for at in range(1, 13)
    )
    assert (facts.made_up, facts.labels) == (8, 12)
    with pytest.raises(DataError) as caught:
        refuse_made_up(facts)
    said = str(caught.value)
    assert "8 of 12 labels are of answers that closecall stress made" in said
    assert "(answers.jsonl:5, answers.jsonl:6, " in said
    assert "answers.jsonl:9, 3 more)" in said
    assert "whose column annotator says 'closecall stress'" in said
    assert "other 4 labels" in said
    assert warn_made_up(facts).startswith("8 of 12 labels are of answers that closecall stress")


def test_labels_of_people_are_not_taken_for_made_ones():
    facts = label_facts([case(1, annotator="kim"), case(2), case(3, None, annotator=MADE_UP_BY)])
    assert facts.made_up == 0
    refuse_made_up(facts)
    assert warn_made_up(facts) is None


def test_random_labels_are_neither_refused_nor_warned_of():
    facts = label_facts([case(1, sampling="random"), case(2)])
    refuse_active(facts)
    assert warn_active(facts) is None


def test_the_caution_says_where_weights_are_missing():
    weighted = label_facts([case(1, sampling="active", inclusion_probability=0.5), case(2)])
    assert warn_active(weighted).startswith("1 of 2 labels were picked by score")
    assert "inclusion" not in warn_active(weighted)
    assert "1 of them do not say" in warn_active(label_facts([case(1, sampling="active")]))


def test_a_case_from_python_is_named_by_its_id():
    with pytest.raises(DataError, match="mine: sampling"):
        facts_of(Case(id="mine", metadata={"sampling": "x"}))


def test_no_cases():
    facts = label_facts(())
    assert (facts.labels, facts.first, facts.last, facts.active_ids) == (0, None, None, ())
