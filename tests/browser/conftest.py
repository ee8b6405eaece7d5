"""One browser for all tests of a process, and a proxy that lets nothing out."""

import os
import shutil
import socket
import sys
import threading
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "runs")]

QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=NetworkTimeServiceQuerying",
    "--metrics-recording-only",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
)


def _found(*names):
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    reason = f"not on this machine: {' or '.join(names)}"
    return pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


@pytest.fixture(scope="session")
def refused():
    """A proxy that closes every connection; what was asked of it, line by line."""
    asked = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                taken, _ = listener.accept()
            except OSError:
                return
            with taken:
                taken.settimeout(2)
                try:
                    asked.append(taken.recv(2000).partition(b"\r")[0].decode("latin-1"))
                except OSError:
                    asked.append("silence")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield asked, listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)


@pytest.fixture(scope="session")
def browser(refused, tmp_path_factory):
    """Chromium, which reaches nothing but what it opens from disk."""
    chromium, chromedriver = _found("chromium", "chromium-browser"), _found("chromedriver")
    webdriver = pytest.importorskip("selenium.webdriver")
    from opened import Opened
    from selenium.webdriver.chrome.service import Service

    asked, port = refused
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in QUIET:
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.add_argument(f"--proxy-server=127.0.0.1:{port}")
    options.add_argument("--proxy-bypass-list=<-loopback>")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    yield Opened(driver, asked)
    driver.quit()


@pytest.fixture(scope="session")
def report_page(tmp_path_factory):
    """The report of three runs of a shop's answers, the last one worse."""
    from made_runs import cases, report, run

    folder = tmp_path_factory.mktemp("report")
    runs = [
        run(
            folder / f"run-{at}",
            cases(wrong),
            name=f"shop {at}",
            subject="bot",
            subject_version=str(at),
        )
        for at, wrong in enumerate((4, 2, 30))
    ]
    return report(folder / "report.html", *runs)


@pytest.fixture(scope="session")
def small_page(tmp_path_factory):
    """The same of fewer cases, for what looks at every element."""
    from made_runs import cases, report, run

    folder = tmp_path_factory.mktemp("small")
    runs = [
        run(folder / f"run-{at}", cases(wrong, 24), name=f"shop {at}")
        for at, wrong in enumerate((1, 8))
    ]
    return report(folder / "small.html", *runs)


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory):
    """The report of two runs whose every text means no good."""
    from made_runs import PAYLOADS, hostile_cases, report, run

    folder = tmp_path_factory.mktemp("hostile")
    before = [{**case, "response": "nothing"} for case in hostile_cases()]
    runs = [
        run(folder / f"run-{at}", rows, name=f"{PAYLOADS[1]} {at}", subject=PAYLOADS[3])
        for at, rows in enumerate((before, hostile_cases()))
    ]
    return report(folder / "hostile.html", *runs)


@pytest.fixture(scope="session")
def axe():
    """The script of axe-core, as the package of its name carries it."""
    import axe_core_python

    return (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def page(browser):
    """The browser, to open reports in; whatever a test does, no error and no request comes of it."""
    browser.driver.get_log("performance")
    browser.console()
    browser.refused.clear()
    yield browser
    errors, asked = browser.console(), browser.requests()
    browser.run("try { localStorage.clear() } catch { /* a page without any */ }")
    browser.command("Emulation.setScriptExecutionDisabled", value=False)
    assert (errors, asked) == ([], [])


@pytest.fixture
def shop(page, report_page):
    """The report of the shop's answers, open."""
    return page.open(report_page)
