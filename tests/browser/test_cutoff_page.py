"""The cutoff is dragged in a browser; what stands there is held against Python's own counts."""

import io
import math
import random

import pytest
from labelled_rows import made, rows, unlabelled

from closecall import Case, evaluate
from closecall.calibration.binomial import clopper_pearson
from closecall.calibration.curve import error_curve
from closecall.calibration.figures import percent, plain, span
from closecall.calibration.inputs import round_score
from closecall.calibration.store import save_calibration
from closecall.records import Label, Measured
from closecall.report.html.page import write
from closecall.testing import HashEmbedder

pytestmark = [pytest.mark.browser, pytest.mark.loopback]

KEYS = {
    "left": "\ue012",
    "right": "\ue014",
    "home": "\ue011",
    "end": "\ue010",
    "page_up": "\ue00e",
}


def saved(run, path):
    out = io.StringIO()
    write(run, out)
    path.write_text(out.getvalue(), encoding="utf-8")
    return path


def graded(case: Case) -> float:
    """The score stands in the case."""
    return float(case.metadata["grade"])


def graded_cases(n, seed=0, *, labels=True):
    """Scores of two decimals, so that many tie; accepts score higher."""
    draw = random.Random(seed)
    found = []
    for at in range(n):
        good = draw.random() < 0.6
        score = min(max(round(draw.gauss(0.7 if good else 0.45, 0.15), 2), 0.0), 1.0)
        label = ("accept" if good else "reject") if labels and at % 7 else None
        found.append(Case(id=f"case {at}/ü", response="x", label=label, metadata={"grade": score}))
    return found


@pytest.fixture(scope="module")
def run():
    from closecall.metrics.function import FunctionMetric

    metric = FunctionMetric(graded, cutoff=0.555)
    return evaluate(graded_cases(400), [metric], HashEmbedder(), cache=False, name="graded")


@pytest.fixture(scope="module")
def report(run, tmp_path_factory):
    return saved(run, tmp_path_factory.mktemp("report") / "report.html")


def labelled_of(run):
    good, bad, all_ = [], [], []
    for row in run:
        found = row.results[0].measurement
        if isinstance(found, Measured):
            all_.append(found.value)
            if row.case.label is not None:
                (good if row.case.label is Label.ACCEPT else bad).append(found.value)
    return good, bad, all_


def shown(page, article="#cutoff-0"):
    """The panel's figures: what each line says of k of n, and of the share."""
    return page.run(
        """return Object.fromEntries([...document.querySelectorAll(arguments[0] + ' .cutoff-figures tr')]
        .map((row) => [row.querySelector('th').textContent, row.querySelector('td').textContent]))""",
        article,
    )


def settled(page):
    """Wait for the next frame, in which the panel is drawn."""
    page.driver.execute_async_script(
        "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
    )


def typed(field, text):
    """Type over what stands in a field, and Enter."""
    field.send_keys("\ue009a\ue000", f"{text}\n")


def told(k, n):
    ends = clopper_pearson(k, n)
    return f"{k:,} of {n:,}{percent(k / n, n)} (95% interval {span(ends, n)})"


def expected(run, cutoff):
    good, bad, all_ = labelled_of(run)
    accepted = sum(value >= cutoff for value in all_)
    wrong, missed = sum(v >= cutoff for v in bad), sum(v < cutoff for v in good)
    kept = len(good) - missed
    return {
        "False accepts, of rejects": told(wrong, len(bad)),
        "False rejects, of accepts": told(missed, len(good)),
        "Wrong, of the labelled that are accepted": told(wrong, wrong + kept)
        if wrong + kept
        else "none labelled",
        "Accepted, of all measured in this run": told(accepted, len(all_)),
    }


def levels_of(run):
    good, bad, _ = labelled_of(run)
    return sorted({*good, *bad})


def slider(page, side="accept", article="#cutoff-0"):
    return page.one(f"{article} .cutoff-handle.is-{side}")


def test_the_intervals_are_those_of_scipy(page, report):
    from scipy import special, stats

    page.open(report, "#cutoff")
    pairs = [(k, n) for n in (1, 2, 7, 100, 999, 2467, 100_000) for k in {0, 1, n // 3, n - 1, n}]
    pairs = [(k, n) for k, n in pairs if 0 <= k <= n]
    found = page.run("return arguments[0].map(([k, n]) => CC.shares.clopperPearson(k, n))", pairs)
    for (k, n), (low, high) in zip(pairs, found, strict=True):
        exact = stats.binomtest(k, n).proportion_ci(0.95, "exact")
        assert low == pytest.approx(exact.low, rel=1e-9, abs=1e-12), (k, n)
        assert high == pytest.approx(exact.high, rel=1e-9, abs=1e-12), (k, n)
    args = [(0.5, 0.5, 0.3), (3, 90, 0.01), (2000, 500, 0.81), (1e5, 3, 0.9999)]
    found = page.run("return arguments[0].map(([a, b, x]) => CC.shares.betaInc(a, b, x))", args)
    assert found == pytest.approx([special.betainc(*one) for one in args], rel=1e-9)


def test_percentages_read_as_in_every_other_report(page, report):
    page.open(report, "#cutoff")
    draw = random.Random(5)
    pairs = [
        (k, n)
        for n in (1, 8, 16, 40, 118, 999, 1000, 9060)
        for k in {0, 1, n // 3, n // 2, n - 1, n}
    ]
    pairs += [(draw.randrange(n + 1), n) for n in (7, 64, 400, 5000, 80_000) for _ in range(60)]
    found = page.run("return arguments[0].map(([k, n]) => CC.shares.percent(k / n, n))", pairs)
    assert found == [percent(k / n, n) for k, n in pairs]


def test_scores_are_rounded_as_a_calibration_rounds_them(page, report):
    page.open(report, "#cutoff")
    draw = random.Random(3)
    values = [draw.uniform(-1, 1) for _ in range(300)] + [
        0.5,
        0.0000005,
        1.0000025,
        -0.0000015,
        -0.0,
    ]
    found = page.run("return arguments[0].map((v) => CC.cutoff.rounded(v, 6))", values)
    assert found == [round_score(value, 6) for value in values]


def test_it_begins_at_the_issued_cutoff(page, run, report):
    page.open(report, "#cutoff")
    assert slider(page).get_attribute("aria-valuetext") == "0.555"
    assert shown(page) == expected(run, 0.555)
    assert "This is the issued cutoff" in page.text("#cutoff-0 .cutoff-where")
    assert page.text("#cutoff-0 details[data-list=changed] summary").endswith(": 0")


def test_keys_step_over_the_observed_scores_and_every_count_is_right(page, run, report):
    page.open(report, "#cutoff")
    levels, handle = levels_of(run), slider(page)
    handle.send_keys(KEYS["home"])
    settled(page)
    assert handle.get_attribute("aria-valuenow") == plain(levels[0])
    for level in levels:
        assert handle.get_attribute("aria-valuetext") in {plain(level), "0.555"}
        at = level if handle.get_attribute("aria-valuetext") == plain(level) else 0.555
        assert shown(page) == expected(run, at)
        handle.send_keys(KEYS["right"])
        settled(page)
    assert handle.get_attribute("aria-valuetext") == "accepts nobody"
    assert shown(page) == expected(run, math.inf)
    handle.send_keys(KEYS["right"])
    settled(page)
    assert handle.get_attribute("aria-valuetext") == "accepts nobody"
    handle.send_keys(KEYS["left"])
    settled(page)
    assert handle.get_attribute("aria-valuetext") == plain(levels[-1])
    handle.send_keys(KEYS["page_up"], KEYS["end"])
    settled(page)
    assert handle.get_attribute("aria-valuetext") == "accepts nobody"


def test_the_mouse_drags_it_to_the_nearest_observed_score(page, run, report):
    from selenium.webdriver import ActionChains

    page.open(report, "#cutoff")
    before = float(slider(page).get_attribute("aria-valuenow"))
    grip = page.one("#cutoff-0 .cutoff-handle .grip")
    ActionChains(page.driver, duration=20).click_and_hold(grip).move_by_offset(
        -90, 0
    ).release().perform()
    settled(page)
    after = float(slider(page).get_attribute("aria-valuenow"))
    assert after < before
    assert after in levels_of(run)
    assert shown(page) == expected(run, after)
    # The handle stands where the score lies on the axis of the picture.
    off = page.run(
        """const svg = document.querySelector('#cutoff-0 .cutoff-drag svg'), d = svg.dataset;
        const seen = svg.getBoundingClientRect(), grip = document.querySelector('.cutoff-handle').getBoundingClientRect();
        const x = Number(d.left) + Number(d.width) * (arguments[0] - Number(d.low)) / (Number(d.high) - Number(d.low));
        return Math.abs(seen.left + x / svg.viewBox.baseVal.width * seen.width - (grip.left + grip.width / 2));""",
        after,
    )
    assert off < 1.5


def test_a_finger_drags_it_too(page, run, report):
    page.open(report, "#cutoff")
    spot = page.run(
        "const b = document.querySelector('#cutoff-0 .grip').getBoundingClientRect(); return [b.left + 12, b.top + 15]"
    )
    touch = page.driver.execute_cdp_cmd
    touch(
        "Input.dispatchTouchEvent",
        {"type": "touchStart", "touchPoints": [{"x": spot[0], "y": spot[1]}]},
    )
    for step in range(1, 6):
        touch(
            "Input.dispatchTouchEvent",
            {"type": "touchMove", "touchPoints": [{"x": spot[0] + 15 * step, "y": spot[1]}]},
        )
    touch("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    settled(page)
    after = float(slider(page).get_attribute("aria-valuenow"))
    assert after > 0.6
    assert shown(page) == expected(run, after)


def test_a_typed_number_goes_to_the_score_that_decides_alike(page, run, report):
    page.open(report, "#cutoff")
    field = page.one("#cutoff-0-accept-value")
    typed(field, "0.7049")
    settled(page)
    levels = levels_of(run)
    above = next(level for level in levels if level >= 0.7049)
    assert field.get_attribute("value") == plain(above)
    assert shown(page) == expected(run, above)
    typed(field, "nonsense")
    settled(page)
    assert field.get_attribute("value") == plain(above)
    page.one("#cutoff-0 .cutoff-fields button").click()
    settled(page)
    assert field.get_attribute("value") == "0.555"


def test_the_cases_whose_verdict_changes_are_listed_with_links(page, run, report):
    page.open(report, "#cutoff")
    field = page.one("#cutoff-0-accept-value")
    typed(field, "0.65")
    settled(page)
    want = sorted(
        (-row.results[0].measurement.value, at)
        for at, row in enumerate(run)
        if 0.555 <= row.results[0].measurement.value < 0.65
    )
    ids = [row.case.id for row in run]
    assert page.text("#cutoff-0 details[data-list=changed] summary").endswith(f": {len(want)}")
    page.one("#cutoff-0 details[data-list=changed] summary").click()
    page.wait("return document.querySelector('#cutoff-0 details[data-list=changed] tbody')")
    got = page.run(
        "return [...document.querySelectorAll('#cutoff-0 details[data-list=changed] tbody tr')].map((r) => [r.cells[0].textContent, r.cells[3].textContent])"
    )
    assert got == [[ids[at], "accept → reject"] for _, at in want[:25]]
    link = page.one("#cutoff-0 details[data-list=changed] tbody a")
    href = link.get_attribute("href")
    asked = page.run("return new URLSearchParams(arguments[0].split('?')[1]).get('case')", href)
    assert asked == ids[want[0][1]]
    if len(want) > 25:
        page.one("#cutoff-0 details[data-list=changed] button").click()
        settled(page)
        assert len(page.all("#cutoff-0 details[data-list=changed] tbody tr")) == min(
            len(want), 125
        )


def test_false_accepts_and_false_rejects_are_listed_worst_first(page, run, report):
    page.open(report, "#cutoff")
    for name, label, sign in (("wrong", Label.REJECT, -1), ("missed", Label.ACCEPT, 1)):
        page.one(f"#cutoff-0 details[data-list={name}] summary").click()
        page.wait(f"return document.querySelector('#cutoff-0 details[data-list={name}] tbody')")
        got = page.run(
            f"return [...document.querySelectorAll('#cutoff-0 details[data-list={name}] tbody tr')].map((r) => Number(r.cells[1].textContent))"
        )
        scores = [r.results[0].measurement.value for r in run if r.case.label is label]
        wrong = sorted((s for s in scores if (s >= 0.555) == (sign < 0)), key=lambda s: sign * s)
        assert got == wrong[:25]


def test_a_label_changed_in_the_page_counts_at_once(page, run, report):
    page.open(report, "#cutoff")
    before = shown(page)
    wrong = next(
        at
        for at, row in enumerate(run)
        if row.case.label is Label.REJECT and row.results[0].measurement.value >= 0.555
    )
    page.run("CC.labels.give(arguments[0], 'accept'); CC.go('cases')", wrong)
    page.wait("return CC.shown === 'cases'")
    page.run("CC.go('cutoff')")
    page.wait("return CC.shown === 'cutoff'")
    settled(page)
    good, bad, _ = labelled_of(run)
    found = shown(page)
    k = int(before["False accepts, of rejects"].split(" of ")[0])
    assert found["False accepts, of rejects"] == told(k - 1, len(bad) - 1)
    assert f" of {len(good) + 1}" in found["False rejects, of accepts"]
    page.run("CC.labels.back()")


def test_without_scripts_the_pictures_and_a_table_of_cutoffs_stand(page, run, report):
    page.without_scripts(report, "#cutoff")
    assert len(page.all("#cutoff-0 svg.cc-chart")) == 6
    good, bad, _ = labelled_of(run)
    curve = error_curve(good + bad, [True] * len(good) + [False] * len(bad), decimals=None)
    lines = page.all("#cutoff-0 table tbody tr")
    assert 15 <= len(lines) <= 22
    issued = 0
    for line in lines:
        cells = [cell.text for cell in line.find_elements("css selector", "th, td")]
        value = float(cells[0].split()[0])
        issued += "issued" in cells[0]
        counts = curve.counts(curve.row(value))
        assert cells[1] == f"{counts.false_accepts:,} of {counts.rejects:,}"
        assert cells[3] == f"{counts.false_rejects:,} of {counts.accepts:,}"
        rate = counts.false_accepts / counts.rejects
        ends = clopper_pearson(counts.false_accepts, counts.rejects)
        assert cells[2] == f"{percent(rate, counts.rejects)} ({span(ends, counts.rejects)})"
    assert issued == 1
    assert not page.one("#cutoff-choice").is_displayed()


def test_ten_thousand_labelled_cases_drag_without_recounting(page, tmp_path):
    """Every step is a few look-ups: the panel shows the last of many moves within a frame."""
    from closecall.metrics.function import FunctionMetric

    big = evaluate(
        graded_many(10_000),
        [FunctionMetric(graded, cutoff=0.5)],
        HashEmbedder(),
        cache=False,
        name="big",
    )
    page.open(saved(big, tmp_path / "big.html"), "#cutoff")
    handle = slider(page)
    steps = page.run(
        """let seen = 0;
        const read = { get(target, key) { if (key !== 'length') seen += 1; return target[key]; } };
        CC.cutoff.atLeast(new Proxy(Array.from({ length: 10000 }, (_, i) => 1 - i / 10000), read), 0.37);
        return seen;"""
    )
    assert steps <= 15
    handle.send_keys(KEYS["home"], *[KEYS["page_up"]] * 9)
    settled(page)
    at = float(handle.get_attribute("aria-valuenow"))
    assert shown(page) == expected(big, at)


def graded_many(n):
    draw = random.Random(1)
    for at in range(n):
        good = draw.random() < 0.6
        yield Case(
            id=f"c{at}",
            response="x",
            label="accept" if good else "reject",
            metadata={"grade": draw.betavariate(5, 2) if good else draw.betavariate(2, 4)},
        )


def test_two_cutoffs_never_cross_and_what_lies_between_is_unsure(page, tmp_path):
    from closecall import Goal

    cases = rows(300, 300, group=None)
    both = made(cases, Goal(max_far=0.05, max_frr=0.1, confidence=0.9), lock=False)
    save_calibration(both, tmp_path / "two.json")
    run = evaluate(
        cases,
        both.metric.id,
        HashEmbedder(),
        cache=False,
        calibration=tmp_path / "two.json",
        name="two",
    )
    plan = run.header.metrics[0]
    assert plan.calibration.reject is not None
    page.open(saved(run, tmp_path / "two.html"), "#cutoff")
    assert slider(page, "accept").get_attribute("aria-valuetext") == plain(plan.calibration.accept)
    assert slider(page, "reject").get_attribute("aria-valuetext") == plain(plan.calibration.reject)
    values = [(round_score(row.results[0].measurement.value), row.case.label) for row in run]
    found = shown(page)
    unsure = sum(plan.calibration.reject <= value < plan.calibration.accept for value, _ in values)
    assert found["Unsure, of all measured in this run"] == told(unsure, len(values))
    missed = sum(
        value < plan.calibration.reject for value, label in values if label is Label.ACCEPT
    )
    assert found["False rejects, of accepts"].startswith(f"{missed} of 300")
    slider(page, "reject").send_keys(KEYS["end"])
    settled(page)
    assert slider(page, "reject").get_attribute("aria-valuetext") == slider(
        page, "accept"
    ).get_attribute("aria-valuetext")
    assert shown(page)["Unsure, of all measured in this run"].startswith("0 of")
    slider(page, "accept").send_keys(KEYS["home"])
    settled(page)
    assert float(slider(page, "accept").get_attribute("aria-valuenow")) == float(
        slider(page, "reject").get_attribute("aria-valuenow")
    )


def test_a_run_without_labels_counts_on_those_of_its_calibration(page, tmp_path):
    cases = rows(120, 120)
    one = made(cases, lock=False)
    save_calibration(one, tmp_path / "cutoff.json")
    run = evaluate(
        unlabelled(rows(40, 40, seed=9)),
        one.metric.id,
        HashEmbedder(),
        cache=False,
        calibration=tmp_path / "cutoff.json",
        name="new answers",
    )
    page.open(saved(run, tmp_path / "new.html"), "#cutoff")
    counts = one.accept_cutoff.counts
    found = shown(page)
    assert found["False accepts, of rejects"] == told(counts.false_accepts, counts.rejects)
    assert found["False rejects, of accepts"] == told(counts.false_rejects, counts.accepts)
    accepted = sum(row.results[0].measurement.value >= one.accept_cutoff.value for row in run)
    assert found["Accepted, of all measured in this run"] == told(accepted, 80)
    assert not page.all("#cutoff-0 details[data-list=wrong]")
    slider(page).send_keys(KEYS["home"])
    settled(page)
    assert page.text("#cutoff-0 details[data-list=changed] summary").endswith(f": {80 - accepted}")


def test_a_run_without_any_labels_says_what_to_type(page, tmp_path):
    from closecall.metrics.function import FunctionMetric

    run = evaluate(
        graded_cases(30, labels=False),
        [FunctionMetric(graded, cutoff=0.5)],
        HashEmbedder(),
        cache=False,
        name="none",
    )
    page.open(saved(run, tmp_path / "none.html"), "#cutoff")
    said = page.one("#cutoff-0").text
    assert "closecall label" in said
    assert "closecall plan" in said
    assert "no error of any cutoff is known" in said
    assert list(shown(page)) == ["Accepted, of all measured in this run"]


def test_each_metric_has_its_own_view(page, tmp_path):
    from closecall.metrics.function import FunctionMetric

    def doubled(case: Case) -> float:
        return 2 * float(case.metadata["grade"])

    run = evaluate(
        graded_cases(60),
        [FunctionMetric(graded, cutoff=0.5), FunctionMetric(doubled, cutoff=1.2)],
        HashEmbedder(),
        cache=False,
        name="two metrics",
    )
    page.open(saved(run, tmp_path / "metrics.html"), "#cutoff")
    assert page.one("#cutoff-0").is_displayed()
    assert not page.one("#cutoff-1").is_displayed()
    page.one("#cutoff-metric").send_keys("doubled")
    page.wait(
        "return !document.getElementById('cutoff-1').hidden && document.querySelector('#cutoff-1 .cutoff-handle')"
    )
    assert not page.one("#cutoff-0").is_displayed()
    assert slider(page, article="#cutoff-1").get_attribute("aria-valuetext") == "1.2"


def test_nothing_is_asked_of_any_network_and_the_console_is_silent(page, report):
    page.open(report, "#cutoff")
    slider(page).send_keys(KEYS["left"], KEYS["home"])
    page.run("document.documentElement.dataset.theme = 'dark'")
    settled(page)
    assert page.console() == []
    assert page.requests() == []


def stands_at(page, words):
    page.wait(
        "return document.querySelector('#cutoff-0 .cutoff-handle').getAttribute('aria-valuetext') === arguments[0]",
        words,
    )


def test_an_address_leads_to_the_same_cutoff(page, run, report):
    page.open(report, "#cutoff?at=0.7")
    stands_at(page, "0.7")
    slider(page).send_keys(KEYS["right"])
    page.wait("return location.hash.includes('at=0.71')")
    assert shown(page) == expected(run, 0.71)
    page.go("#cases")
    page.go("#cutoff?at=none")
    stands_at(page, "accepts nobody")


def test_verdicts_that_change_are_counted_once_where_both_cutoffs_move(page, report):
    page.open(report, "#cutoff")
    draw = random.Random(8)
    values = sorted((draw.randrange(30) / 30 for _ in range(80)), reverse=True)
    rules = []
    for _ in range(200):
        pairs = [sorted(draw.sample(range(31), 2)) for _ in range(2)]
        rules.append([{"reject": low / 30, "accept": high / 30} for low, high in pairs])
    found = page.run(
        """const swept = { all: Float64Array.from(arguments[0]) };
        return arguments[1].map(([before, after]) => CC.cutoff.changed(swept, before, after).count)""",
        values,
        rules,
    )

    def verdict(value, rule):
        return (value >= rule["reject"]) + (value >= rule["accept"])

    assert found == [
        sum(verdict(value, before) != verdict(value, after) for value in values)
        for before, after in rules
    ]
