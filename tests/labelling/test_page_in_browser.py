"""The page in headless Chromium: keys, hostile texts, two tabs, and what axe-core finds."""

import json
import os
import shutil
import threading
from pathlib import Path

import pytest
from label_helpers import lines, row

from closecall.labelling.web.desk import Desk
from closecall.labelling.web.serving import Server

pytestmark = [pytest.mark.browser, pytest.mark.loopback]

HOSTILE = (
    "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 2'>"
    "<svg onload='window.hit = 3'> \x1b[31m \u202e flipped [b]x[/b] &lt;"
)
QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,900",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
WAIT = 60
SERIOUS = ("serious", "critical")


def _found(*names):
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    reason = f"not on this machine: {' or '.join(names)}"
    return pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    chromium, chromedriver = _found("chromium", "chromium-browser"), _found("chromedriver")
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in QUIET:
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(chromedriver))
    made.set_script_timeout(WAIT)
    yield made
    made.quit()


class Page:
    """The page in its tab: what stands there, and keys pressed on whatever has the focus."""

    def __init__(self, driver):
        self.driver = driver

    def until(self, done):
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, WAIT).until(lambda _: done())

    def text(self, name):
        return self.driver.execute_script(
            "return document.getElementById(arguments[0]).innerText", name
        )

    def press(self, *keys, then=None):
        self.driver.switch_to.active_element.send_keys(*keys)
        if then is not None:
            self.until(lambda: then in self.text("message"))

    def ready(self):
        self.until(lambda: self.text("question") not in {"", "Loading"})
        return self


@pytest.fixture
def opened(driver, table):
    made = []

    def call(session):
        server = Server(Desk(session), 0)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        made.append((server, thread))
        driver.get_log("browser")
        driver.get(server.gate.link)
        return Page(driver).ready()

    yield call
    errors = [entry["message"] for entry in driver.get_log("browser")]
    driver.get("about:blank")
    for server, thread in made:
        server.shutdown()
        server.server_close()
        thread.join()
    assert errors == []


def test_keys_label_and_nothing_of_a_case_runs(table, opened):
    from selenium.webdriver import Keys

    made = table([row(0, question=HOSTILE, response=HOSTILE, id="<b>id"), *map(row, range(1, 5))])
    page = opened(made.sit())
    shown = page.text("parts")
    assert shown.count("</script><script>window.hit = 1</script><img src=x onerror") == 2
    assert "\\x1b[31m \\u202e flipped [b]x[/b] &lt;" in shown
    assert page.driver.execute_script("return window.hit") is None
    assert page.driver.execute_script("return document.querySelectorAll('img,svg').length") == 0
    assert "token" not in page.driver.current_url
    page.press("a", then="<b>id: accepted.")
    page.press("r", then="case-001: rejected.")
    page.press("u", then="Undone.")
    assert page.text("name") == "case-001"
    page.press("n")
    page.press("a rum note")
    page.press(Keys.ENTER, then="Note kept.")
    assert page.text("own-note") == "Your note: a rum note"
    page.press("n")
    page.press("not this", Keys.ESCAPE)
    page.press("?")
    page.press("a")  # the help is open
    page.press(Keys.ESCAPE)
    page.press("s", then="left open")
    page.press(Keys.CONTROL + "a")
    events = [(one["event"], one["id"]) for one in lines(made.path)[1:]]
    assert events == [
        ("accept", "<b>id"),
        ("reject", "case-001"),
        ("undo", "case-001"),
        ("note", "case-001"),
        ("unsure", "case-001"),
    ]
    page.press("q", then="Ended.")


def test_a_tab_that_is_behind_shows_what_is_next(table, opened):
    made = table(list(map(row, range(5))))
    page = opened(made.sit())
    driver, first = page.driver, page.driver.current_window_handle
    url = driver.current_url
    driver.switch_to.new_window("tab")
    driver.get(url)
    page.ready()
    page.press("r", then="case-000: rejected.")
    driver.close()
    driver.switch_to.window(first)
    # Coming back to a tab looks anew; a key pressed before that labels nothing.
    driver.execute_script("window.dispatchEvent(new Event('focus'))")
    page.until(lambda: page.text("name") == "case-001")
    assert len(lines(made.path)) == 2


def test_a_million_characters_come_in_two_steps(table, opened):
    page = opened(table([row(0, response="word " * 200_000 + "END")]).sit())
    assert "Show 980,003 characters more" in page.text("parts")
    page.driver.execute_script("document.querySelector('.part button').click()")
    assert page.text("parts").count("END") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(table, opened, scheme):
    axe = pytest.importorskip("axe_core_python")
    page = opened(table([row(0, context=["a passage"]), row(1)]).sit())
    driver = page.driver
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    page.press("a", then="accepted")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    driver.execute_script(script)
    found = driver.execute_async_script(
        "const done = arguments[0]; axe.run().then((found) => done(found.violations))"
    )
    wrong = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS]
    assert wrong == [], json.dumps(wrong, indent=2)
