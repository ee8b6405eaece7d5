"""A report opened in a browser, and what a person or a program can do with it there."""

import json
import re
import time

from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By

WAIT = 60.0
"""Seconds to wait at most for what happens by itself; nothing waits that long on an idle machine."""

SETTLED = """
    const chosen = document.querySelector('.case-row[aria-selected=true] .id');
    const title = document.querySelector('#case-title');
    if (CC.shown === 'cases' && chosen && chosen.textContent !== title?.textContent) return false;
    const fitted = 'article:not([hidden]) [data-basis=fitted] .cutoff-panel';
    return CC.shown !== 'cutoff' || !document.querySelector(`${fitted}:empty`);"""
"""Whether the case, or the calibration's labels, that have to be unpacked first are shown."""

LOCAL = ("file:", "blob:", "about:", "data:", "chrome:")


class Opened:
    """The page: its driver with the few ways in that tests need."""

    def __init__(self, driver, refused):
        self.driver = driver
        self.refused = refused
        self.named = ""

    # ---- open, and look ----

    def open(self, path, at="", *, width=1280, height=900, dark=False, scripts=True):
        """Open a file anew, with a memory of its own, and wait until it is ready."""
        self.command("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.media(dark=dark)
        self.command("Emulation.setFocusEmulationEnabled", enabled=True)
        self.named = path.read_text(encoding="utf-8")
        self.driver.get("about:blank")
        self.driver.get(f"{path.as_uri()}{at}")
        if scripts:
            self.until(lambda: self.run("return document.documentElement.dataset.ready") == "yes")
            self.wait(SETTLED)
        return self

    def media(self, *, dark=False, kind=""):
        features = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce",  # no colour is seen on its way to another
        }
        self.command(
            "Emulation.setEmulatedMedia",
            media=kind,
            features=[{"name": name, "value": value} for name, value in features.items()],
        )

    def go(self, at):
        """Go to a place of the page, such as ``#cases?q=bike``, and wait until it is shown."""
        self.run("location.hash = arguments[0]", at)
        section = at.lstrip("#").partition("?")[0]
        self.until(lambda: self.shown == section)
        self.run("return new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60)))")
        self.wait(SETTLED)
        return self

    @property
    def shown(self):
        return self.run("return CC.shown")

    def until(self, holds):
        """Wait for a condition; its last value comes back."""
        end = time.monotonic() + WAIT
        while True:
            found = holds()
            if found or time.monotonic() > end:
                assert found, self.console()
                return found
            time.sleep(0.02)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, *arguments):
        """Wait until a script returns something true."""
        return self.until(lambda: self.run(script, *arguments))

    def without_scripts(self, path, at=""):
        return self.open(path, at, scripts=False)

    def downloaded(self, folder, click):
        """Click on what downloads a file of JSON lines into an empty folder, and return that file.

        The browser makes the file before it moves what it fetched there, so an empty one is not
        yet the download.
        """
        self.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        self.one(click).click()
        return self.until(
            lambda: next((one for one in folder.glob("*.jsonl") if one.stat().st_size), None)
        )

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def one(self, css):
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def text(self, css="main"):
        """Return what can be seen of an element, as text."""
        return self.run("return document.querySelector(arguments[0]).innerText", css)

    def keys(self, *keys):
        ActionChains(self.driver, duration=0).send_keys(*keys).perform()

    def tab(self):
        self.keys(Keys.TAB)

    # ---- what must never be ----

    def console(self):
        """Return the errors and warnings of the console since they were last asked for."""
        return [
            f"{one['level']}: {one['message'][:500]}"
            for one in self.driver.get_log("browser")
            if one["level"] in {"SEVERE", "WARNING"}
        ]

    def addresses(self):
        """Return every address that the page asked for since it was last asked."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        found += self.run("return performance.getEntriesByType('resource').map((one) => one.name)")
        return found

    def requests(self):
        """Return what the page asked of any machine, and what of it reached the proxy.

        Chromium itself knocks here and there (updates, the clock), whatever page is open; a page
        can only ask a machine that it names.
        """
        asked = [one for one in self.addresses() if not one.startswith(LOCAL)]
        for line in self.refused:
            host = re.split(r"[/:]", f"{line} ".split(" ")[1].removeprefix("http://"))[0]
            if host.endswith(".invalid") or (host and host in self.named):
                asked.append(line)
        return asked

    def wider(self):
        """Return by how many pixels the page is wider than the window; 0 is right."""
        return self.run(
            "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
        )

    def sticking_out(self):
        """Return what reaches over the right edge without a box around it that scrolls."""
        return self.run("""
            const wide = document.documentElement.clientWidth + 1;
            const held = (node) => {
              for (let up = node; up && up !== document.body; up = up.parentElement) {
                const overflow = getComputedStyle(up).overflowX;
                if (overflow !== 'visible') return true;
              }
              return false;
            };
            return [...document.querySelectorAll('main *, header *')]
              .filter((one) => one.getBoundingClientRect().right > wide && !held(one.parentElement))
              .slice(0, 5).map((one) => `${one.tagName}.${one.className}#${one.id}`)""")

    def violations(self, axe, section, only=None):
        """Return what axe-core finds serious or critical in a section and the bar above it."""
        self.driver.set_script_timeout(WAIT)
        if not self.run("return typeof axe === 'object'"):
            self.run(axe)
        found = self.driver.execute_async_script(
            """
            const [section, only, done] = arguments;
            const options = { resultTypes: ['violations'], ...(only && { runOnly: only }) };
            axe.run({ include: [[section], ['header.bar']] }, options)
              .then((found) => done(found.violations), (error) => done(String(error)));""",
            section,
            only,
        )
        assert isinstance(found, list), found
        return [
            f"{one['id']} ({one['impact']}): "
            + "; ".join(f"{node['target']} {node['failureSummary']}" for node in one["nodes"][:3])
            for one in found
            if one["impact"] in {"serious", "critical"}
        ]
