"""The Markdown report: a summary anybody may paste; nothing in a case's text can format or link."""

import re

from closecall import AnswerSimilarity, Case


def test_the_parts_in_order(run, render):
    text = render(run, "markdown")
    wanted = [
        "### suite: 7 cases, words (local)",
        "| metric | passed / measured / asked | mean | median | cutoff |",
        "| embed\\_answer\\_similarity | 2 / 4 / 7 |",
        "| 70 | default cutoff, not calibrated |",
        "| embedding\\_similarity | - / 4 / 7 |",
        "| - | no cutoff, scored only |",
        "**Against your labels**",
        "2 wrong answers by label: 1 of 2 = 50% (95% interval 1.3-99%) let through (false accepts)",
        "2 right answers by label: 1 of 2 = 50% (95% interval 1.3-99%) turned away (false rejects)",
        "**Not measured**",
        "1 case: the case's reference is missing",
        "<details><summary>Lowest embed_answer_similarity</summary>",
        "| case | value | state | reference | response |",
        "| right-but-far | ",
        "**2 passed, 2 failed, 3 not measured of 7 cases; exit code 1**",
        "nearly blind to a changed number",
    ]
    places = [text.index(part) for part in wanted]
    assert places == sorted(places)


def test_every_line_of_a_table_has_the_columns_of_its_head(run, hostile, render):
    for text in (render(run, "markdown"), render(hostile, "markdown")):
        columns = 0
        for line in text.splitlines():
            if not line.startswith("|"):
                columns = 0
                continue
            bars = len(re.findall(r"(?<!\\)\|", line))
            assert bars == (columns or bars)
            columns = bars


def test_hostile_texts_cannot_format_link_or_mention(hostile, render):
    text = render(hostile, "markdown")
    assert "<script" not in text
    assert "<b>" not in text
    assert "\n# heading" not in text
    assert not re.search(
        r"(?<!\\)[*`\[\]]", re.sub(r"(?m)^(\*\*.*\*\*|\*Similarity of.*\*)$", "", text)
    )
    assert "&amp;amp;" in text
    for chained in ("@everyone", "://", "www.", "#1", "me@evil"):
        assert chained not in text
    # An entity alone becomes the character again before a page's mentions and links are made.
    for alone in ("&#64;everyone", "&#58;//", "&#35;1", "&#64;evil"):
        assert alone not in text


def test_control_characters_are_shown_not_obeyed(hostile, render):
    text = render(hostile, "markdown")
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)
    assert "\\\\x1b\\[31mred\\\\x07\\\\u202e" in text


def test_a_line_break_in_a_text_does_not_break_its_row(make_run, render):
    run = make_run([Case(id="1", references=("a\r\n\r\nb",), response="c\n|d")])
    text = render(run, "markdown")
    assert "| a b | c \\|d |" in text


def test_nothing_measured(absent, render):
    text = render(absent, "markdown")
    assert "| 0 / 0 / 2 | - | - | 70 | default cutoff, not calibrated |" in text
    assert "**2 not measured of 2 cases; exit code 11**" in text
    assert "<details>" not in text


def test_a_line_break_in_a_reason_or_a_name_does_not_break_its_line(render, make_run):
    class Breaks(AnswerSimilarity):
        def measure(self, case, vectors):
            raise RuntimeError("first\n# second")

    case = Case(id="1", references=("a",), response="a")
    text = render(make_run([case], [Breaks()]), "markdown")
    assert "RuntimeError: first (1)" in text
    assert "second" not in text  # the first line says what happened, and is counted
