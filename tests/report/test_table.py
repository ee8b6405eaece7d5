"""The table: what a person reads first, in a terminal or a file."""

import dataclasses
import io
import re

import msgspec
import pytest

from closecall import Case
from closecall.report import table
from closecall.report.formats import FORMATS


def test_the_parts_in_order(run, render):
    text = " ".join(render(run, "table").split())
    wanted = [
        "suite: 7 cases, words (local)",
        "passed / measured / asked",
        "2 / 4 / 7",
        "- / 4 / 7",
        "embed_answer_similarity: default cutoff, not calibrated",
        "embedding_similarity: no cutoff, scored only",
        "Against your labels",
        "1 of 2 = 50% (95% interval 1.3-99%) let through (false accepts)",
        "1 of 2 = 50% (95% interval 1.3-99%) turned away (false rejects)",
        "Not measured",
        "1 case: the case's response is blank",
        "Lowest embed_answer_similarity",
        "right-but-far (failed)",
        "yes",
        "certainly it does",
        "2 passed, 2 failed, 3 not measured of 7 cases; exit code 1",
        "blind to a changed number",
    ]
    places = [text.index(part) for part in wanted]
    assert places == sorted(places)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_counts_and_the_origin_of_the_cutoff_are_whole_at_any_width(make_run, cases, width):
    long_id = "embedding_similarity:method=euclidean:normalize=false:references=mean"
    run = make_run(cases, ["embed_answer_similarity", long_id], cutoffs={long_id: 0.25})
    out = io.StringIO()
    table.write(run, out, width=width)
    text = out.getvalue()
    assert "2 / 4 / 7" in text
    assert "embed_answer_similarity: default cutoff, not calibrated" in text
    assert f"{long_id}: cutoff chosen by you, not calibrated" in text
    assert re.search(r" 70 *\n", text)
    assert re.search(r" 0\.25 *\n", text)


def test_the_lowest_come_first_with_both_texts_and_the_best_reference(run, render):
    text = render(run, "table")
    block = text[text.index("Lowest embed_answer") : text.index("Lowest embedding_sim")]
    values = [float(v) for v in re.findall(r"^  (-?[\d.]+)  \S+  \(", block, re.MULTILINE)]
    assert len(values) == 4
    assert values == sorted(values)
    near = block[block.index("near") :]
    assert "refunds take five days" in near
    assert "not this" not in block


def test_at_most_five_lowest_are_kept_and_ties_keep_the_order_of_the_file(make_run, render):
    cases = [Case(id=f"c{i}", references=("same",), response="same") for i in range(9)]
    text = render(make_run(cases, ["embed_answer_similarity"]), "table")
    assert re.findall(r"  (c\d)  \(passed\)", text) == ["c0", "c1", "c2", "c3", "c4"]


def test_long_texts_are_cut_between_words_and_marked(make_run):
    case = Case(id="1", references=("word " * 4000,), response="other " * 4000)
    out = io.StringIO()
    table.write(make_run([case]), out, width=90)
    assert max(map(len, out.getvalue().splitlines())) <= 90
    assert re.search(r"reference  (word )+word…", out.getvalue())


def test_terminal_sequences_in_texts_are_shown_not_obeyed(hostile, render):
    text = render(hostile, "table")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "\\x1b[31mred\\x07\\u202e| <script>" in text


def test_escape_sequences_of_every_kind(make_run, render):
    evil = "\x1b]0;title\x07 \x9b31m \x1b[2J \u200f\u2066 \x85"
    case = Case(id="1", references=(evil,), response=evil + "x")
    text = render(make_run([case]), "table")
    assert "\\x1b]0;title\\x07 \\x9b31m \\x1b[2J \\u200f\\u2066 \\x85" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200f\u2066]", text)


def test_markup_of_the_table_library_is_text(make_run, render):
    case = Case(id="[red]x[/red]", references=("[bold]a[/bold] :smile:",), response="[link=x]b")
    text = render(make_run([case]), "table")
    assert "[red]x[/red]" in text
    assert "[bold]a[/bold] :smile:" in text


def test_a_file_is_plain_whatever_the_environment_asks_of_terminals(run, render, monkeypatch):
    plain = render(run, "table")
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.setenv(name, "1")
    assert render(run, "table") == plain
    assert "\x1b" not in plain


def test_a_file_is_as_wide_as_columns_says_and_100_without(run, render, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert max(map(len, render(run, "table").splitlines())) <= 100
    monkeypatch.setenv("COLUMNS", "70")
    heading = "  embed_answer_similarity: "
    narrow = [line for line in render(run, "table").splitlines() if not line.startswith(heading)]
    assert max(map(len, narrow)) <= 70


def test_notes_on_texts_read_in_part_and_on_near_verdicts(make_run, render, monkeypatch):
    from closecall.records import Tokens
    from closecall.testing import HashEmbedder

    counted = HashEmbedder.embed_counted

    def in_part(self, texts, role="text"):
        found = counted(self, texts, role)
        return found._replace(tokens=[Tokens(2, 9) for _ in texts])

    monkeypatch.setattr(HashEmbedder, "embed_counted", in_part)
    run = make_run(
        [Case(id="1", references=("a",), response="a")],
        ["embed_answer_similarity"],
        cutoffs={"embed_answer_similarity": 100},
    )
    text = " ".join(render(run, "table").split())
    assert "1 case with a text longer than the model's window, read only in part" in text
    assert "1 case so near the cutoff that rounding on another machine" in text


def test_nothing_measured(absent, render):
    text = render(absent, "table")
    assert "0 / 0 / 2" in text
    assert "Lowest" not in text
    assert "2 not measured of 2 cases; exit code 11" in text


def test_context_metrics_show_the_nearest_passage(make_run, render):
    case = Case(
        id="1", input="opening hours", response="at nine", context=("x y", "opening hours")
    )
    text = render(make_run([case], ["embed_query_context", "embed_response_context"]), "table")
    query = text[text.index("Lowest embed_query") : text.index("Lowest embed_response")]
    assert re.search(r"input +opening hours\n +context +opening hours", query)


def test_cases_a_metric_does_not_apply_to_stand_apart(partly, render):
    for form in ("table", "markdown"):
        text = render(partly, form)
        assert "1 scored without a cutoff, 2 not applicable of 3 cases; exit code 0" in text
        assert "sometimes: does not apply to 2 cases" in text
        assert "- / 1 / 1" in text
        assert "Not measured" not in text


def test_a_metric_of_a_hostile_run_folder_is_shown_not_obeyed(run, render):
    evil = "\x1b[31mred"
    plans, metrics = run.header.metrics, run.metrics
    header = msgspec.structs.replace(
        run.header, metrics=(msgspec.structs.replace(plans[0], id=evil), *plans[1:])
    )
    renamed = dataclasses.replace(
        run,
        header=header,
        metrics=(msgspec.structs.replace(metrics[0], metric=evil), *metrics[1:]),
        _rows=lambda: (
            msgspec.structs.replace(
                row,
                results=(msgspec.structs.replace(row.results[0], metric=evil), *row.results[1:]),
            )
            for row in run
        ),
    )
    for form in FORMATS:
        text = render(renamed, form)
        assert "[31mred" in text.replace("\\[", "["), form
        assert "\x1b" not in text


def test_beyond_five_reasons_the_cases_are_counted_together(make_run, buggy_metric, render):
    cases = [Case(id=str(i), references=("a",), response="a") for i in range(7)]
    text = render(make_run(cases, [buggy_metric]), "table")
    assert text.count("  breaks: 1 case: breaks failed") == 5
    assert "  breaks: 2 cases: other reasons\n" in text
