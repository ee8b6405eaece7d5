"""What came of the cases that have one value of a field, and how that is told."""

import io
import json

import pytest

from closecall import Case, evaluate, load_run
from closecall.calibration.groups import clustered_rate
from closecall.records import Label, State
from closecall.report.formats import write
from closecall.report.slices import (
    MOST_FIELDS,
    MOST_NOTED,
    MOST_VALUES,
    TAG,
    SliceColumns,
    Units,
    slices_of,
    unit_mark,
)
from closecall.testing import HashEmbedder

GOOD, BAD = "the saddle takes five days", "nobody knows"
METRIC = "embed_answer_similarity"


def cases(count=60, **more):
    """Answers of two bots; the second is wrong more often. Two answers to each question."""
    return [
        Case(
            id=f"c{at}",
            input=f"question {at // 2}",
            response=BAD if at % (2 if at % 3 else 5) else GOOD,
            references=(GOOD,),
            label=Label.REJECT if at % 4 == 0 else Label.ACCEPT if at % 4 == 1 else None,
            tags=(("long", "short")[at % 2], "all") if at % 10 else (),
            metadata={
                "slice": {"bot": "b" if at % 3 else "a", "easy": at % 2 == 0},
                "number": at,
                "same": "one",
                **({"shift": at % 3} if at > 20 else {}),
                "talk": "x" * 500,
                **more,
            },
        )
        for at in range(count)
    ]


def run(rows, metrics=METRIC, **options):
    return evaluate(rows, metrics, HashEmbedder(), cache=False, **options)


def shown(found, form):
    out = io.StringIO()
    write(found, form, out)
    return out.getvalue()


def test_marks_of_units_come_to_the_figures_that_their_numbers_do():
    """They take 8 bytes a case, where numbering names takes a dictionary of them."""
    found = run(cases(count=200))
    numbered, marked, units = SliceColumns(found.header), SliceColumns(found.header), Units()
    for row in found:
        numbered.add(row, units.number(row.case))
        marked.add(row, unit_mark(row.case))
    assert marked.slices() == numbered.slices() == slices_of(found.header, found)


def test_every_figure_by_hand():
    rows = list(run(cases()))
    found = slices_of(run(cases()).header, rows)
    assert [one.field for one in found.fields] == [TAG, "shift", "slice.bot", "slice.easy"]
    by = {one.field: one for one in found.fields}
    assert by["shift"].absent == 21
    assert by["slice.bot"].absent == 0
    assert [(s.value, s.cases) for s in by["slice.bot"].slices] == [("b", 40), ("a", 20)]
    assert [s.value for s in by["slice.easy"].slices] == ["false", "true"]
    assert [(s.value, s.cases) for s in by[TAG].slices] == [
        ("all", 54),
        ("short", 30),
        ("long", 24),
    ]
    questions = {}
    for bot, part in zip("ba", by["slice.bot"].slices, strict=True):
        own = [row for row in rows if row.case.metadata["slice"]["bot"] == bot]
        numbers = [questions.setdefault(row.case.input, len(questions)) for row in own]
        hit = [row.results[0].state is State.PASSED for row in own]
        (figure,) = part.metrics
        assert (figure.asked, figure.measured) == (len(own), len(own))
        assert figure.passed == rate(hit, numbers)
        assert figure.mean == pytest.approx(
            sum(row.results[0].measurement.value for row in own) / len(own)
        )
        for label, wrong, name in (
            (Label.REJECT, State.PASSED, "false_accepts"),
            (Label.ACCEPT, State.FAILED, "false_rejects"),
        ):
            of = [at for at, row in enumerate(own) if row.case.label is label]
            assert getattr(figure, name) == rate(
                [own[at].results[0].state is wrong for at in of], [numbers[at] for at in of]
            )


def rate(hit, groups):
    import numpy as np

    return clustered_rate(np.array(hit, dtype=bool), np.array(groups, dtype=np.int64))


def test_what_is_absent_is_counted_and_without_a_cutoff_there_is_no_rate():
    rows = [
        Case(id="1", response="x", references=("x",), metadata={"bot": "a"}),
        Case(id="2", references=("x",), metadata={"bot": "a"}),
        Case(id="3", references=("x",), metadata={"bot": "b"}),
    ]
    found = run(rows, f"{METRIC},answer_alignment")
    ((a, b),) = (one.slices for one in slices_of(found.header, found).fields)
    cut, plain = a.metrics
    assert (cut.asked, cut.measured, cut.passed.count, cut.passed.n) == (2, 1, 1, 1)
    assert (plain.measured, plain.passed, plain.false_accepts) == (1, None, None)
    nothing, _ = b.metrics
    assert (nothing.asked, nothing.measured, nothing.mean, nothing.passed) == (1, 0, None, None)


def test_fields_with_too_many_values_are_named():
    found = run(cases(MOST_VALUES + 1))
    seen = slices_of(found.header, found)
    assert seen.many == ("number",)
    found = run(cases(MOST_VALUES))
    seen = slices_of(found.header, found)
    assert seen.many == ()
    assert "number" in [one.field for one in seen.fields]


def test_so_many_fields_are_shown_and_looked_at():
    def seen(rows):
        found = run(
            [
                Case(id=str(at), response="x", references=("x",), metadata=one)
                for at, one in enumerate(rows)
            ]
        )
        return slices_of(found.header, found)

    many = seen([{f"g{n:02}": at for n in range(MOST_FIELDS + 2)} for at in range(2)])
    assert [one.field for one in many.fields] == [f"g{n:02}" for n in range(MOST_FIELDS)]
    assert many.many == (f"g{MOST_FIELDS}", f"g{MOST_FIELDS + 1}")
    assert not many.unnoted
    assert seen([{f"one {at}": 1} for at in range(MOST_NOTED + 1)]).unnoted


def test_more_tags_than_that_are_no_slices():
    rows = [
        Case(id=str(at), response="x", references=("x",), tags=(f"t{at}",))
        for at in range(MOST_VALUES + 1)
    ]
    found = run(rows)
    assert slices_of(found.header, found).many == (TAG,)


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_a_report_says_the_same_from_memory_and_from_the_folder(tmp_path, form):
    found = run(cases(), aef=tmp_path / "run")
    again = load_run(tmp_path / "run")
    first, second = shown(found, form), shown(again, form)
    assert "slice.bot" in first
    if form == "json":
        first, second = (json.loads(one)["slices"] for one in (first, second))
    assert first == second


def test_json_has_counts_rates_and_intervals():
    told = json.loads(shown(run(cases()), "json"))["slices"]
    bot = next(one for one in told["fields"] if one["field"] == "slice.bot")
    (figure,) = bot["values"][0]["metrics"]
    rate = figure["passed"]
    assert (figure["metric"], figure["asked"], rate["n"]) == (METRIC, 40, 40)
    assert rate["rate"] == rate["count"] / rate["n"]
    assert rate["interval"]["low"] < rate["rate"] < rate["interval"]["high"]
    assert told["notShown"] == ["number"]


def test_markdown_has_a_table_a_field_and_says_what_it_leaves_out():
    told = shown(run(cases()), "markdown")
    assert "<summary>Slices by slice.bot</summary>" in told
    assert "<summary>Slices by shift (21 cases without)</summary>" in told
    assert "false accepts" in told
    assert "Not shown, with more than 50 values or beyond 20 fields: number." in told


def test_a_run_without_texts_has_no_slices(tmp_path):
    found = run(cases(), aef=tmp_path / "run", content=False)
    for one in (found, load_run(tmp_path / "run"), run(cases(), content=False)):
        assert json.loads(shown(one, "json"))["slices"]["fields"] == []


def test_hostile_names_and_values_are_shown_as_text():
    bad = "</summary><script>alert(1)</script> | `x` \x1b[31m"
    told = shown(run([*cases(**{bad: bad}), Case(id="z", metadata={bad: "two"})]), "markdown")
    assert "<script>" not in told
    assert "\x1b" not in told
    assert "Slices by &lt;/summary&gt;" in told
