"""The comparison in the report says what ``closecall compare`` says, or why there are no numbers."""

import io
import re
from html import unescape

import pytest

from closecall import compare_runs, evaluate
from closecall.report.compared_runs.overview import page as compared_page
from closecall.report.html.page import write_runs
from closecall.runs.stored import load_run
from closecall.testing import HashEmbedder

GOOD, BAD = "the sky is blue", "we open at nine"


def rows(responses):
    return [
        {
            "id": f"c{at}",
            "input": f"what of {at}?",
            "response": response,
            "references": [GOOD],
            "label": "accept",
        }
        for at, response in enumerate(responses)
    ]


def folder_of(place, responses, metrics="embed_answer_similarity,token_f1", **options):
    evaluate(
        rows(responses),
        metrics,
        options.pop("embedder", HashEmbedder()),
        aef=place,
        cache=False,
        **options,
    )
    return place


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    made = (("a", [GOOD] * 20), ("b", [BAD] * 2 + [GOOD] * 18), ("c", [BAD] * 9 + [GOOD] * 11))
    return [folder_of(root / name, responses, name=name) for name, responses in made]


def section(*folders, compare=None):
    """Return the comparison's markup, and its text as it is read."""
    runs = {folder: load_run(folder) for folder in folders}
    out = io.StringIO()
    write_runs(list(runs.values()), out, compare=compare and tuple(runs[one] for one in compare))
    page = out.getvalue()
    markup = page[page.index('<section id="compare"') : page.index("</main>")]
    text = unescape(re.sub(r"<[^>]*>", " ", markup))
    return markup, " ".join(text.split())


def test_it_says_every_line_that_the_command_says(folders):
    markup, text = section(*folders)
    seen = compared_page(compare_runs(folders[1], folders[2]))
    for line in (*seen.failed, *seen.sides, *seen.cases, *seen.notes, seen.rule, seen.blind):
        assert " ".join(line.split()) in text
    for row, one in zip(seen.rows, seen.sections, strict=True):
        for cell in (*row, one.outcome, one.why, *one.lines):
            assert " ".join(cell.split()) in text
        for listed in one.lists:
            assert f"{listed.heading} ({len(listed.entries)})" in text
            for entry in listed.entries:
                assert f'data-id="{entry.case_id}"' in markup
                assert entry.response_a in text
                assert entry.response_b in text


def test_the_last_two_are_compared_unless_two_are_named(folders):
    a, b, c = folders
    assert "7 pass in A alone" in section(a, b, c)[1]
    assert "9 pass in A alone" in section(a, b, c, compare=(a, c))[1]
    assert "A: c" in section(a, b, c, compare=(c, a))[1]


def test_verdicts_of_a_and_b_are_counted_against_each_other(folders):
    markup, _ = section(folders[0], folders[2])
    table = markup[markup.index('<table class="verdicts">') :].partition("</table>")[0]
    cells = re.findall(r"<t[hd](?: [^>]*)?>([^<]*)<", table)
    assert cells == ["A, then B", "passed", "failed", "passed", "11", "9"]


def test_the_chart_names_how_many_moved_in_all(folders):
    _, text = section(folders[0], folders[2])
    assert "the 9 largest of 9 changes beyond rounding; n = 20 cases measured in both" in text


def test_of_many_movers_only_so_many_are_drawn_as_are_surely_the_largest(tmp_path):
    """Ten that fell and ten that rose are named; the largest ten of all are among them."""
    parts = [" ".join(GOOD.split()[: 1 + at % 3]) for at in range(60)]
    a = folder_of(tmp_path / "a", [GOOD] * 30 + parts[30:], "token_f1")
    b = folder_of(tmp_path / "b", parts[:30] + [GOOD] * 30, "token_f1")
    markup, text = section(a, b)
    assert "the 10 largest of 60 changes" in text
    bars = markup.count('class="cc-box k-reject"') + markup.count('class="cc-box k-accept"')
    series = text.count("higher than before") + text.count("lower than before")
    assert bars == 10 + series


def test_few_cases_that_differ_cannot_tell(folders):
    _, text = section(folders[0], folders[1])
    assert "cannot tell with n = 20: 2 pass in A alone and 0 in B alone" in text
    assert "is-inconclusive" in section(folders[0], folders[1])[0]
    assert "which is not to say that there is none" in text


def test_runs_that_measured_different_things_get_the_axes_and_no_number(folders, tmp_path):
    other = folder_of(
        tmp_path / "other", [GOOD] * 19, "token_f1", embedder=HashEmbedder(dims=32), name="other"
    )
    markup, text = section(folders[0], other)
    assert "These two runs cannot be compared" in text
    for axis in ("embedder: A", "metrics: A", "cases: A"):
        assert axis in text
    assert "compare the embedders: closecall compare-models" in text
    assert "<table" not in markup
    assert "<svg" not in markup
    assert "mean" not in text


def test_runs_that_lie_in_memory_alone_are_not_compared():
    runs = [
        evaluate(rows([GOOD, BAD]), "token_f1", HashEmbedder(), cache=False, name=name)
        for name in ("a", "b")
    ]
    out = io.StringIO()
    write_runs(runs, out)
    assert "compared from their folders" in out.getvalue()


def test_hostile_texts_and_ids_are_text(tmp_path):
    bad = "</p><script>alert(1)</script> {{ 7*7 }} \x1b[31m \u202e"
    made = [
        [{**row, "id": f"{bad}{row['id']}", "response": response} for row in rows([GOOD] * 3)]
        for response in (GOOD, bad)
    ]
    for name, cases in zip("ab", made, strict=True):
        evaluate(cases, "token_f1", HashEmbedder(), aef=tmp_path / name, cache=False, name=bad)
    markup, text = section(tmp_path / "a", tmp_path / "b")
    assert "<script" not in markup
    assert "{{ 7*7 }}" in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "\\u202e" in text


def test_a_single_run_has_no_comparison(folders):
    out = io.StringIO()
    write_runs([load_run(folders[0])], out)
    assert 'id="compare"' not in out.getvalue()
