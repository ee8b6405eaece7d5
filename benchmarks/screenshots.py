"""Pictures of the HTML report for the README, made from the packaged demo by Chromium.

Run it where Chromium and its driver are: ``python benchmarks/screenshots.py``. The cutoffs are
calibrated on the demo's own labels, so its error rates say nothing of anybody's answers.
"""

import argparse
import base64
import shutil
import sys
import tempfile
import time
from importlib.resources import as_file, files
from pathlib import Path

from closecall import Goal, calibrate, evaluate
from closecall.calibration.store import save_calibration
from closecall.datasets import open_dataset
from closecall.report.formats import save_report

WIDTH, HEIGHT = 1280, 900
MOST_BYTES = 250_000
CHROMIUM = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)
METRIC = "answer_alignment"
GOAL = Goal(max_far=0.2, max_frr=0.3)

PICTURES = {
    "report-overview": "#overview",
    "report-cases": "#cases?slice=tag%3A+wrong-number&case=demo-012",
    "report-cutoff": "#cutoff",
}
"""Name of each picture to the place of the report that it shows."""


def report(folder):
    with as_file(files("closecall").joinpath("data", "demo.jsonl")) as demo:
        # Read first, so that no path of this machine stands in the pictures.
        cases = list(open_dataset(demo))
    save_calibration(calibrate(cases, METRIC, goal=GOAL), folder / "cutoffs.json")
    made = folder / "cutoffs.json"
    run = evaluate(cases, METRIC, calibration=made, name="demo", cache=False)
    save_report(run, folder / "report.html")
    return folder / "report.html"


def pictures(page, profile):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or sys.exit("chromium is not installed")
    for argument in CHROMIUM:
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={profile}")
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        light = {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", light)
        for name, place in PICTURES.items():
            driver.get("about:blank")
            driver.get(f"{page.as_uri()}{place}")
            while driver.execute_script("return document.documentElement.dataset.ready") != "yes":
                time.sleep(0.05)
            time.sleep(1)
            shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
            yield name, base64.b64decode(shot["data"])
    finally:
        driver.quit()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "docs")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = report(Path(folder))
        for name, picture in pictures(page, Path(folder) / "profile"):
            if len(picture) > MOST_BYTES:
                sys.exit(f"{name}: {len(picture):,} bytes, more than {MOST_BYTES:,}")
            (out / f"{name}.png").write_bytes(picture)
            print(f"{out / name}.png  {len(picture):,} bytes")


if __name__ == "__main__":
    main()
