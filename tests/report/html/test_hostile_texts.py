"""No text of a case can become markup, end a script, load something or hide what it says."""

import base64
import gzip
import json
import re

import pytest

from closecall import Case
from closecall.report.html.escaping import packed

HOSTILE = {
    "a script": "<script>document.title='owned'</script>",
    "the end of a script": "</script><script>alert(1)</script>",
    "a comment": "<!-- <script> --><!--",
    "an svg": '<svg onload="alert(1)"><a xlink:href="javascript:alert(1)">',
    "an attribute": '" onmouseover="alert(1)" x=\'',
    "entities": "&lt;b&gt; &amp; &#60;script&#62;",
    "line ends of scripts": "a\u2028b\u2029c",
    "right to left": "\u202ereversed\u202c \u05e9\u05dc\u05d5\u05dd",
    "control characters": "\x1b[31mred\x07\x00\x9b",
    "a template": "{{ 7*7 }}{% raw %}${7*7}",
    "a style": "</style><style>*{display:none}</style>",
    "a byte-order mark": "\ufeffzero\u200bwidth",
    "a title": "</title></section></main><h1>gone</h1>",
}


def cases_of(text):
    return [
        Case(
            id=f"{text[:40]}#{n}", input=text, response=text, references=(text,),
            context=(text, "plain"), label="accept", group=text, tags=(text,),
        )
        for n in range(2)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def plain(page_of, make_run):
    return page_of(make_run(cases_of("a plain text")))


@pytest.mark.parametrize("name", HOSTILE)
def test_the_page_has_the_elements_of_a_page_with_plain_texts(name, page_of, make_run, plain):
    page = page_of(make_run(cases_of(HOSTILE[name])))
    assert page.tags == plain.tags
    assert [(t, n) for t, n, _ in page.attributes] == [(t, n) for t, n, _ in plain.attributes]
    assert page.comments == []
    assert page.left_open == []
    assert page.source.count("<script") == plain.source.count("<script")
    assert page.source.count("</script") == plain.source.count("</script")
    assert page.csp == plain.csp, "the policy allows the same scripts whatever the texts"


@pytest.mark.parametrize("name", HOSTILE)
def test_the_data_holds_the_text_as_it_was(name, page_of, make_run):
    text = HOSTILE[name]
    found = page_of(make_run(cases_of(text))).cases[0]
    assert found["input"] == text
    assert found["references"] == [text]
    assert found["context"] == [text, "plain"]
    assert found["group"] == text
    assert found["tags"] == [text]


@pytest.mark.parametrize("name", HOSTILE)
def test_the_file_is_printable_ascii_outside_and_inside_its_scripts(name, page_of, make_run):
    source = page_of(make_run(cases_of(HOSTILE[name]))).source
    assert re.search(r"[^\n\x20-\x7e]", source) is None
    assert "<!--" not in source


def test_what_cannot_be_seen_is_spelt_out_where_no_script_runs(page_of, make_run):
    page = page_of(make_run(cases_of("\x1b[31mred\x07 \u202eturned")))
    assert "\\x1b[31mred\\x07 \\u202eturned" in page.text
    assert not any(char in page.text for char in "\x1b\x07\u202e")


def test_half_a_character_is_kept_as_the_escape_that_json_has_for_it():
    data = gzip.decompress(base64.b64decode(packed(["half \ud800"])))
    assert data == b'["half \\ud800"]'
    assert json.loads(data) == ["half \ud800"]


def test_a_line_of_a_megabyte_is_whole_in_the_data_and_short_in_the_table(page_of, make_run):
    long = "word " * 200_000
    page = page_of(make_run([Case(id="long", response=long, references=("word",))]))
    assert page.cases[0]["response"] == long
    assert len(page.text) < 20_000


def test_the_name_of_a_run_is_a_text_too(page_of, cases):
    from closecall import evaluate
    from closecall.testing import HashEmbedder

    name = "</title><script>alert(1)</script>"
    run = evaluate(cases[:2], None, HashEmbedder(), cache=False, name=name)
    page = page_of(run)
    assert page.index["name"] == name
    assert name in page.text
    assert len(page.scripts) == 1
