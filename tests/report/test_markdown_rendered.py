"""The Markdown report as GitHub shows it: rendered with tables, strikethrough and links of bare
addresses, its structure is the report's own and every text of a case is plain text."""

import dataclasses
import re
from html.parser import HTMLParser

import msgspec
import pytest
from markdown_it import MarkdownIt

from closecall import AnswerSimilarity, Case
from closecall.gates.evaluate import evaluate_gates, gates_exit
from closecall.report import markdown as report
from closecall.report.overview import overview

OWN = {
    "h3", "h4", "ul", "li", "p", "strong", "em", "table", "thead", "tbody", "tr", "th", "td",
    "details", "summary",
}  # fmt: skip
COMMENT = 65_536
EVIL = [
    "<script>alert(1)</script><img src=x onerror=alert(1)><!-- <details></summary>",
    "| a | b |\n|---|---|\n| c | d |",
    "`code` ```\nfence\n``` ~~gone~~ **bold** __bold__ *it* _it_",
    "[click](https://evil.example) ![x](https://evil.example/x.png) <https://evil.example> [a]: b",
    "https://evil.example www.evil.example WWW.evil.example ftp://evil.example me@evil.example",
    "@everyone @org/team #1 org/repo#2 GH-3 gh-4 :tada: :+1: $x^2$ $$y$$",
    "&lt;b&gt; &#60;i&#62; &copy; \\| \\\\| \\`",
    "- item", "+ item", "1. item", "2) item", "---", "***", "# head", "> quote", "=====", "    code",
]  # fmt: skip


class Seen(HTMLParser):
    """What a browser makes of the page: tags with their attributes, rows, and the text."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.opened = [], [], []
        self.rows, self.items, self.texts, self.comments = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
        if tag == "li":
            self.items.append("")
        self.opened.append(tag)

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if {"td", "th"} & set(self.opened):
            self.rows[-1][-1] += data
        if "li" in self.opened:
            self.items[-1] += data

    def handle_comment(self, data):
        self.comments.append(data)


def shown(text):
    """Render as GitHub does, bare addresses included: raw HTML is passed on."""
    return Seen(MarkdownIt("gfm-like", {"html": True, "linkify": True}).render(text))


@pytest.fixture(scope="module")
def evil(make_run):
    cases = [
        Case(id=f"{text} {n}", references=(text,), response=f"{text} {n}", group=text)
        for n, text in enumerate(EVIL)
    ]
    cases += [Case(id=text, references=("a",), response=" ") for text in EVIL]
    run = make_run(cases)
    return dataclasses.replace(run, header=msgspec.structs.replace(run.header, name=EVIL[0]))


def test_the_page_is_made_of_the_reports_own_elements(evil, run, hostile, absent, render):
    for one in (evil, run, hostile, absent):
        seen = shown(render(one, "markdown"))
        assert set(seen.tags) <= OWN
        assert {name for name, _ in seen.attributes} <= {"style"}
        assert {value.partition(":")[0] for _, value in seen.attributes} <= {"text-align"}
        assert not seen.comments
        assert not seen.opened


def test_every_row_of_a_table_has_the_columns_of_its_head(evil, render):
    seen = shown(render(evil, "markdown"))
    assert seen.tags.count("table") == 1 + len(overview(evil).worst)
    widths = {len(row) for row in seen.rows}
    assert widths == {5, 6}
    assert len(seen.rows) == sum(1 + n for n in (2, *map(len, overview(evil).worst.values())))


@pytest.mark.parametrize("text", EVIL, ids=range(len(EVIL)))
def test_a_text_is_shown_as_it_is_and_makes_nothing(make_run, render, text):
    run = make_run([Case(id="1", references=(text,), response=f"{text} x")])
    seen = shown(render(run, "markdown"))
    line = " ".join(text.split())
    cells = [cell.replace("\u200b", "") for row in seen.rows for cell in row]
    assert line in cells
    assert f"{line} x" in cells
    assert set(seen.tags) <= OWN
    assert seen.tags.count("li") == len(overview(run).notes) + len(overview(run).reading)


@pytest.mark.parametrize("text", EVIL, ids=range(len(EVIL)))
def test_an_id_that_starts_a_line_makes_no_list_rule_or_heading(text):
    seen = shown("\n".join(report._items([text, f"{text} again", "last"])))
    assert seen.tags == ["ul", "li", "li", "li"]
    wanted = " ".join(text.split())
    found = [item.replace("\u200b", "").strip() for item in seen.items]
    assert [" ".join(item.split()) for item in found] == [wanted, f"{wanted} again", "last"]


def test_what_is_linked_after_rendering_is_kept_apart(make_run, render):
    text = EVIL[5] + " https://evil.example me@evil.example www.evil.example"
    run = make_run([Case(id=text, references=("a",), response=" "), Case(id="b", response=text, references=("z",))])  # fmt: skip
    shown_text = "".join(shown(render(run, "markdown")).texts)
    for linked in (
        r"@\w", r"#\d", r"(?i)\bgh-\d", r":(tada|\+1):", r"://", r"(?i)www\.", r"\$x",
    ):  # fmt: skip
        found = re.search(linked, shown_text)
        # A dollar sign is looked for in the source, and stands there as an entity.
        assert not found or linked == r"\$x", (linked, found)
    assert "$" not in render(run, "markdown")


def test_the_name_of_a_metric_is_text_above_its_lowest_cases(make_run, render):
    class Named(AnswerSimilarity):
        pass

    metric = Named()
    metric.spec = msgspec.structs.replace(metric.spec, id="x:<b>=@you #1 https://x & y")
    run = make_run([Case(id="1", references=("a",), response="b")], [metric])
    seen = shown(render(run, "markdown"))
    assert set(seen.tags) <= OWN
    told = "".join(seen.texts)
    assert "Lowest x:<b>=@you #1 https://x & y" in told.replace("\u200b", "")
    assert not re.search(r"@\w|#\d|://", told)


@pytest.fixture(scope="module")
def large(make_run):
    """More than a comment may hold: many metrics, texts of which every sign is escaped."""
    text = "@#<&|" * 40
    metrics = ["token_f1", "chrf", "bleu", "rouge_l", "token_recall", "token_precision"]
    cases = [Case(id=f"{text}{n}", references=(text,), response=text[n:]) for n in range(9)]
    found = make_run(cases, metrics)
    results = evaluate_gates(found, [f"share({one} >= 0.5) >= 0.99" for one in metrics]) * 60
    header = msgspec.structs.replace(found.header, name="@" * 3_000)
    return dataclasses.replace(
        found, header=header, gates=results, gates_code=gates_exit(results, found)
    )


def test_a_report_fits_into_a_comment_and_counts_what_it_leaves_out(large, render):
    text = render(large, "markdown")
    assert 40_000 < len(text) < COMMENT
    assert len(text.encode()) < 1 << 20
    seen = shown(text)
    assert set(seen.tags) <= OWN
    whole = overview(large)
    told = "".join(seen.texts)
    (gates,) = re.findall(r"Gates \((\d+) lines?\)", told)
    start, end = text.index("**Gates**"), text.index("**Left out**")
    there = text[start:end].partition("\n\n")[2].partition("\n\n")[0].count("\n- ") + 1
    assert int(gates) + there == len(whole.gates)
    assert "Lowest token_f1 (5 cases)" in told
    assert "the other formats have all of it" in told
    assert f"exit code {large.exit_code}" in told
    assert "(2,0" in text.split("\n", 1)[0]  # what the name goes on with, in characters


def test_a_report_that_fits_leaves_nothing_out(run, evil, render):
    for one in (run, evil):
        text = render(one, "markdown")
        assert "Left out" not in text
        assert all(metric in text.replace("\\", "") for metric in overview(one).worst)


def test_a_long_line_says_how_much_more_there_is():
    (line,) = report._items(["a" * (report.LINE + 1234)])
    assert line == f"- {'a' * report.LINE}… (1,234 characters more)"
