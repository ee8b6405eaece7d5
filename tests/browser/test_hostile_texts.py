"""Texts that mean no good stand in the report as text: nothing of them runs or breaks the page."""

import pytest
from made_runs import PAYLOADS

pytestmark = [pytest.mark.browser, pytest.mark.loopback]

SECTIONS = ("overview", "cases", "cutoff", "history", "compare")

MARKUP = (
    "main iframe, main img, main base, main link, main meta, main script:not([id^=cc-]), main object, "
    "main a[href^='javascript'], main [onload], main [onerror], main [style*='expression']"
)


def unharmed(page):
    assert page.run("return window.__pwned === undefined && ({}).polluted === undefined")
    assert page.all(MARKUP) == []
    assert page.run("return document.baseURI") == page.run("return location.href")
    assert page.run("return getComputedStyle(document.body).display") == "block"


@pytest.mark.parametrize("width", [1280, 390])
def test_every_section_shows_them_as_text_and_keeps_its_shape(page, hostile_page, width):
    page.open(hostile_page, width=width)
    for section in SECTIONS:
        page.go(f"#{section}")
        page.run("for (const one of document.querySelectorAll('details')) one.open = true")
        unharmed(page)
        assert (page.wider(), page.sticking_out()) == (0, []), section


@pytest.mark.parametrize("at", range(len(PAYLOADS)))
def test_a_case_of_them_can_be_read(page, hostile_page, at):
    page.open(hostile_page)
    page.run("CC.go('cases', { case: CC.columns.ids[arguments[0]] })", at)
    page.wait(
        "return document.querySelector('#case-title .text')?.textContent.startsWith(arguments[0])",
        f"{at} ",
    )
    unharmed(page)
    if PAYLOADS[at].isascii() and PAYLOADS[at].isprintable():
        shown = page.run("return document.getElementById('case-detail').textContent")
        assert PAYLOADS[at][:1000] in shown
    assert page.wider() == 0


def test_what_turns_or_hides_text_is_spelt_out(page, hostile_page):
    page.open(hostile_page)
    for at, escapes in (
        (11, ("\\u202e", "\\u2066", "\\u2069")),
        (12, ("\\x1b", "\\x07", "\\x00", "\\x9b", "\\u2028")),
    ):
        page.run("CC.go('cases', { case: CC.columns.ids[arguments[0]] })", at)
        page.wait(
            "return document.querySelector('#case-title .text')?.textContent.startsWith(arguments[0])",
            f"{at} ",
        )
        spelt = page.run(
            "return [...document.querySelectorAll('#case-detail .esc')].map((one) => one.textContent)"
        )
        assert set(escapes) <= set(spelt)
        raw = page.run("return document.body.textContent")
        assert not set("\u202e\u2066\x1b\x07\x00\x9b\u2028") & set(
            raw.replace(
                page.run(
                    "return [...document.querySelectorAll('script')].map((one) => one.textContent).join('')"
                ),
                "",
            )
        )


def test_a_line_of_a_megabyte_opens_and_is_cut_until_asked_for(page, hostile_page):
    page.open(hostile_page, "#cases?case=__proto__")
    page.wait("return document.querySelector('#case-title')?.textContent === '__proto__'")
    assert page.run("return document.getElementById('case-detail').textContent.length") < 300_000
    unharmed(page)
    page.one("#case-detail .more").click()
    page.wait("return document.getElementById('case-detail').textContent.length > 1000000")
    assert page.wider() == 0


def test_names_of_the_language_are_names_like_others(page, hostile_page):
    page.open(hostile_page, "#cases?slice=tag%3A+__proto__")
    page.wait("return document.getElementById('count').textContent === '1 of 16 cases'")
    page.run("CC.go('cases', { q: '</script><script>window.__pwned = 2', sort: 'id' })")
    page.wait("return document.getElementById('count').textContent === '1 of 16 cases'")
    unharmed(page)


def test_without_scripts_they_are_text_too(page, hostile_page):
    page.without_scripts(hostile_page)
    shown = page.text("#cases")
    assert "<script>window.__pwned = 1</script>" in shown
    assert "\\u202e" in shown
    assert page.all(MARKUP) == []
    assert page.wider() == 0
