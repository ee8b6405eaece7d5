"""One thing changed and the folder sealed anew: found wherever something else follows from it."""

import json
import shutil
from pathlib import Path

import pytest
from every_run import made_once

from closecall import verify_run
from closecall.runs.sealing import seal_run
from closecall.runs.wire import dump_document, dump_line


def read(place, name):
    data = (place / name).read_bytes()
    if name.endswith("ndjson"):
        return [json.loads(line) for line in data.split(b"\n")[:-1]]
    return json.loads(data)


def write(place, name, value):
    data = b"".join(map(dump_line, value)) if isinstance(value, list) else dump_document(value)
    (place / name).write_bytes(data)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Runs by kind, made once."""
    return made_once(tmp_path_factory)


@pytest.fixture
def forged(made, tmp_path):
    """Return the problems of a run of a kind after a change, sealed as if nothing had been."""

    def of(kind, *changes):
        place = Path(shutil.copytree(made(kind), tmp_path / "forged"))
        for name, change in changes:
            value = read(place, name)
            value = change(value) or value
            write(place, name, value)
        (place / "seal.json").unlink()
        seal_run(place)
        found = verify_run(place).problems
        shutil.rmtree(place)
        return found

    return of


def line_where(lines, **wanted):
    return next(one for one in lines if all(one.get(k) == v for k, v in wanted.items()))


RESULTS, SUMMARY, GATES, RUN = "results.ndjson", "summary.json", "gates.ndjson", "run.json"
CASES = "ext/closecall/cases.ndjson"


def failed_to_passed(lines):
    line = line_where(lines, state="failed")
    line["state"] = "passed"
    line.pop("severity")


def counted_anew(place_lines, summary):
    """A summary that adds up to forged lines, as a careful forger would write it."""
    from closecall.runs.tally import Tally

    for entry in summary["lanes"][0]["metrics"]:
        kind = "rate" if entry["metric"] == "pass-rate" else "score"
        tally = Tally(entry["metric"], kind, entry["path"])
        for line in place_lines:
            tally.add(line)
        entry.update(tally.entry())


def test_sealing_anew_without_a_change_is_no_problem(forged):
    assert forged("plain") == ()


def test_a_verdict_alone_and_with_its_counts(forged):
    found = forged("plain", (RESULTS, failed_to_passed))
    assert any("state should be failed" in problem for problem in found)
    assert any("summary.json" in problem and "pass-rate" in problem for problem in found)
    kept = []

    def forge(lines):
        failed_to_passed(lines)
        kept.extend(lines)

    found = forged(
        "plain", (RESULTS, forge), (SUMMARY, lambda summary: counted_anew(kept, summary))
    )
    assert len(found) == 1
    assert "results.ndjson" in found[0]
    assert "state should be failed" in found[0]


def scored(value, *, similarity=None):
    def change(lines):
        line = line_where(lines, state="failed", path="embed_answer_similarity")
        line["scores"][0] |= {"value": value, "normalized": round(value / 100, 6)}
        line["ext"]["closecall"]["score"] = value
        if similarity is not None:
            line["ext"]["closecall"]["similarity"] = similarity

    return change


def test_a_score_that_turns_the_verdict_and_one_that_does_not(forged):
    found = forged("plain", (RESULTS, scored(99.0)))
    assert any("state should be passed, is failed" in problem for problem in found)
    found = forged("plain", (RESULTS, scored(1.0)))
    assert any("embed_answer_similarity at embed_answer_similarity: sum" in one for one in found)
    halved = forged("plain", (RESULTS, lambda lines: lines[0]["scores"][0].update(value=0.123)))
    assert halved


def test_a_score_in_one_of_the_places_it_stands(forged):
    def value(lines):
        line_where(lines, path="embed_answer_similarity", state="passed")["scores"][0][
            "normalized"
        ] = 0.5

    assert any("normalized should be" in one for one in forged("plain", (RESULTS, value)))

    def own(lines):
        line_where(lines, path="embed_answer_similarity", state="passed")["ext"]["closecall"][
            "score"
        ] = 50.0

    assert any("is not the value" in one for one in forged("plain", (RESULTS, own)))


@pytest.mark.parametrize("name", ["N", "n", "notMeasured", "sum", "value"])
def test_a_count_or_figure_of_the_summary(forged, name):
    def change(summary):
        summary["lanes"][0]["metrics"][0][name] += 1

    assert any(f"{name} should be" in one for one in forged("plain", (SUMMARY, change)))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"verdict": "passed"}, "verdict should be 'scored'"),
        ({"aggregate": "median", "value": 1.0}, "aggregate should be None"),
    ],
)
def test_a_word_of_the_summary_that_changes_what_a_figure_means(forged, change, problem):
    def worded(summary):
        summary["lanes"][0]["metrics"][1].update(change)

    assert any(problem in one for one in forged("plain", (SUMMARY, worded)))


@pytest.mark.parametrize("kind", ["plain", "gated"])
def test_another_name_of_the_producer_hides_nothing(forged, kind):
    """A report is made of the header in our words, whoever is said to have written it."""
    kept = []

    def turned(lines):
        failed_to_passed(lines)
        kept.extend(lines)

    def renamed(run):
        run["producer"]["name"] = "another"

    found = forged(
        kind, (RESULTS, turned), (SUMMARY, lambda s: counted_anew(kept, s)), (RUN, renamed)
    )
    assert any("state should be failed" in one for one in found)
    assert any("producer.name" in one for one in found)


def test_an_entry_of_the_summary_that_is_left_out(forged):
    def change(summary):
        del summary["lanes"][0]["metrics"][1]

    assert any("lacks pass-rate" in one for one in forged("plain", (SUMMARY, change)))


def test_an_absence_made_a_pass_and_a_case_left_out(forged):
    def absent(lines):
        line = line_where(lines, state="not_measured")
        line["state"] = "passed"
        del line["reason"]

    assert forged("plain", (RESULTS, absent))

    def left_out(lines):
        case = lines[-1]["caseId"]
        return [one for one in lines if one["caseId"] != case]

    def texts(lines):
        return lines[:-1]

    kept = []

    def forge(lines):
        kept.extend(left_out(lines))
        return list(kept)

    found = forged(
        "plain", (RESULTS, forge), (CASES, texts), (SUMMARY, lambda s: counted_anew(kept, s))
    )
    assert any("says 12 cases, and there are 11" in one for one in found)


def test_a_cutoff_that_was_moved(forged):
    def moved(run):
        run["config"]["closecall"]["metrics"][0]["cutoff"] = 0.01
        run["config"]["thresholds"]["semantic_similarity"]["value"] = 0.01

    found = forged("plain", (RUN, moved))
    assert any("state should be passed, is failed" in one for one in found)
    assert any("verdictRule.threshold" in one for one in found)

    def only_told(run):
        run["config"]["thresholds"]["semantic_similarity"]["value"] = 0.01

    found = forged("plain", (RUN, only_told))
    assert any("config.thresholds" in one for one in found)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("suite.digest", lambda run: run["suite"].update(digest="sha256:" + "0" * 64)),
        ("startedAt", lambda run: run.update(startedAt="2020-01-01T00:00:00Z")),
        ("contentCapture", lambda run: run.update(contentCapture="off")),
        ("execution.targetMode", lambda run: run["execution"].update(targetMode="live")),
        ("config.embeddingModel", lambda run: run["config"].update(embeddingModel="other")),
        ("instrument_digest", lambda run: run["config"]["closecall"]["instrument"].update(model="x")),
    ],
)  # fmt: skip
def test_the_header_in_the_formats_words_and_in_ours(forged, name, change):
    assert any(name in one for one in forged("plain", (RUN, change))), name


def test_a_number_that_no_seal_can_hold_is_told(made, tmp_path):
    place = Path(shutil.copytree(made("plain"), tmp_path / "forged"))
    run = read(place, RUN)
    run["producer"]["version"] = 2**60
    (place / RUN).write_text(json.dumps(run), encoding="utf-8")
    found = verify_run(place).problems
    assert any("seal.json" in one and "beyond 2^53 - 1" in one for one in found)


def test_a_declared_metric(forged):
    def scale(document):
        document["metrics"][0]["direction"] = "lower_better"

    assert any("metrics.json" in one for one in forged("plain", ("metrics.json", scale)))


def test_a_verdict_of_two_cutoffs_and_one_of_a_cascade(forged):
    found = forged("calibrated", (RESULTS, failed_to_passed))
    assert any("state should be failed" in one for one in found)

    def asked_again(lines):
        line = line_where(lines, state="not_applicable")
        other = line_where(lines, path=line["path"], state="passed")
        for name in ("scores", "ext", "verdictRule"):
            line[name] = other[name]
        line["state"] = "passed"
        del line["reason"]

    found = forged("cascaded", (RESULTS, asked_again))
    assert any("this rung was asked after one decided" in one for one in found)


def test_a_guard_that_is_forgotten(forged):
    def forgotten(lines):
        del line_where(lines, state="inconclusive")["ext"]["closecall"]["held"]

    found = forged("guarded", (RESULTS, forgotten))
    assert any("state should be passed, is inconclusive" in one for one in found)


def test_what_several_runs_of_a_case_come_to(forged):
    def whole(lines):
        line = next(one for one in lines if "trials" in one and one["state"] == "failed")
        line["state"] = "passed"

    assert any("over all its runs" in one for one in forged("repeated", (RESULTS, whole)))

    def mean(lines):
        line = next(one for one in lines if "trials" in one and "scores" in one)
        line["scores"][0]["value"] += 0.5

    assert any("value over all its runs" in one for one in forged("repeated", (RESULTS, mean)))

    def agree(summary):
        summary["ext"]["closecall"]["repeats"][0]["agreeing"] += 1

    assert any("repeats" in one for one in forged("repeated", (SUMMARY, agree)))


def gate(lines, at=0):
    return lines[at]["ext"]["closecall"]


def test_a_gates_result(forged):
    def turned(lines):
        failed = next(one for one in lines if one["outcome"] == "no_ship" and "ext" in one)
        failed["outcome"] = "ship"
        failed["ext"]["closecall"]["state"] = "passed"

    found = forged("gated", (GATES, turned))
    assert any(
        "gates.ndjson" in one and "state should be failed, is passed" in one for one in found
    )

    def number(lines):
        gate(lines)["value"] = 0.999

    assert any("value should be" in one for one in forged("gated", (GATES, number)))

    def interval(lines):
        gate(lines, 2)["interval"]["low"] = 0.9

    assert any("interval should be" in one for one in forged("gated", (GATES, interval)))


def test_the_decision_on_the_whole_run(forged):
    def ship(lines):
        lines[-1] |= {"outcome": "ship", "exitCode": 0}

    found = forged("gated", (GATES, ship))
    assert any("exitCode should be 1, is 0" in one for one in found), found

    def word(lines):
        lines[-1]["outcome"] = "ship"

    assert any("outcome" in one for one in forged("gated", (GATES, word)))


def test_a_gate_that_is_left_out_and_one_that_was_not_asked_for(forged, made, tmp_path):
    found = forged("gated", (GATES, lambda lines: lines[1:]))
    assert any("run.json asks for" in one for one in found)
    place = Path(shutil.copytree(made("gated"), tmp_path / "none"))
    (place / GATES).unlink()
    (place / "seal.json").unlink()
    seal_run(place)
    assert any("run.json asks for" in one for one in verify_run(place).problems)


def test_what_only_a_signature_shows(forged):
    """Stated in docs/evidence.md: a value with all that follows from it, and the texts."""
    kept = []

    def value(lines):
        scored(1.0, similarity=0.01)(lines)
        kept.extend(lines)

    assert forged("plain", (RESULTS, value), (SUMMARY, lambda s: counted_anew(kept, s))) == ()
