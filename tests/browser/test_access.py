"""The report by keyboard alone, and what axe-core makes of every section."""

import pytest
from selenium.webdriver import Keys

pytestmark = [pytest.mark.browser, pytest.mark.loopback]

SECTIONS = ("overview", "cases", "cutoff", "history", "compare")

CONTROLS = """
  const shown = (one) => {
    const box = one.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(one).visibility === 'visible'
      && one.checkVisibility();
  };
  const all = document.querySelectorAll('a[href], button:not(:disabled), input, select, textarea, summary, [tabindex="0"]');
  const found = [...all].filter((one) => one.tabIndex >= 0 && shown(one));
  found.forEach((one, at) => { one.dataset.walk = String(at); });
  return found.map((one) => one.outerHTML.slice(0, 80));"""

FOCUSED = """
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  at.scrollIntoView({ block: 'nearest' });
  const style = getComputedStyle(at);
  const box = at.getBoundingClientRect();
  const seen = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1)
    || style.boxShadow !== 'none' || [...at.querySelectorAll('*')].some((one) => {
      const own = getComputedStyle(one);
      return own.outlineStyle !== 'none' && parseFloat(own.outlineWidth) >= 1;
    });
  return { walk: at.dataset.walk ?? null, html: at.outerHTML.slice(0, 80), seen,
    onScreen: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth };"""


COLOURS = ["color-contrast", "link-in-text-block"]


@pytest.mark.parametrize(
    ("options", "only"),
    [({}, None), ({"dark": True}, COLOURS), ({"width": 390, "height": 844}, None)],
    ids=["light", "dark", "narrow"],
)
def test_axe_finds_nothing_serious(page, small_page, axe, options, only):
    page.open(small_page, **options)
    found = {}
    for section in SECTIONS:
        page.go(f"#{section}")
        if only is None:
            page.run("for (const one of document.querySelectorAll('details')) one.open = true")
        if section == "cases":
            page.go("#cases?case=shop-000")
            page.wait("return document.querySelector('#case-title')")
        found[section] = page.violations(axe, f"#{section}", only)
    page.one("#keys").click()
    found["dialog"] = page.violations(axe, "dialog", only)
    assert found == {name: [] for name in found}


@pytest.mark.parametrize("section", SECTIONS)
def test_the_tab_key_walks_through_every_control_in_order(shop, section):
    shop.go(f"#{section}")
    shop.run("document.activeElement.blur(); window.getSelection().removeAllRanges()")
    controls = shop.run(CONTROLS)
    # From the top of the page: the skip link comes first.
    shop.run("document.querySelector('.skip').focus()")
    walked = [shop.run(FOCUSED)]
    for _ in range(len(controls) + 5):
        shop.tab()
        at = shop.run(FOCUSED)
        if at is None or at["walk"] == walked[0]["walk"]:
            break
        walked.append(at)
    assert [one for one in walked if not (one["seen"] and one["onScreen"])] == []
    order = [int(one["walk"]) for one in walked if one["walk"] is not None]
    assert order == sorted(order)
    missed = [controls[at] for at in range(len(controls)) if at not in order]
    assert missed == []


def test_the_skip_link_leads_past_the_bar(shop):
    shop.run("document.querySelector('.skip').focus()")
    assert shop.one(".skip").rect["y"] >= 0
    shop.keys(Keys.ENTER)
    assert shop.run("return document.activeElement.id") == "main"
    assert shop.shown == "overview"


def test_keys_are_shown_and_escape_closes_them(shop):
    shop.go("#cases")
    shop.one("#keys").click()
    assert shop.one("dialog").is_displayed()
    assert "Next case" in shop.text("dialog")
    shop.keys(Keys.ESCAPE)
    shop.wait("return !document.querySelector('dialog')")
    assert shop.run("return document.activeElement.id") == "keys"


def test_cases_by_keys_alone(shop):
    shop.keys("2")
    shop.until(lambda: shop.shown == "cases")
    shop.keys("/")
    assert shop.run("return document.activeElement.id") == "search"
    shop.keys("shop-20", Keys.ESCAPE)
    assert shop.run("return document.activeElement.id") != "search"
    shop.until(lambda: shop.text("#count") == "10 of 230 cases")
    title = "return document.querySelector('#case-title')?.textContent"
    before = shop.wait(title)
    shop.keys("j")
    shop.until(lambda: shop.run(title) != before)
    shop.keys("k")
    shop.until(lambda: shop.run(title).startswith("shop-20"))
    shop.keys("r")
    assert (
        shop.run(
            "return CC.labels.of(CC.columns.places.get(document.querySelector('#case-title').textContent))"
        )
        == "reject"
    )
    shop.keys("?")
    assert shop.one("dialog").is_displayed()
    shop.keys("a", Keys.ESCAPE)
    shop.wait("return !document.querySelector('dialog')")
    assert (
        shop.run(
            "return CC.labels.of(CC.columns.places.get(document.querySelector('#case-title').textContent))"
        )
        == "reject"
    )


def test_a_change_is_told_to_a_screen_reader(shop):
    shop.go("#cases")
    shop.one("[data-state=failed]").click()
    shop.until(lambda: "shown" in shop.run("return document.getElementById('live').textContent"))
    assert shop.run("return document.getElementById('live').textContent").startswith(
        shop.text("#count")
    )
