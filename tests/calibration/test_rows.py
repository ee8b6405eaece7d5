"""Labelled rows: the same item once, contradictions aside, every row accounted for, groups."""

import hashlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.calibration.labels.rows import collect, group_digest
from closecall.errors import UsageError
from closecall.records import Case, Label, Measured, Tokens, Unmeasured

ACCEPT, REJECT = Label.ACCEPT, Label.REJECT


def row(case_id, label, response="two weeks", score=0.5, **fields):
    given = {"input": "How long?", "references": ("14 days",), **fields}
    case = Case(id=case_id, response=response, label=label, place=f"f.csv:{case_id}", **given)
    return case, Measured(similarity=score, value=score, score=None)


def ids(rows):
    return [one.case.id for one in rows.rows]


def test_a_row_keeps_its_case_score_label_and_place():
    rows = collect([row("1", ACCEPT, score=0.75), row("2", REJECT, "a year", 0.25)])
    assert [(r.case.id, r.score, r.accept, r.case.place) for r in rows.rows] == [
        ("1", 0.75, True, "f.csv:1"),
        ("2", 0.25, False, "f.csv:2"),
    ]
    assert rows.cases == tuple(one.case for one in rows.rows)
    assert (rows.seen, rows.unlabelled, rows.merged, rows.conflicts) == (2, 0, 0, ())
    assert (rows.unmeasured, rows.agreement) == ({}, None)


def test_the_same_item_with_the_same_label_counts_once():
    rows = collect([row("1", ACCEPT), row("2", REJECT, "a year"), row("3", ACCEPT)])
    assert ids(rows) == ["1", "2"]
    assert rows.merged == 1
    assert (rows.agreement.pairs, rows.agreement.agreed) == (1, 1)


@pytest.mark.parametrize(
    "other",
    [
        {"response": "two months"},
        {"input": "Since when?"},
        {"references": ("14 days", "two weeks")},
        {"context": ("The policy.",)},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_items_that_differ_in_any_text_are_two(other):
    rows = collect([row("1", ACCEPT), row("2", REJECT, **other)])
    assert len(rows.rows) == 2
    assert rows.conflicts == ()
    assert rows.agreement is None


def test_spelling_that_no_embedder_sees_makes_no_other_item():
    composed, apart = "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "cafe\N{COMBINING ACUTE ACCENT}"
    rows = collect([row("1", ACCEPT, f"{composed}\r\n"), row("2", ACCEPT, f"{apart}\n")])
    assert (ids(rows), rows.merged) == (["1"], 1)


def test_labels_that_contradict_each_other_are_both_set_aside():
    rows = collect([row("1", ACCEPT), row("2", REJECT, "a year"), row("3", REJECT)])
    assert ids(rows) == ["2"]
    (conflict,) = rows.conflicts
    assert conflict.ids == ("1", "3")
    assert conflict.places == ("f.csv:1", "f.csv:3")
    assert (conflict.accepts, conflict.rejects) == (1, 1)
    assert rows.merged == 0
    assert (rows.agreement.pairs, rows.agreement.agreed) == (1, 0)


def test_a_majority_does_not_settle_a_contradiction():
    rows = collect([row(f"{at}", label) for at, label in enumerate([ACCEPT, ACCEPT, REJECT])])
    assert rows.rows == ()
    assert (rows.conflicts[0].accepts, rows.conflicts[0].rejects) == (2, 1)
    # Each later label is one that may agree with the first.
    assert (rows.agreement.pairs, rows.agreement.agreed) == (2, 1)


@pytest.mark.parametrize(
    ("annotators", "pairs", "attributed"),
    [(("ann", "ann"), 0, 0), (("ann", "bob"), 1, 1), ((None, "bob"), 1, 0), ((None, None), 1, 0),
     (("ann", "ann", "bob"), 1, 1), (("ann", "bob", "cat"), 2, 2), (("ann", None, "bob"), 2, 1)],
)  # fmt: skip
def test_nobody_agrees_with_themselves(annotators, pairs, attributed):
    rows = collect(
        [
            row(f"{at}", ACCEPT, metadata={} if who is None else {"annotator": who})
            for at, who in enumerate(annotators)
        ]
    )
    assert rows.merged == len(annotators) - 1
    assert (rows.agreement.pairs if rows.agreement else 0) == pairs
    assert rows.attributed == attributed


@pytest.mark.parametrize(
    ("annotators", "pairs"), [((None, None), 0), (("ann", "bob"), 1), ((None, "bob"), 0)]
)
def test_a_row_copied_with_its_id_is_no_second_opinion(annotators, pairs):
    rows = collect(
        row("1", ACCEPT, metadata={} if who is None else {"annotator": who}) for who in annotators
    )
    assert rows.merged == 1
    assert (rows.agreement.pairs if rows.agreement else 0) == pairs


def test_unlabelled_and_unmeasured_rows_are_counted_with_their_reasons():
    absent = Unmeasured("the response is blank")
    rows = collect(
        [
            row("1", ACCEPT),
            row("2", None, "a year"),
            (row("3", REJECT, " ")[0], absent),
            (row("4", ACCEPT, "  ")[0], absent),
            (row("5", REJECT, "x")[0], Unmeasured("the embedder failed")),
            (row("6", None, " ")[0], absent),
        ]
    )
    assert ids(rows) == ["1"]
    assert (rows.seen, rows.unlabelled) == (6, 2)
    assert rows.unmeasured == {"the response is blank": 2, "the embedder failed": 1}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([ACCEPT, REJECT, None]), st.booleans()),
        max_size=14,
    )
)
def test_every_row_is_accounted_for(drawn):
    measured = []
    for at, (item, label, has_score) in enumerate(drawn):
        case, found = row(f"{at}", label, f"answer {item}")
        measured.append((case, found if has_score else Unmeasured("no vector")))
    rows = collect(measured)
    aside = sum(conflict.accepts + conflict.rejects for conflict in rows.conflicts)
    parts = (len(rows.rows), rows.unlabelled, rows.merged, aside, sum(rows.unmeasured.values()))
    assert sum(parts) == rows.seen == len(drawn)
    used = [one.case.response for one in rows.rows]
    assert len(set(used)) == len(used)


# --- groups --------------------------------------------------------------------------------------


def groups(*cases, field=None):
    rows = collect([(case, Measured(similarity=0, value=0, score=None)) for case in cases], field)
    names = [one.group for one in rows.rows]
    return [names.index(name) for name in names], rows


def case(case_id, **fields):
    return Case(**{"id": case_id, "response": case_id, "label": ACCEPT, **fields})


def test_rows_of_one_question_are_a_group_however_it_is_spelt():
    found, rows = groups(
        case("1", input="How  long?"), case("2", input=" how long?\n"), case("3", input="Why?")
    )
    assert found == [0, 0, 2]
    assert rows.grouped_by == "question"
    assert rows.labelled().groups.tolist() in ([0, 0, 1], [1, 1, 0])


def test_the_group_column_comes_first_and_the_reference_stands_in_for_the_question():
    found, rows = groups(
        case("1", group="a", input="How long?"),
        case("2", group="a", input="Why?"),
        case("3", input="How long?", references=("x",)),
        case("4", references=("14 Days",)),
        case("5", references=(" ", "14  days")),
        case("6", input="  "),
        case("7"),
    )
    assert found == [0, 0, 2, 3, 3, 5, 6]
    assert rows.grouped_by == "the group column, else question, else reference, else row"


def test_equal_names_of_different_kinds_are_different_groups():
    found, _ = groups(
        case("x", group="x"), case("2", input="x"), case("3", references=("x",)), case("x ")
    )
    assert found == [0, 1, 2, 3]


def test_a_field_of_ones_own_makes_the_groups():
    found, rows = groups(
        case("1", metadata={"source": {"page": 3}}),
        case("2", metadata={"source": {"page": 4}}),
        case("3", metadata={"source": {"page": 3}}),
        field="source.page",
    )
    assert found == [0, 1, 0]
    assert rows.grouped_by == "source.page"


def test_a_case_without_the_field_is_named_with_what_it_has():
    with pytest.raises(UsageError, match=r"f\.csv:9: no 'page' to group by.*group, input.*topic"):
        collect([row("9", ACCEPT, metadata={"topic": "x"})], "page")


def test_rows_that_are_all_on_their_own_have_no_groups():
    rows = collect([row("1", ACCEPT, input="a"), row("2", REJECT, input="b")])
    assert rows.labelled().groups is None


SHARED = [
    row("5", ACCEPT, group="a"),
    row("4", ACCEPT, group="b", tags=("late",)),
    row("4", ACCEPT, group="b", tags=("early",)),
    row("1", REJECT, "a year", 0.2, group="b"),
    row("2", ACCEPT, "a week", 0.4, group="c"),
    row("3", REJECT, "a day", 0.1, group="d"),
    row("6", REJECT, "a week", 0.4, group="d"),
    row("7", ACCEPT, "14 days", 0.9, group="e"),
]


def test_groups_that_share_an_item_are_one_group():
    rows = collect(SHARED)
    names = {one.case.id: one.group for one in rows.rows}
    digest = {name: group_digest(f"g:{name}") for name in "abcde"}
    # By the item of rows 4 and 5; and by that of rows 2 and 6, which is set aside.
    assert names["1"] == min(digest["a"], digest["b"])
    assert names["3"] == min(digest["c"], digest["d"])
    assert names["7"] == digest["e"]
    assert rows.joined == 4
    assert len(set(rows.labelled().groups.tolist())) == 3


def test_groups_are_joined_along_a_chain():
    chain = [
        one
        for at in range(40)
        for one in (
            row(f"{at}x", ACCEPT, f"answer {at}", group=f"g{at}"),
            row(f"{at}y", ACCEPT, f"answer {at}", group=f"g{at + 1}"),
        )
    ]
    rows = collect(chain[::-1])
    smallest = min(group_digest(f"g:g{at}") for at in range(41))
    assert {one.group for one in rows.rows} == {smallest}
    assert rows.joined == 41


@settings(max_examples=40, deadline=None)
@given(st.permutations(SHARED))
def test_the_order_of_rows_changes_nothing(shuffled):
    def known(rows):
        return (
            sorted(repr((one.case, one.score, one.accept, one.group)) for one in rows.rows),
            {frozenset(conflict.ids) for conflict in rows.conflicts},
            (rows.merged, rows.joined, rows.agreement, rows.attributed),
        )

    def plain(case, found):
        return msgspec.structs.replace(case, place=""), found

    found, expected = (collect(plain(*one) for one in rows) for rows in (shuffled, SHARED))
    assert known(found) == known(expected)


def test_rows_stay_in_the_order_of_the_file():
    rows = collect([row("9", ACCEPT), row("2", REJECT, "a year"), row("1", ACCEPT)])
    assert ids(rows) == ["2", "1"]


def test_copies_of_a_row_on_its_own_join_no_groups():
    rows = collect(
        row(at, ACCEPT, "the same", input=None, references=()) for at in ("1", "2", "3")
    )
    assert (len(rows.rows), rows.merged, rows.joined) == (1, 2, 0)


def test_the_name_of_a_group_keeps_no_text():
    private = "Who was patient 4711 treated by?"
    rows = collect([row("1", ACCEPT, input=private), row("2", ACCEPT, group=private, input="b")])
    for one in rows.rows:
        assert len(one.group) == 16
        assert set(one.group) <= set("0123456789abcdef")
    # The same text gives the same name anywhere: files of several labelling rounds fit together.
    spelt = "q:" + private.casefold()
    assert rows.rows[0].group == hashlib.sha256(spelt.encode()).hexdigest()[:16]


def test_the_arrays_are_those_of_the_rows():
    measured = [
        row("1", ACCEPT, "a", 0.1234567, input="q"),
        row("2", REJECT, "b", 0.5, input="q"),
        row("3", REJECT, "c", 0.25, input="other"),
    ]
    data = collect(measured).labelled(3)
    assert data.scores.tolist() == [0.123, 0.5, 0.25]
    assert data.accept.tolist() == [True, False, False]
    assert data.groups[0] == data.groups[1] != data.groups[2]
    assert data.decimals == 3


def test_a_text_read_in_part_is_noted():
    case_, _ = row("1", ACCEPT)
    tokens = {"response": Tokens(512, 700), "reference": Tokens(9, 9)}
    found = Measured(similarity=0.5, value=0.5, score=None, tokens=tokens)
    rows = collect([(case_, found), row("2", REJECT, "a year")])
    assert [one.truncated for one in rows.rows] == [True, False]
