"""The report as a person uses it in a browser, opened from disk."""

import base64
import json
import re

import pytest

from closecall.datasets import open_dataset

pytestmark = [pytest.mark.browser, pytest.mark.loopback]

SECTIONS = ("overview", "cases", "cutoff", "history", "compare")


def listed(shop):
    return shop.run(
        "return [...document.querySelectorAll('.case-row .id')].map((one) => one.textContent)"
    )


def test_what_is_refused_would_be_noticed(browser, tmp_path):
    """The watch itself: a page that asks for something is seen to, in the log and at the proxy."""
    loud = tmp_path / "loud.html"
    loud.write_text(
        "<!doctype html><img src='http://elsewhere.invalid/a.png'><script>oops(</script>"
    )
    browser.console()
    browser.driver.get(loud.as_uri())
    browser.until(lambda: any("elsewhere.invalid" in one for one in browser.refused))
    assert any("elsewhere.invalid" in one for one in browser.addresses())
    assert any("SyntaxError" in one for one in browser.console())
    browser.refused.clear()


@pytest.mark.parametrize("width", [1280, 390])
def test_every_section_opens_and_fits(shop, report_page, width):
    shop.open(report_page, width=width)
    for section in SECTIONS:
        shop.go(f"#{section}")
        assert shop.one(f"#{section} h1, #{section} h2").is_displayed()
        assert (shop.wider(), shop.sticking_out()) == (0, []), section


def test_a_page_left_while_it_still_settles_does_not_take_the_reader_back(shop):
    shop.go("#cases")
    late = "location.hash = '#overview'; CC.go('cases', {sort: 'id'}, true);"
    shop.run(late)  # the address is replaced before the browser has told of the new one
    shop.until(lambda: shop.shown == "overview")
    assert shop.run("return location.hash") == "#overview"


def test_the_overview_says_what_came_of_it(shop):
    said = shop.text("#overview")
    assert "exit code 1" in said
    assert "230 cases" in said
    assert "embed_answer_similarity" in said


def test_cases_are_filtered_searched_and_sorted(shop):
    shop.go("#cases")
    assert shop.text("#count") == "230 cases"
    shop.one("[data-state=failed]").click()
    failed = int(shop.text("#count").split()[0])
    assert 0 < failed < 230
    shop.one("[data-state=failed]").click()
    search = shop.one("#search")
    search.send_keys("Price list, page 77:")
    shop.until(lambda: shop.text("#count") == "1 of 230 cases")
    assert listed(shop) == ["shop-077"]
    search.clear()
    search.send_keys(" ")
    shop.until(lambda: shop.text("#count") == "230 cases")
    shop.go("#cases?sort=id&slice=tag%3A+repairs")
    assert shop.text("#count") == "115 of 230 cases"
    assert listed(shop)[:3] == ["shop-000", "shop-002", "shop-004"]
    shop.go("#cases?sort=low")
    scores = shop.run(
        "return [...document.querySelectorAll('.case-row .value')].map((one) => +one.textContent)"
    )
    assert scores[:5] == sorted(scores)[:5]


def test_a_case_shows_its_texts_side_by_side_with_what_differs(shop):
    shop.go("#cases?case=shop-000")
    shop.until(lambda: "shop-000" in shop.text("#case-detail"))
    said = shop.text("#case-detail")
    assert "How long does a repair of a saddle take?" in said
    assert "Price list, page 0" in said
    gone = shop.run(
        "return [...document.querySelectorAll('#case-detail del')].map((one) => one.textContent)"
    )
    new = shop.run(
        "return [...document.querySelectorAll('#case-detail ins')].map((one) => one.textContent)"
    )
    assert any("3" in one for one in gone)
    assert any("not" in one for one in new)
    hot = shop.run(
        "return document.querySelectorAll('#case-detail ins.is-hot.is-negation').length"
    )
    assert hot


def test_labels_given_in_the_page_are_read_back(shop, tmp_path):
    shop.go("#cases?case=shop-000")
    shop.until(lambda: "shop-000" in shop.text("#case-detail"))
    shop.one("#case-title").click()
    shop.keys("a")
    shop.go("#cases?case=shop-031")
    shop.until(lambda: "shop-031" in shop.text("#case-detail"))
    shop.one("#act-r").click()
    shop.keys("u", "r")
    shop.until(lambda: shop.one("#labels-given").is_displayed())
    loaded = list(open_dataset(shop.downloaded(tmp_path, "#download-given")))
    assert [(case.id, case.label) for case in loaded] == [
        ("shop-000", "accept"),
        ("shop-031", "reject"),
    ]
    assert loaded[0].references == ("A saddle is repaired within 3 working days.",)


def test_history_says_what_changed_and_draws_every_metric(shop):
    shop.go("#history")
    said = shop.text("#history")
    assert "bot 0 → bot 1" in re.sub(r"\s+", " ", said).replace(" became", "")
    assert len(shop.all("#history svg.cc-history")) == 4
    assert len(shop.all("#history g[clip-path] .cc-dot")) == 12
    for column in ("passed of measured", "mean", "measured / asked"):
        assert column in said.lower()


def test_comparison_marks_what_differs_word_by_word(shop):
    shop.go("#compare")
    assert "Regression" in shop.text("#compare .verdict")
    first = shop.one("#compare .moved[open] .move")
    assert first.find_elements("css selector", "[data-side=a] del")
    assert first.find_elements("css selector", "[data-side=b] ins")
    shop.one("#compare-marks").click()
    assert not shop.all("#compare del, #compare ins")
    link = first.find_element("css selector", ".move-id a")
    case = link.text
    link.click()
    shop.until(lambda: shop.shown == "cases" and case in shop.text("#case-detail"))


def test_dark_and_light(shop, report_page):
    def ground():
        return shop.run("return getComputedStyle(document.body).backgroundColor")

    light = ground()
    shop.one("#theme").click()
    dark = ground()
    assert dark != light
    shop.run("localStorage.clear()")
    shop.open(report_page, dark=True)
    assert ground() == dark
    shop.one("#theme").click()
    assert ground() == light


def test_the_cutoff_moves_by_keyboard(shop):
    shop.go("#cutoff")
    handle = shop.one("#cutoff [role=slider]")
    before, said = handle.get_attribute("aria-valuenow"), shop.text("#cutoff .cutoff-figures")
    handle.send_keys("\ue012" * 3)
    shop.until(lambda: shop.one("#cutoff [role=slider]").get_attribute("aria-valuenow") != before)
    shop.one("#cutoff [role=slider]").send_keys("\ue010")
    shop.until(lambda: shop.text("#cutoff .cutoff-figures") != said)


def test_print_shows_the_overview_the_cutoff_and_the_filtered_cases(shop):
    shop.go("#cases?q=shop-01")
    shop.until(lambda: shop.text("#count") == "10 of 230 cases")
    printed = base64.b64decode(shop.command("Page.printToPDF", printBackground=True)["data"])
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 2 <= pages <= 25
    shop.media(kind="print")
    said = shop.text("main")
    assert shop.one("#overview").is_displayed()
    assert shop.one("#cutoff").is_displayed()
    assert not shop.one("header.bar").is_displayed()
    assert "10 of 230 cases" in said
    assert said.count("shop-01") >= 10
    assert "shop-150" not in shop.text("#cases")
    shop.media()


def test_without_scripts_the_report_can_be_read(page, report_page):
    shop = page.without_scripts(report_page)
    source = shop.command("DOMSnapshot.captureSnapshot", computedStyles=["display", "visibility"])
    texts = json.dumps(source["strings"])
    for said in ("exit code 1", "Scripts are blocked", "The first 200 of 230 cases", "Regression"):
        assert said in texts
    drawn = _laid_out(source)
    for said in (
        "Scripts are blocked",
        "exit code 1",
        "ask again in 9 weeks",
        "What changed from run to run",
    ):
        assert said in drawn, said


def _laid_out(snapshot):
    """Return the texts that a browser gave a place on the page, one after another."""
    found = []
    for document in snapshot["documents"]:
        layout = document["layout"]
        for text, (*_, width, height) in zip(layout["text"], layout["bounds"], strict=True):
            if text >= 0 and width > 1 and height > 1:
                found.append(snapshot["strings"][text])
    return " ".join(found)
