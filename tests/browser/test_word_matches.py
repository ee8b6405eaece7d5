"""How well each word is matched, painted over the texts; and cases by their fields."""

import json

import pytest
from made_runs import report
from selenium.webdriver.common.by import By

from closecall import evaluate
from closecall.runs.files import RESULTS
from closecall.testing import HashEmbedder

pytestmark = [pytest.mark.browser, pytest.mark.loopback]

REFERENCE = "Drain the pump every six months and before frost"
RESPONSE = "\U0001f6b0 The pump must be drained before frost, by a <b>trained</b> person"


def rows():
    return [
        {
            "id": "both",
            "response": RESPONSE,
            "references": ["nothing of it", REFERENCE],
            "context": ["A pump is drained before frost."],
            "label": "reject",
            "slice": {"bot": "a", "odd: name": "x: y"},
        },
        {
            "id": "context",
            "response": "The pump is never drained",
            "context": ["A pump is drained before frost."],
            "label": "accept",
            "slice": {"bot": "b"},
        },
        {
            "id": "long",
            "response": "pump " * 2100,
            "context": ["A pump is drained."],
            "slice": {"bot": "b", "odd: name": "z"},
        },
    ]


def made(folder):
    metrics = "answer_alignment,context_alignment"
    evaluate(rows(), metrics, HashEmbedder(), aef=folder, cache=False)
    return folder


@pytest.fixture(scope="module")
def heated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heat")
    return report(folder / "report.html", made(folder / "run"))


def opened(page, path, case, **options):
    page.open(path, f"#cases?case={case}", **options)
    page.wait("return document.querySelector('#case-title')?.innerText === arguments[0]", case)


def marks(page, side):
    return page.run(
        """const place = document.querySelector(`#case-detail .side-text[aria-label="${arguments[0]}"]`);
        return [...place.querySelectorAll('.m-heat')].map((one) => one.textContent)""",
        side,
    )


def test_every_word_is_painted_once_asked_for(page, heated):
    opened(page, heated, "both")
    assert marks(page, "Response") == []
    page.one("[data-marks=diff]").click()
    page.one("[data-marks=alignment]").click()
    assert page.one("[data-marks=alignment]").get_attribute("aria-pressed") == "true"
    assert "".join(marks(page, "Expected text")).split() == REFERENCE.replace(" ", "").split()
    words = marks(page, "Response")
    assert words[0] == "\U0001f6b0"
    assert words[1:4] == ["The", "pump", "must"]
    said = page.text(".heat-legend")
    assert "answer_alignment (reference), context_alignment (response)" in said
    assert "The weaker the match, the stronger the line." in said
    titles = page.run(
        "return [...document.querySelectorAll('.side-text .m-heat')].map((m) => m.title)"
    )
    assert all("best match " in title for title in titles)
    # Of another reference nothing is known.
    page.one(".side-name select").find_elements(By.TAG_NAME, "option")[0].click()
    assert marks(page, "Expected text") == []


def test_whose_matches_are_painted_can_be_chosen(page, heated):
    opened(page, heated, "both")
    page.one("[data-marks=alignment]").click()
    pick = page.one(".pick-heat")
    assert [one.text for one in pick.find_elements(By.TAG_NAME, "option")] == [
        "answer_alignment (reference), context_alignment (response)",
        "answer_alignment",
        "context_alignment",
    ]
    pick.find_elements(By.TAG_NAME, "option")[1].click()
    assert marks(page, "Response") == []
    assert marks(page, "Expected text")


def test_the_words_are_listed_in_figures_for_who_cannot_see_the_marks(page, heated):
    opened(page, heated, "both")
    page.one("[data-marks=alignment]").click()
    for at, one in enumerate(page.all(".heat-legend details summary")):
        one.click()
        page.wait(
            "return document.querySelectorAll('.words-listed')[arguments[0]].childNodes.length", at
        )
    lists = [one.text for one in page.all(".words-listed")]
    assert len(lists) == 2
    assert all(word in lists[0] for word in REFERENCE.split())
    assert "0." in lists[0]


def test_where_there_is_nothing_to_set_apart_it_is_painted_at_once(page, heated):
    opened(page, heated, "context")
    assert marks(page, "Response") == ["The", "pump", "is", "never", "drained"]


def test_of_a_very_long_text_it_is_said_how_much_is_painted(page, heated):
    opened(page, heated, "long")
    assert "the first 2,000 of 2,100" in page.text(".heat-legend")
    page.one(".heat-legend summary").click()
    page.wait("return document.querySelector('.words-listed').childNodes.length > 2000")
    assert "100 further words of this long text are not marked" in page.text(".heat-legend")


def test_runs_that_kept_the_weakest_words_alone_show_these(page, tmp_path):
    folder = made(tmp_path / "run")
    lines = [json.loads(line) for line in (folder / RESULTS).read_bytes().splitlines()]
    for line in lines:
        line.get("ext", {}).get("closecall", {}).get("details", {}).pop("wordMatches", None)
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / RESULTS).write_text(text, encoding="utf-8")
    opened(page, report(tmp_path / "old.html", folder), "both")
    page.one("[data-marks=alignment]").click()
    assert "Weakest words" in page.one("[data-marks=alignment]").text
    assert page.all(".side-text .m-weak")
    assert not page.all(".m-heat")


@pytest.mark.parametrize(
    "options", [{}, {"dark": True}, {"width": 390}], ids=["light", "dark", "narrow"]
)
def test_axe_finds_nothing_serious_in_painted_texts(page, heated, axe, options):
    opened(page, heated, "both", **options)
    page.one("[data-marks=alignment]").click()
    page.run("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.violations(axe, "#cases") == []
    page.one("[data-marks=diff]").click()
    assert page.violations(axe, "#cases") == []
    assert page.wider() == 0


def test_the_open_case_is_printed_with_its_marks(page, heated):
    opened(page, heated, "context")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    page.media(kind="print")
    assert "The pump is never drained" in page.text("#cases-print .printed-case")
    assert len(page.all("#cases-print .side-text .m-heat")) == 5
    assert not page.one("#cases-print .button").is_displayed()


def test_cases_are_filtered_by_their_fields(page, heated):
    page.open(heated, "#cases?slice=slice.bot%3A%20b")
    assert page.text("#count") == "2 of 3 cases"
    page.go("#cases?slice=slice.odd%3A%20name%3A%20x%3A%20y")
    assert page.text("#count") == "1 of 3 cases"
    offered = page.run(
        "return [...document.querySelectorAll('#slices option')].map((one) => one.value)"
    )
    assert {"slice.bot: a", "slice.bot: b", "slice.odd: name: x: y"} <= set(offered)
    page.go("#cases?case=both")
    page.wait("return document.querySelector('#case-title')?.innerText === 'both'")
    assert "slice.bot" in page.text("#case-detail")


def test_a_slice_leads_to_its_cases(page, heated, axe):
    page.open(heated, "#overview")
    said = page.text(".slices")
    assert "slice.bot (2 values)" in said
    assert page.violations(axe, "#overview") == []
    next(one for one in page.all(".slices a") if one.text == "b").click()
    page.until(lambda: page.shown == "cases")
    page.until(lambda: page.text("#count") == "2 of 3 cases")
