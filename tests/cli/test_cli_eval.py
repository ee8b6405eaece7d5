"""``closecall eval``: a file of cases to a verdict."""

import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from closecall import load_run


def test_all_passed_exits_with_0_and_writes_a_run_folder(cli, write, passing, tmp_path):
    said = cli("eval", write(passing))
    assert said.code == 0
    assert "1 / 1 / 1" in said.out
    assert "default cutoff, not calibrated" in said.out
    (folder,) = (tmp_path / ".closecall" / "runs").iterdir()
    assert f"run folder .closecall/runs/{folder.name}" in said.err.replace(os.sep, "/")
    assert load_run(folder).passed
    assert (tmp_path / ".closecall" / ".gitignore").read_text(encoding="utf-8").endswith("*\n")


def test_a_failed_case_exits_with_1(cli, write, passing, failing, unmeasured):
    assert cli("eval", write(passing, failing), "--no-aef").code == 1
    said = cli("eval", write(passing, failing, unmeasured), "--no-aef")
    assert said.code == 1
    assert "1 / 2 / 3" in said.out


def test_green_but_not_all_measured_exits_with_11(cli, write, passing, unmeasured):
    said = cli("eval", write(passing, unmeasured), "--no-aef")
    assert said.code == 11
    assert "1 case: the case's response is blank" in said.out


def test_no_run_folder_is_written_when_none_is_wanted(cli, write, passing, tmp_path):
    said = cli("eval", write(passing), "--no-aef")
    assert not (tmp_path / ".closecall").exists()
    assert "run folder" not in said.err


def test_a_file_that_is_not_there_exits_with_4(cli):
    said = cli("eval", "nowhere.jsonl")
    assert said.code == 4
    assert "nowhere.jsonl" in said.err


def test_bad_rows_stop_the_run_or_are_left_out_and_counted(cli, write, passing):
    path = write(passing, {"id": "bad", "response": 7, "reference": {"no": "text"}})
    said = cli("eval", path, "--no-aef")
    assert said.code == 4
    assert re.search(r"cases\.jsonl:2: \w+", said.err)
    skipped = cli("eval", path, "--no-aef", "--on-bad-row", "skip")
    assert skipped.code == 11
    assert "1 row of the file could not be read and left out; the first problems:" in " ".join(
        skipped.out.split()
    )


def test_metrics_comma_separated_and_repeated(cli, write, passing):
    case = {**passing, "context": ["The sky is blue."], "input": "What colour is the sky?"}
    said = cli(
        "eval", write(case), "--no-aef", "--format", "json",
        "-m", "embed_answer_similarity,embed_query_context", "-m", "semantic_similarity",
    )  # fmt: skip
    assert [m["metric"] for m in said.json["metrics"]] == [
        "embed_answer_similarity",
        "embed_query_context",
        "semantic_similarity",
    ]


def test_cutoffs_by_metric(cli, write, failing):
    path = write(failing)
    metric = "embedding_similarity:method=euclidean"
    said = cli(
        "eval", path, "--no-aef", "--format", "json", "-m", f"embed_answer_similarity,{metric}",
        "--cutoff", "embed_answer_similarity=1", "--cutoff", f"{metric}=0.1", "--guards", "off",
    )  # fmt: skip
    assert said.code == 0
    assert [m["cutoff"] for m in said.json["metrics"]] == [1.0, 0.1]
    assert {m["cutoffSource"] for m in said.json["metrics"]} == {"chosen"}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--cutoff", "embed_answer_similarity"), "--cutoff takes NAME=VALUE"),
        (("--cutoff", "embed_answer_similarity=x"), "'x' is not a number"),
        (("--cutoff", "embed_answer_similarity=nan"), "finite number"),
        (("--cutoff", "embed_answer_similarity=0.7"), "did you mean 70?"),
        (("--cutoff", "semantic_similarity=0.7"), "not among the metrics of this run"),
        (
            ("--cutoff", "embed_answer_similarity=7", "--cutoff", "embed_answer_similarity=8"),
            "names 'embed_answer_similarity' twice",
        ),
        (("-m", "embedding_similarity:metod=dot"), "no option 'metod'"),
        (("-m", ","), "name at least one metric"),
        (("--map", "response"), "--map takes FIELD=COLUMN"),
        (("--map", "reply=response"), "reply"),
        (("-o", "report.pdf"), "no format for this suffix"),
        (("--format", "pdf"), "'table', 'json', 'jsonl', 'csv', 'markdown', 'junit', 'html'"),
        (("--aef", "x", "--no-aef"), "--aef and --no-aef exclude each other"),
        (("--cache-dir", "x", "--no-cache"), "--cache-dir and --no-cache exclude each other"),
        (("--threads", "0"), "0 is not in the range"),
        (("--window", "half"), "'chunk', 'truncate', 'error'"),
        (("--on-bad-row", "fix"), "'fail', 'skip'"),
    ],
)
def test_a_wrong_option_exits_with_2_before_anything_is_written(args, said, cli, write, passing):
    path = write(passing)
    found = cli("eval", path, *args)
    assert found.code == 2, found.err
    assert said in found.err
    assert not list(Path().glob(".closecall/runs/*"))


def test_an_unknown_metric_exits_with_3(cli, write, passing):
    said = cli("eval", write(passing), "-m", "embed_answer")
    assert said.code == 3
    assert "there is no metric 'embed_answer'" in said.err


def test_columns_can_be_mapped(cli, write):
    path = write({"bot": {"text": "The sky is blue."}, "gold": "The sky is blue."})
    said = cli("eval", path, "--no-aef", "--map", "response=bot.text", "--map", "references=gold")
    assert said.code == 0


def test_how_the_file_was_read_is_said(cli, write):
    path = write({"question": "q", "answer": "The sky is blue.", "expected": "The sky is blue."})
    said = cli("eval", path, "--no-aef")
    assert "response from `answer`" in said.out
    said = cli("eval", path, "--no-aef", "--format", "csv")
    assert "response from `answer`" in said.err


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("r.json", lambda text: json.loads(text)["stats"]["total"] == 1),
        ("r.csv", lambda text: text.startswith("id,group,label,metric,state")),
        ("r.md", lambda text: text.startswith("### cases.jsonl")),
        ("r.xml", lambda text: ET.fromstring(text).get("tests") == "1"),  # noqa: S314
        ("r.txt", lambda text: "passed / measured / asked" in text),
    ],
)
def test_the_suffix_of_the_output_says_its_format(cli, write, passing, name, check):
    said = cli("eval", write(passing), "--no-aef", "-o", f"new/{name}")
    assert (said.code, said.out) == (0, "")
    assert check(Path("new", name).read_text(encoding="utf-8"))
    assert "1 passed of 1 case; exit code 0" in said.err


def test_format_wins_over_the_suffix(cli, write, passing, tmp_path):
    cli("eval", write(passing), "--no-aef", "--format", "csv", "-o", "report.json")
    assert (tmp_path / "report.json").read_text(encoding="utf-8").startswith("id,group")


def test_a_dash_writes_to_standard_output(cli, write, passing):
    said = cli("eval", write(passing), "--no-aef", "--format", "json", "-o", "-")
    assert said.json["stats"]["passed"] == 1


def test_quiet_says_nothing_beside_the_report(cli, write, passing):
    said = cli("eval", write(passing), "-q", "--format", "json")
    assert said.err == ""
    assert said.json["exitCode"] == 0


def test_names_of_run_and_subject(cli, write, passing):
    found = cli(
        "eval", write(passing), "--aef", "run", "--format", "json",
        "--name", "nightly", "--subject", "helpdesk", "--subject-version", "2",
    ).json  # fmt: skip
    assert found["name"] == "nightly"
    assert found["agent"] == {"name": "helpdesk", "model": None, "version": "2"}
    assert found["metadata"]["RunFolder"] == "run"


def test_texts_can_be_kept_out_of_the_run_folder_and_every_report_still_renders(
    cli, write, passing, failing, tmp_path
):
    case = {
        **failing,
        "reference": ["", "Our shop opens at nine.", "At nine."],
        "context": ["a", "b"],
    }
    path = write(passing, case)
    for form in ("table", "json", "jsonl", "csv", "markdown", "junit", "html"):
        said = cli(
            "eval", path, "--no-content", "--aef", form, "--format", form,
            "-m", "embed_answer_similarity,embed_response_context",
        )  # fmt: skip
        assert said.code == 1, said.err
        assert "umbrella" not in said.out
        for kept in (tmp_path / form).rglob("*"):
            if kept.is_file():
                assert b"umbrella" not in kept.read_bytes(), kept


def test_a_run_folder_that_is_there_already_is_not_written_over(cli, write, passing):
    path = write(passing)
    assert cli("eval", path, "--aef", "run").code == 0
    said = cli("eval", path, "--aef", "run")
    assert said.code == 4
    assert "run" in said.err


def test_the_cache_is_where_it_is_told_or_nowhere(cli, write, passing, tmp_path, monkeypatch):
    path = write(passing)
    cli("eval", path, "--no-aef", "--cache-dir", "mine")
    assert list((tmp_path / "mine").iterdir())
    other = tmp_path / "unused"
    monkeypatch.setenv("CLOSECALL_CACHE_DIR", str(other))
    cli("eval", path, "--no-aef", "--no-cache")
    assert not other.exists()


def test_a_run_where_no_folder_can_be_made_goes_on_and_says_so(cli, write, passing, tmp_path):
    (tmp_path / ".closecall").write_text("in the way", encoding="utf-8")
    said = cli("eval", write(passing))
    assert said.code == 0
    assert "cannot be resumed" in said.err
    assert "--aef DIR" in said.err


def test_the_window_policy_is_used(cli, write):
    long = "the sky is blue and the grass is green " * 60
    path = write({"response": long, "reference": long})
    assert cli("eval", path, "--no-aef", "--window", "error").code == 11
    said = cli("eval", path, "--no-aef", "--window", "truncate")
    assert "1 case with a text longer than the model's window, read only in part" in " ".join(
        said.out.split()
    )


def test_the_same_file_gives_the_same_results_from_the_cache(cli, write, passing, failing):
    path = write(passing, failing)
    first, again = (cli("eval", path, "--no-aef", "--format", "csv").out for _ in range(2))
    assert first == again


INTERRUPTED = """
import sys
from closecall.cli import run
from closecall.runs import runner
runner.BATCH_CASES = 2
kept = runner.measured_case
def measure(metric, case, vectors):
    if case.id == "5":
        raise KeyboardInterrupt
    return kept(metric, case, vectors)
runner.measured_case = measure
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture
def interrupted(process, write):
    """A run folder cut off after four of seven cases, and the file it read."""
    texts = ["The sky is blue.", "Grass is green.", "Water is wet."]
    path = write(
        *({"id": str(i), "response": texts[i % 3], "reference": texts[i % 2]} for i in range(7))
    )
    said = process("eval", path, "--aef", "run", code=INTERRUPTED)
    assert said.returncode == 130, said.stderr
    assert b"Go on with: closecall eval --resume run" in said.stderr
    return path


def test_an_interrupted_run_goes_on_where_it_stopped(cli, interrupted):
    said = cli("eval", "--resume", "run", "--format", "csv")
    assert said.code == 1, said.err
    whole = cli("eval", interrupted, "--no-aef", "--format", "csv")
    assert said.out == whole.out
    assert said.out.count("\n") == 8


BROKEN = """
import sys
from closecall import errors
from closecall.cli import run
from closecall.runs import runner
runner.BATCH_CASES = 2
def broken(size):
    made = runner.batched
    def batched(cases, most, chars):
        for number, batch in enumerate(made(cases, most, chars)):
            if number == size:
                raise getattr(errors, sys.argv[1])("the disk is full")
            yield batch
    runner.batched = batched
broken(int(sys.argv[2]))
sys.exit(run(sys.argv[3:]))
"""


@pytest.mark.parametrize(("error", "code"), [("ConfigurationError", 3), ("RunFolderError", 4)])
def test_a_run_that_an_error_stops_says_how_to_go_on(error, code, process, cli, write):
    path = write(*({"id": str(i), "response": "a", "reference": "a"} for i in range(7)))
    said = process(error, 2, "eval", path, "--aef", "run", code=BROKEN)
    assert said.returncode == code, said.stderr
    assert b"Go on with: closecall eval --resume run" in said.stderr
    assert b"the disk is full" in said.stderr
    again = process(error, 1, "eval", "--resume", "run", code=BROKEN)
    assert b"Go on with: closecall eval --resume run" in again.stderr
    assert cli("eval", "--resume", "run").code == 0


def test_an_error_before_any_result_gives_no_such_hint(process, write, passing, cli):
    path = write(passing)
    said = process("RunFolderError", 0, "eval", path, "--aef", "run", code=BROKEN)
    assert said.returncode == 4
    assert b"Go on with" not in said.stderr
    cli("eval", path, "--aef", "other")
    assert "Go on with" not in cli("eval", path, "--aef", "other").err


WITHOUT_RUNTIME = """
import sys
from closecall.cli import run
sys.modules["onnxruntime"] = None
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize("kept", [("--aef", "run"), ("--parts", "run")], ids=["folder", "parts"])
def test_a_run_begun_in_vain_says_how_to_go_on_once_what_it_lacks_is_there(
    kept, process, cli, write, passing
):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: closecall[parquet]")
    cli("eval", write(passing), "--no-aef")  # the cache knows the model
    path = write(passing, {"id": "new", "response": "never seen", "reference": "nor this"})
    said = process("eval", path, *kept, code=WITHOUT_RUNTIME)
    assert said.returncode == 3
    assert b"onnxruntime cannot be imported" in said.stderr
    assert b"Go on with: closecall eval --resume run" in said.stderr
    assert not list(Path("run").glob("parts/part-*"))
    assert cli("eval", "--resume", "run").code == 1


def test_a_run_that_another_call_began_is_not_gone_on_with_by_this_one_s_error(
    process, cli, write, passing
):
    path = write(passing)
    cli("eval", path, "--aef", "run")
    said = process("ConfigurationError", 0, "eval", path, "--aef", "run", code=BROKEN)
    assert b"Go on with" not in said.stderr


def old_runs(count):
    for number in range(count):
        Path(f".closecall/runs/run-20200101T000000Z-{number:08x}").mkdir(parents=True)


def test_many_runs_in_the_default_place_are_told_once_and_kept(cli, write, passing):
    path = write(passing)
    old_runs(49)
    assert "runs prune" not in cli("eval", path).err
    said = cli("eval", path)
    place = Path(".closecall", "runs")
    assert said.err.count("runs prune") == 1
    (line,) = (line for line in said.err.splitlines() if "runs prune" in line)
    assert line.startswith("closecall: 51 run folders")
    assert line.endswith("closecall runs prune --keep 50")
    assert len(list(place.iterdir())) == 51
    for options in (("-q",), ("--no-aef",), ("--aef", "mine")):
        assert "runs prune" not in cli("eval", path, *options).err


def test_a_place_for_the_report_that_may_not_be_looked_into(
    unprivileged, write, passing, tmp_path
):
    said = unprivileged("eval", write(passing), "--no-aef", "-o", tmp_path / "sub" / "report.json")
    assert said.returncode == 2, said.stderr
    assert "cannot write" in said.stderr


@pytest.mark.parametrize(
    "option",
    [
        ("-m", "semantic_similarity"),
        ("--cutoff", "embed_answer_similarity=60"),
        ("--embedder", "minilm"),
        ("--window", "truncate"),
        ("--window", "chunk"),
        ("--map", "response=x"),
        ("--on-bad-row", "skip"),
        ("--aef", "other"),
        ("--no-aef",),
        ("--name", "n"),
        ("--subject", "s"),
        ("--subject-version", "1"),
        ("--no-content",),
    ],
    ids=" ".join,
)
def test_resume_refuses_what_would_make_it_another_run(cli, option):
    said = cli("eval", "--resume", "run", *option)
    assert said.code == 2
    assert option[0] in said.err.split("leave out")[1]


def test_resume_takes_no_file(cli, write, passing):
    said = cli("eval", write(passing), "--resume", "run")
    assert said.code == 2


def test_resume_takes_what_does_not_change_the_run(cli, interrupted, tmp_path):
    said = cli(
        "eval", "--resume", "run", "-o", "r.json", "--threads", "1", "--no-cache", "-q",
    )  # fmt: skip
    assert (said.code, said.err) == (1, "")
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["stats"]["total"] == 7


def test_resume_refuses_a_file_that_changed(cli, interrupted, write, passing):
    write(passing)
    said = cli("eval", "--resume", "run")
    assert said.code == 4
    assert "Changed: the cases" in said.err


@pytest.mark.parametrize("folder", ["nothing-here", "."])
def test_resume_of_no_run_exits_with_4(cli, folder):
    said = cli("eval", "--resume", folder)
    assert said.code == 4
    assert folder in said.err


def test_a_finished_run_is_reported_again_and_not_touched(cli, write, passing, failing):
    first = cli("eval", write(passing, failing), "--aef", "run", "--format", "csv")
    before = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    said = cli("eval", "--resume", "run", "--format", "csv")
    assert (said.code, said.out) == (first.code, first.out)
    assert "this run had ended" in said.err
    assert before == {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}


def test_the_report_never_replaces_the_cases(cli, write, failing, tmp_path):
    path = write(failing)
    before = Path(path).read_bytes()
    for output in (path, Path(path).parent / "." / Path(path).name):
        said = cli("eval", path, "-o", output, "--format", "json", "--no-aef")
        assert said.code == 2
        assert "that is the file of cases" in said.err
    assert Path(path).read_bytes() == before


def test_with_one_metric_a_cutoff_needs_no_name(cli, write, failing):
    path = write(failing)
    said = cli("eval", path, "--no-aef", "--format", "json", "--cutoff", "1")
    assert [m["cutoff"] for m in said.json["metrics"]] == [1.0]
    said = cli("eval", path, "-m", "embed_answer_similarity,semantic_similarity", "--cutoff", "1")
    assert said.code == 2
    assert "--cutoff takes NAME=VALUE" in said.err


def test_a_file_beside_resume_is_refused_in_its_own_words(cli, write, failing):
    said = cli("eval", write(failing), "--resume", "somewhere")
    assert said.code == 2
    assert "leave out FILE" in said.err


def test_rows_left_out_and_cases_not_measured_are_named_everywhere(cli, tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text(
        '{"id": "fine", "response": "a dog", "reference": "a dog"}\n'
        '{"id": "bad", "response": {"x": 1}, "reference": "a dog"}\n'
        '{"id": "blank", "response": " ", "reference": "a dog"}\n',
        encoding="utf-8",
    )
    skip = ("eval", path, "--on-bad-row", "skip", "--no-aef", "-q")
    table = cli(*skip)
    assert table.code == 11
    assert "cases.jsonl:2: response" in table.out
    assert "the case's response is blank (blank)" in table.out
    (problem,) = cli(*skip, "--format", "json").json["badRows"]
    assert problem.startswith("cases.jsonl:2: response")
    suites = ET.fromstring(cli(*skip, "--format", "junit").out)  # noqa: S314
    assert (suites.get("tests"), suites.get("errors")) == ("4", "2")
    assert suites.find("testsuite").get("skipped") == "1"
    row, blank = suites.iter("error")
    assert row.get("message").startswith("cases.jsonl:2: response")
    assert blank.get("message") == "1 of 2 not measured: the case's response is blank (1)"


def test_words_the_model_does_not_know_are_counted(cli, tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text(
        '{"id": "half", "response": "Yes \u2705", "reference": "Yes \u274c"}\n'
        '{"id": "none", "response": "\u2705", "reference": "\u274c"}\n',
        encoding="utf-8",
    )
    said = cli("eval", path, "--no-aef", "-q")
    assert said.code == 11
    assert "1 case with words or signs the model does not know" in " ".join(said.out.split())
    assert "it knows no word or sign of the text (none)" in " ".join(said.out.split())
    line = cli("score", "Yes \u2705", "Yes \u274c").out
    assert line.rstrip().endswith("2 words or signs unknown to the model")


def test_a_report_never_lands_in_a_run_folder_or_on_its_cases(cli, write, failing, tmp_path):
    path = Path(write(failing))
    folder = tmp_path / "run"
    assert cli("eval", path, "--aef", folder, "-q").code == 1
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    cases = path.read_bytes()
    for arguments, why in (
        (("--resume", folder, "-o", path), "that is the file of cases"),
        (("--resume", folder, "-o", folder / "results.ndjson"), "is a run folder"),
        ((path, "--no-aef", "-o", folder / "run.json"), "is a run folder"),
        ((path, "--no-aef", "-o", folder / "ext" / "mine.json"), "is a run folder"),
        ((path, "--aef", tmp_path / "new", "-o", tmp_path / "new" / "r.json"), "is a run folder"),
    ):
        said = cli("eval", *arguments, "--format", "json")
        assert said.code == 2, arguments
        assert why in said.err
    assert path.read_bytes() == cases
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_a_finished_run_that_was_edited_is_not_reported_as_it_was(cli, write, failing, tmp_path):
    folder = tmp_path / "run"
    assert cli("eval", write(failing), "--aef", folder, "-q").code == 1
    results = folder / "results.ndjson"
    results.write_bytes(results.read_bytes().replace(b'"failed"', b'"passed"'))
    said = cli("eval", "--resume", folder)
    assert said.code == 4
    assert "is not what it was then" in said.err


def test_a_run_without_the_cache_goes_on_without_it(cli, write, tmp_path, monkeypatch):
    other = tmp_path / "unused"
    monkeypatch.setenv("CLOSECALL_CACHE_DIR", str(other))
    path = write(*({"response": f"a {n}", "reference": "a 1"} for n in range(4)))
    for name in ("run", "second"):
        with monkeypatch.context() as broken:
            broken.setattr("closecall.runs.folder.RunFolder.append", interrupt)
            assert cli("eval", path, "--no-cache", "--aef", name).code == 130
    assert cli("eval", "--resume", "run").code in {0, 11}
    assert not other.exists()
    assert cli("eval", "--resume", "second", "--cache-dir", "mine").code in {0, 11}
    assert list((tmp_path / "mine").iterdir())


def interrupt(*_args, **_more):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"response": "new"}, "2 in both, in another order or of other responses, labels"),
        ({"reference": "new"}, "2 in both, that ask something else: ids, inputs, references"),
    ],
)
def test_of_as_many_cases_it_is_said_what_changed(cli, write, monkeypatch, change, said):
    rows = [{"id": f"c{n}", "response": f"a {n}", "reference": "a 1"} for n in range(2)]
    with monkeypatch.context() as broken:
        broken.setattr("closecall.runs.folder.RunFolder.append", interrupt)
        assert cli("eval", write(*rows), "--aef", "run", "-m", "token_f1").code == 130
    write(rows[0], {**rows[1], **change})
    done = cli("eval", "--resume", "run")
    assert done.code == 4
    assert f"Changed: the cases ({said}" in done.err
