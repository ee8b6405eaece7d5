"""The CSV report: one line a case and metric, safe to open in a spreadsheet."""

import csv
import io

import pytest

from closecall import Case
from closecall.report.csv_report import COLUMNS


def parsed(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_one_line_a_case_and_metric_in_order(run, render):
    lines = parsed(render(run, "csv"))
    assert list(lines[0]) == list(COLUMNS)
    assert [(line["id"], line["metric"]) for line in lines] == [
        (row.case.id, result.metric) for row in run for result in row.results
    ]


def test_numbers_come_back_as_they_were(run, render):
    lines = parsed(render(run, "csv"))
    for line, result in zip(lines, (r for row in run for r in row.results), strict=True):
        if result.state.measured:
            assert float(line["value"]) == result.measurement.value
            assert float(line["score"]) == result.measurement.score
            assert float(line["similarity"]) == result.measurement.similarity
        assert line["cutoff"] == ("" if result.cutoff is None else str(result.cutoff))
        assert line["state"] == result.state


def test_columns_of_a_measured_case(run, render):
    line = parsed(render(run, "csv"))[0]
    assert (line["group"], line["label"], line["state"]) == ("refunds", "accept", "passed")
    assert (line["cutoff_source"], line["borderline"]) == ("default", "false")
    assert (line["tokens_seen"], line["tokens_total"]) == ("8", "8")


def test_an_absence_has_empty_numbers_and_a_reason(absent, render):
    for line in parsed(render(absent, "csv")):
        assert line["value"] == line["score"] == line["similarity"] == line["tokens_seen"] == ""
        assert line["state"] == "not_measured"
        assert line["reason"].startswith("the case's ")


def test_a_score_without_bounds_leaves_its_cell_empty(make_run, render):
    run = make_run(
        [Case(id="1", references=("a",), response="a")],
        ["embedding_similarity:method=dot:normalize=false"],
    )
    line = parsed(render(run, "csv"))[0]
    assert line["score"] == ""
    assert float(line["value"]) == 1.0


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\n", "\r", "\uff1d"])
def test_no_cell_of_a_case_is_a_formula_to_a_spreadsheet(make_run, render, start):
    case = Case(id=f"{start}1+1", group=f"{start}cmd|' /C calc'!A0", references=("a",))
    for line in parsed(render(make_run([case]), "csv")):
        for cell in (line["id"], line["group"]):
            assert cell[0] not in "=+-@\t\n\r\uff1d"


def test_texts_with_quotes_commas_and_line_breaks_keep_their_cells(make_run, render):
    group = 'a,"b"\nc'
    line = parsed(render(make_run([Case(id="1", group=group, references=("a",))]), "csv"))[0]
    assert line["group"] == group


def test_control_characters_are_spelt_out(hostile, render):
    text = render(hostile, "csv")
    assert "\x1b" not in text
    assert "\x07" not in text
