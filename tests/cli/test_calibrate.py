"""``closecall calibrate``: every option, what is written, and what is never overwritten."""

import functools
import json
import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))
from labelled_rows import one, rows, unlabelled

from closecall import load_calibration, save_calibration
from closecall.calibration.drift.canary_record import record_canaries
from closecall.calibration.records import Optimum, TwoCutoffs

OUT, BACKUP = Path("cutoff.json"), Path("cutoff.json.bak")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """One cache for all, so that each text is embedded once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _canaries_once(monkeypatch):
    """One embedder for all has one record."""
    monkeypatch.setattr("closecall.runs.calibrate.record_canaries", RECORDS)


RECORDS = functools.cache(record_canaries)


@pytest.fixture
def calibrate(cli, write, cache):
    """Run the command on these cases, by default those that a cutoff for 10% comes from."""

    def call(*args, cases=None, path=None):
        path = path or write(*(rows() if cases is None else cases))
        goal = () if {"--max-far", "--max-frr", "--cost-fa", "--objective"} & {*args} else (
            "--max-far", "0.1",
        )  # fmt: skip
        return cli("calibrate", path, *goal, *args, "--cache-dir", cache)

    return call


def test_it_says_the_promise_its_evidence_and_what_it_costs(calibrate):
    said = calibrate("-o", OUT)
    assert said.code == 0
    found = load_calibration(OUT)
    lines = said.out.splitlines()
    assert lines[0].startswith(
        f"Cutoff {found.accept_cutoff.value:.10g} on embed_answer_similarity("
    )
    assert "chosen from 120 labels (60 rejects, 60 accepts)" in lines[0]
    assert lines[1] == "Guarantee: at most 10% of wrong answers are accepted."
    assert lines[2].startswith("Price: ")
    assert lines[3].startswith("Biggest worry: ")
    assert max(map(len, lines[1:])) < 100
    assert "Of 60 wrong answers" in said.out
    assert "use it with: closecall eval ANSWERS --calibration cutoff.json" in said.err
    assert found.embedder == "minilm"


def test_without_o_nothing_is_written_and_it_says_so(calibrate):
    before = set(Path().iterdir())
    said = calibrate()
    assert said.code == 0
    assert "not saved; keep it with -o FILE.json" in said.err
    assert {path.name for path in set(Path().iterdir()) - before} == {"cases.jsonl"}


def test_the_default_goal(cli, write, cache):
    said = cli("calibrate", write(*rows()), "--cache-dir", cache, "--format", "json")
    assert said.code == 0
    assert (said.json["goal"]["max_far"], said.json["goal"]["confidence"]) == (0.05, 0.95)


@pytest.mark.parametrize(
    ("args", "goal"),
    [
        (("--max-frr", "0.2"), {"max_far": None, "max_frr": 0.2}),
        (
            ("--max-far", "0.1", "--max-frr", "0.2", "--two-cutoffs"),
            {"max_far": 0.1, "max_frr": 0.2},
        ),
        (
            ("--cost-fa", "5", "--cost-fr", "1", "--base-rate", "0.8"),
            {"costs": {"false_accept": 5.0, "false_reject": 1.0, "base_rate": 0.8}},
        ),
        (("--objective", "youden"), {"objective": "youden"}),
        (("--guarantee", "average"), {"guarantee": "average"}),
        (("--confidence", "0.9", "--looks", "2", "--seed", "3"), {"looks": 2, "seed": 3}),
    ],
    ids=["frr", "two", "costs", "objective", "average", "looks"],
)
def test_goals_reach_the_file(args, goal, calibrate):
    said = calibrate(*args, "-o", OUT)
    assert said.code == 0, said.out
    written = json.loads(OUT.read_bytes())["goal"]
    assert {name: written[name] for name in goal} == goal
    found = load_calibration(OUT)
    assert isinstance(found.rule, TwoCutoffs) == ("--two-cutoffs" in args)
    promised = not isinstance(found.accept_cutoff.evidence, Optimum)
    assert ("Guarantee" in said.out and "No guarantee" not in said.out) == promised


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--cost-fa", "5"), "give both --cost-fa and --cost-fr"),
        (("--max-far", "0.1", "--base-rate", "0.5"), "--base-rate goes with"),
        (("--max-far", "0.1", "--max-frr", "0.2"), "add --two-cutoffs to keep both"),
        (("--max-far", "0.1", "--two-cutoffs"), "keeps both promises: add --max-frr RATE"),
        (("--two-cutoffs",), "add --max-far RATE and --max-frr RATE"),
        (("--max-far", "0.1", "--objective", "f1"), "choose one goal"),
        (("--max-frr", "0.1", "--cost-fa", "1", "--cost-fr", "1"), "choose one goal"),
        (("--objective", "f1", "--guarantee", "average"), "--guarantee is for --max-far"),
        (("--max-far", "0"), "0.0 is not in the range"),
        (("--max-far", "5"), "is not in the range 0<x<1; for 5% type 0.05"),
        (("--max-frr", "2.5%"), "for 2.5% type 0.025"),
        (("--guarantee", "approximate"), "name with --group FIELD what rows have in common"),
        (("--max-far", "nan"), "nan"),
        (("--max-far", "0.1", "--confidence", "nan"), "nan"),
        (("--cost-fa", "0", "--cost-fr", "1"), "finite cost above 0"),
        (("--looks", "0"), "0 is not in the range"),
        (("--slice", "team"), "no case has 'team' to slice by; fields seen: id, input, response"),
        (("--group", "team"), "no 'team' to group by; this case has: group, input"),
        (("--no-content", "--slice", "response"), "response are texts of cases"),
        (("--refresh", "cutoff.json"), "give a FILE of labelled cases, or --refresh"),
        (("--cache-dir", "x", "--no-cache"), "--cache-dir and --no-cache exclude each other"),
        (("-o", "-"), "-o -: name a file"),
        (("-o", "cases.jsonl"), "that is the file of cases; it would be lost"),
    ],
)
def test_wrong_options_exit_with_2_and_write_nothing(args, said, cli, write):
    path = write(*rows(12, 12))
    before = path.read_bytes()
    found = cli("calibrate", path, *args)
    assert found.code == 2, found
    assert said in " ".join(found.err.split())
    assert path.read_bytes() == before
    assert {path.name for path in Path().iterdir()} <= {"cases.jsonl", "x"}


def test_a_file_that_is_no_calibration_is_not_overwritten(calibrate):
    OUT.write_text('{"mine": 1}', encoding="utf-8")
    said = calibrate("-o", OUT)
    assert said.code == 2
    assert "is no calibration of this version" in said.err
    assert OUT.read_text(encoding="utf-8") == '{"mine": 1}'


def test_a_place_that_cannot_be_written_is_found_out_before_the_work(cli, write):
    Path("file").write_text("x", encoding="utf-8")
    said = cli("calibrate", write(*rows()), "-o", "file/cutoff.json", "--no-cache")
    assert said.code == 2
    assert "cannot write file" in said.err
    assert said.out == ""


def test_groups_and_slices_of_ones_own(calibrate):
    cases = [
        case | {"team": f"t{at // 2}", "bot": {"name": f"b{at % 2}"}}
        for at, case in enumerate(rows(90, 90))
    ]
    said = calibrate("--group", "team", "--slice", "bot.name", "-o", OUT, cases=cases)
    assert said.code == 0, said.out
    assert "90 groups by team" in said.out
    found = load_calibration(OUT)
    assert (found.accept_cutoff.evidence.per, found.data.groups) == ("group", 90)
    assert {r.value for r in found.slices.reports if r.name == "bot.name"} == {"b0", "b1"}
    assert found.sample.slices["bot.name"].values == ("b0", "b1")


def test_no_content_keeps_no_text_and_cannot_be_refreshed(calibrate, cli):
    assert calibrate("--no-content", "-o", OUT).code == 0
    held = OUT.read_text(encoding="utf-8")
    assert not any(case["response"] in held or case["input"] in held for case in rows())
    said = cli("calibrate", "--refresh", OUT)
    assert said.code == 4
    assert "made without its texts" in said.err


def test_a_third_is_set_aside_unless_it_is_not_to_be(calibrate):
    many = [one(at, at % 3 > 0) for at in range(640)]
    said = calibrate("-o", OUT, cases=many).out
    assert "set aside as a test" in said.splitlines()[1]
    assert "labels set aside, which had no part" in said
    assert load_calibration(OUT).locked.n + load_calibration(OUT).data.used == 640
    assert "set aside" not in calibrate("--no-lock", cases=many).out


def test_labels_picked_by_score_are_refused_or_left_out(calibrate):
    cases = [*rows(), *(one(at, at % 2 == 0, sampling="active") for at in range(900, 910))]
    said = calibrate(cases=cases)
    assert said.code == 4
    assert "10 of 130 labels say sampling: active" in said.err
    said = calibrate("--leave-out-active", cases=cases)
    assert said.code == 0
    assert "10: left out, because the label was picked by score" in said.out


def test_json_holds_everything_but_the_rows_and_the_canaries(calibrate):
    said = calibrate("--format", "json", "-o", OUT, "-q")
    assert (said.code, said.err) == (0, "")
    whole = json.loads(OUT.read_bytes())
    assert said.json == {name: whole[name] for name in whole if name not in {"sample", "canaries"}}


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (unlabelled(rows(5, 5)), "none of 10 rows has a label. Label them in a column 'label'"),
        (rows(5, 5, response=" "), "none of the labelled rows could be measured"),
        (rows(1, 1, label="maybe"), "label: expected accept or reject"),
    ],
    ids=["unlabelled", "unmeasurable", "unknown-label"],
)
def test_a_file_without_labels_to_use_exits_with_4(cases, said, calibrate):
    found = calibrate("-o", OUT, cases=cases)
    assert found.code == 4
    assert said in found.err
    assert not OUT.exists()


def test_rows_that_cannot_be_measured_are_named_in_the_report(calibrate):
    said = calibrate(cases=[*rows(), one(900, True, response=" ")])
    assert said.code == 0
    assert said.out.splitlines()[1] == "  121 rows: 1 without a score, 120 used."
    assert " 1: the case's response is blank" in said.out


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_cutoff_exits_with_7_writes_nothing_and_says_what_would_help(form, calibrate):
    said = calibrate("--format", form, "-o", OUT, cases=rows(60, 20))
    assert said.code == 7
    assert not OUT.exists()
    if form == "json":
        assert (said.json["cutoff"], said.json["more_rejects"]) == (None, 9)
    else:
        assert said.out.startswith("No cutoff: ")
        assert "(9 of them must turn out wrong)" in said.out
        last = said.out.splitlines()[-1]
        assert last.startswith("  closecall plan ")
        assert last.endswith("cases.jsonl --max-far 0.1 -o next.jsonl")
        assert said.out.count("closecall plan") == 1


@pytest.fixture
def _interruptible():
    """Ctrl-C interrupts, whatever the test runner ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_interrupting_leaves_what_was_there(calibrate, monkeypatch):
    assert calibrate("-o", OUT).code == 0
    before, names = OUT.read_bytes(), sorted(Path().iterdir())

    def stop(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the signal comes first")

    for place in ("closecall.runs.runner.decide", "closecall.calibration.store._member"):
        with monkeypatch.context() as patch:
            patch.setattr(place, stop)
            said = calibrate("-o", OUT, "--max-far", "0.2")
        assert said.code == 130, said
        assert OUT.read_bytes() == before
        assert sorted(Path().iterdir()) == names


def test_calibrating_again_to_the_same_file_counts_a_try(calibrate):
    assert "W16" not in calibrate("-o", OUT).out
    assert "W16: calibration number 2 on these labels" in calibrate("-o", OUT).out
    assert load_calibration(OUT).tried == 2
    assert "W16" not in calibrate("-o", OUT, "--looks", "3").out


def test_the_same_command_gives_the_same_bytes(calibrate, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first = calibrate("-o", OUT)
    before = OUT.read_bytes()
    OUT.unlink()
    assert calibrate("-o", OUT) == first
    assert OUT.read_bytes() == before


def test_refresh_in_place_and_elsewhere(calibrate, cli, cache):
    assert calibrate("-o", OUT).code == 0
    before = OUT.read_bytes()
    said = cli("calibrate", "--refresh", OUT, "-o", "new.json", "--cache-dir", cache)
    assert said.code == 0
    assert "0 of 120 labelled answers are decided otherwise now." in " ".join(said.out.split())
    assert OUT.read_bytes() == before
    assert not BACKUP.exists()
    assert load_calibration("new.json").rule == load_calibration(OUT).rule
    Path("notes.txt").write_text("keep me", encoding="utf-8")
    said = cli("calibrate", "--refresh", OUT, "-o", "notes.txt", "--cache-dir", cache)
    assert said.code == 2
    assert Path("notes.txt").read_text(encoding="utf-8") == "keep me"
    said = cli("calibrate", "--refresh", OUT, "--cache-dir", cache, "--format", "json")
    assert said.json["refreshed"]["flipped"] == []
    assert said.json["refreshed"]["before"]["digest"] == json.loads(before)["digest"]
    assert BACKUP.read_bytes() == before
    assert f"what {OUT} was is kept as {BACKUP}" in said.err
    assert cli("calibrate", "--refresh", OUT, "-o", OUT, "--cache-dir", cache, "-q").code == 0
    assert BACKUP.read_bytes() == before


def test_refresh_loses_nothing_that_stands_where_the_old_file_goes(calibrate, cli, cache):
    assert calibrate("-o", OUT).code == 0
    BACKUP.write_text("mine", encoding="utf-8")
    before = OUT.read_bytes()
    said = cli("calibrate", "--refresh", OUT, "--cache-dir", cache)
    assert said.code == 2
    assert "cutoff.json.bak: that file is there and is no calibration" in said.err
    assert (BACKUP.read_text(encoding="utf-8"), OUT.read_bytes()) == ("mine", before)


def test_refresh_with_another_window(calibrate, cli, cache):
    assert calibrate("-o", OUT).code == 0
    args = ("eval", "cases.jsonl", "--calibration", OUT, "--window", "truncate", "--no-aef")
    said = cli(*args)
    assert said.code == 6
    assert said.err.endswith(f"--refresh {OUT.absolute()} --window truncate\n")
    again = ("--refresh", OUT, "--window", "truncate", "--cache-dir", cache)
    assert cli("calibrate", *again).code == 0
    assert load_calibration(OUT).window == "truncate"
    assert cli(*args).code == 1
    assert cli(*args[:4], "--no-aef").code == 1


@pytest.mark.parametrize("option", [("--max-far", "0.1"), ("--no-content",), ("-m", "x")])
def test_refresh_keeps_the_goal_and_the_labels(option, cli):
    said = cli("calibrate", "--refresh", OUT, *option)
    assert said.code == 2
    assert f"leave out {option[0]}" in said.err


def test_a_refresh_without_a_cutoff_leaves_the_file_as_it_was(calibrate, cli, cache, monkeypatch):
    from msgspec.structs import replace

    # A goal that was edited is refused when the file is read; here it is to be met.
    monkeypatch.setattr("closecall.calibration.store.flaws", lambda _: iter(()))

    assert calibrate("-o", OUT).code == 0
    found = load_calibration(OUT)
    save_calibration(replace(found, goal=replace(found.goal, max_far=0.01)), OUT)
    before = OUT.read_bytes()
    said = cli("calibrate", "--refresh", OUT, "--cache-dir", cache)
    assert said.code == 7
    assert said.out.startswith("No cutoff: ")
    assert "closecall plan cases.jsonl --max-far 0.01 -o next.jsonl" in said.out
    assert not BACKUP.exists()
    assert "cutoff.json is as it was; nothing was written" in said.err
    assert OUT.read_bytes() == before


def test_a_file_that_is_no_calibration_cannot_be_refreshed(cli, write):
    said = cli("calibrate", "--refresh", write(*rows(1, 1)))
    assert said.code == 4
    assert "cases.jsonl" in said.err
