"""A comparison of two runs in each format: the same facts, and nothing hostile gets through."""

import io
import json
import re
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from closecall import compare_runs, evaluate
from closecall.errors import UsageError
from closecall.report.compared_runs.formats import FORMATS, format_of, save, write
from closecall.report.compared_runs.overview import verdict
from closecall.testing import HashEmbedder

HOSTILE = (
    "</td></table><script>alert(1)</script><img src=x onerror=alert(2)> {{ 7*7 }} {% raw %} "
    "| cell | [click](https://example.invalid) `code` @someone #12 \x1b[31m \u202e"
)


def rows(responses, name="c"):
    return [
        {
            "id": f"{name}{at}",
            "input": f"what of {at}?",
            "response": response,
            "references": ["the sky is blue"],
            "label": "accept",
        }
        for at, response in enumerate(responses)
    ]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    good, bad = "the sky is blue", f"we open at nine {HOSTILE}"
    for name, responses in (("a", [good] * 20), ("b", [bad] * 7 + [" "] + [good] * 12)):
        evaluate(
            rows(responses, "<b>c|"),
            "embed_answer_similarity,token_f1",
            HashEmbedder(),
            aef=folder / name,
            cache=False,
            name=f"{name} <i>",
        )
    return compare_runs(folder / "a", folder / "b", named=5)


def report(found, form):
    out = io.StringIO()
    write(found, form, out)
    return out.getvalue()


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_says_the_same_facts(found, form):
    text = " ".join(report(found, form).split())
    if form == "json":
        document = json.loads(text)
        assert document["schema"] == "closecall.run-comparison/1"
        assert (document["exit_code"], document["metrics"][0]["measured"]) == (1, 19)
        return
    plain = text.replace("\\", "").replace("&#39;", "'").replace("│", " ")
    assert "Regression: embed_answer_similarity: B passes fewer, beyond chance" in plain
    assert "19 / 20" in plain
    assert "7 pass in A alone and 0 in B alone" in plain
    assert "two-sided p = 0.016" in plain
    assert "measured by A and not by B, 1:" in plain
    assert "against your labels, B: good answers rejected 7 / 19" in plain


def test_the_page_runs_nothing_and_loads_nothing(found):
    tags, attributes = set(), []

    class Walk(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.add(tag)
            attributes.extend(attrs)

    text = report(found, "html")
    Walk().feed(text)
    assert not tags & {
        "script",
        "img",
        "link",
        "iframe",
        "object",
        "svg",
        "base",
        "form",
        "b",
        "i",
    }
    assert not [
        name for name, _ in attributes if name.startswith("on") or name in {"src", "href", "style"}
    ]
    assert "default-src &#39;none&#39;" in text
    assert "{{ 7*7 }}" in text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", text)
    assert r"\u202e" in text


def test_the_policy_allows_the_page_its_own_style(found):
    import base64
    import hashlib

    text = report(found, "html")
    style = text.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"sha256-{digest}" in text.replace("&#43;", "+").replace("&#x2F;", "/")


def test_markdown_keeps_its_tables_and_lets_no_text_format(found):
    text = report(found, "markdown")
    assert "<script" not in text
    assert "<img" not in text
    assert "[click](" not in text.replace("\\[", "")
    assert "://" not in text
    widths = set()
    for line in text.splitlines():
        if line.startswith("| ") and "response of A" not in line and "metric" not in line:
            widths.add(len(re.split(r"(?<!\\)\|", line)) - 2)
    assert widths == {5, 8}
    assert "\x1b" not in text


@pytest.mark.parametrize("form", FORMATS)
def test_no_control_character_reaches_a_file(found, form):
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", report(found, form))


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_comparison_is_written_the_same(found, form):
    assert report(found, form) == report(found, form)


def test_a_suffix_says_the_format(tmp_path, found):
    for name, form in (
        ("x.md", "markdown"),
        ("x.HTML", "html"),
        ("x.json", "json"),
        ("x.txt", "table"),
    ):
        assert format_of(tmp_path / name) == form
    with pytest.raises(UsageError, match=r"no format for this suffix.*--format"):
        format_of(tmp_path / "x.pdf")
    save(found, "markdown", tmp_path / "x.md")
    assert (tmp_path / "x.md").read_text(encoding="utf-8") == report(found, "markdown")


def test_the_table_fits_its_width(found):
    out = io.StringIO()
    from closecall.report.compared_runs.table import write as table

    table(found, out, 80)
    body = out.getvalue().splitlines()[1:]
    assert max(map(len, body)) <= 80


@pytest.mark.parametrize(
    ("responses", "options", "says"),
    [
        (["the sky is blue"] * 8, {}, "No regression: every verdict is the same in both."),
        (["we open at nine"] + ["the sky is blue"] * 7, {}, "No regression is shown, which is not to say"),
        (["we open at nine"] + ["the sky is blue"] * 7, {"strict": True}, "Not green: "),
        (["we open at nine"] * 8, {}, "Regression: "),
    ],
)  # fmt: skip
def test_the_verdict_is_a_sentence(tmp_path, responses, options, says):
    for name, given in (("a", ["the sky is blue"] * 8), ("b", responses)):
        evaluate(rows(given), None, HashEmbedder(), aef=tmp_path / name, cache=False)
    assert verdict(compare_runs(tmp_path / "a", tmp_path / "b", **options)).startswith(says)


def test_a_hostile_response_of_a_is_escaped_as_one_of_b_is(found):
    swapped = compare_runs(found.b.folder, found.a.folder)
    for form in ("markdown", "html"):
        text = report(swapped, form)
        assert "alert(1)" in text
        assert "<script" not in text
        assert "<img" not in text


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("embed_answer_similarity", ["embed_answer_similarity"]),
        ("embed_response_context_similarity", ["embed_response_context_similarity"]),
        ("semantic_" * 5 + "similarity", ["semantic_" * 3, "semantic_semantic_similarity"]),
    ],
)
def test_the_name_of_a_metric_is_broken_at_its_words_and_no_figure_is(found, name, lines):
    (first, *others) = found.metrics
    renamed = replace(found, metrics=(replace(first, metric=name), *others))
    from closecall.report.compared_runs.table import write as table

    out = io.StringIO()
    table(renamed, out, 100)
    told = out.getvalue().splitlines()
    told = told[: told.index(next(line for line in told if line.startswith(name + ":")))]
    at = next(n for n, line in enumerate(told) if line.startswith(lines[0] + " "))
    assert [line.split()[0] for line in told[at : at + len(lines)]] == lines
    assert "12 / 19" in told[at]
    assert max(map(len, told)) <= 100
