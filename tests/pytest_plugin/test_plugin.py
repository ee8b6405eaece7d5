"""What the plugin does with marks, files, options and workers; and what it leaves alone."""

import json
import subprocess
import sys

import pytest

from closecall import calibrate, load_run, save_calibration
from closecall.testing import HashEmbedder

pytest_plugins = ["pytester"]

HASH = """
    import pytest
    from closecall.asserting import assert_similar
    from closecall.testing import HashEmbedder
"""
GOOD = {"id": "good", "response": "a blue sky", "reference": "a blue sky"}
BAD = {"id": "bad", "response": "green grass", "reference": "a blue sky"}


def cases(pytester, rows, name="cases.jsonl"):
    path = pytester.path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def marked(pytester, options="", body="pass", arguments=""):
    pytester.makepyfile(
        HASH
        + f"""
    @pytest.mark.closecall_cases("cases.jsonl", embedder=HashEmbedder(), {options})
    def test_it({arguments}):
        {body}
    """
    )


def run(pytester, *arguments):
    # Without what this environment has besides: it takes longer to load than most tests.
    others = ("-p", "no:hypothesispytest", "-p", "no:anyio")
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *others, *arguments)


def test_a_suite_that_never_asks_sees_nothing_of_it(pytester):
    pytester.makepyfile(
        test_own="""
        import sys
        import unittest

        def test_nothing_heavy_is_loaded():
            heavy = {"numpy", "msgspec", "onnxruntime", "click", "yaml", "rich", "sqlite3"}
            assert not heavy & sys.modules.keys()
            own = {name for name in sys.modules if "closecall" in name}
            # The package too where plugins are named by it, as -p closecall.pytest_plugin does.
            named = {"closecall", "closecall._version", "closecall.pytest_plugin"}
            assert "_closecall_pytest" in own
            assert own <= {"_closecall_pytest"} | named

        class TestOwn(unittest.TestCase):
            def test_it(self):
                pass
        """
    )
    said = run(pytester)
    said.assert_outcomes(passed=2)
    assert "closecall" not in said.stdout.str().replace("closecall-", "")
    assert not (pytester.path / ".closecall").exists()


def test_names_of_cases_are_readable_unlike_and_escaped(pytester):
    long = "x" * 300
    ids = ["plain one", "plain one::[a]/b", "tab\there", "caf\u00e9 \u001b[31m", long, long + "y"]
    cases(pytester, [{**GOOD, "id": one} for one in ids])
    marked(pytester, 'metrics="token_f1"')
    said = run(pytester, "--collect-only", "-q")
    names = [line for line in said.outlines if "::" in line]
    assert len(set(names)) == len(ids)
    assert any(name.endswith("test_it[plain one]") for name in names)
    assert "\x1b" not in said.stdout.str()
    assert max(map(len, names)) < 300
    said = run(pytester, next(name for name in names if "::[a]" in name))
    said.assert_outcomes(passed=1)


def test_names_may_come_from_elsewhere(pytester):
    cases(pytester, [{**GOOD, "input": "What is blue?"}, {**BAD, "input": None}])
    marked(pytester, 'metrics="token_f1", ids=lambda case: f"<{case.id}>"')
    run(pytester, "--collect-only", "-q").stdout.fnmatch_lines(["*test_it[[]<good>]"])
    marked(pytester, 'metrics="token_f1", ids="input"')
    lines = ["*test_it[[]What is blue?]", "*test_it[[]case 2]"]
    run(pytester, "--collect-only", "-q").stdout.fnmatch_lines(lines)
    marked(pytester, 'metrics="token_f1", ids="colour"')
    run(pytester).stdout.fnmatch_lines(["*closecall_cases: ids must be one of id, input,*"])


def test_cases_are_found_beside_the_test_and_measured_at_once(pytester):
    folder = pytester.mkdir("deep")
    cases(pytester, [GOOD, BAD, {**GOOD, "id": "again"}], "deep/cases.jsonl")
    (folder / "test_deep.py").write_text(
        """
import pytest
from closecall.testing import HashEmbedder
asked = []
hashes = HashEmbedder(on_embed=asked.append)

@pytest.mark.closecall_cases("cases.jsonl", embedder=hashes, check=False)
def test_each(case, result):
    assert result.case.id == case.id
    assert result.state == ("failed" if case.id == "bad" else "passed")

def test_texts_were_embedded_together():
    assert len(asked) == 1
""",
        encoding="utf-8",
    )
    run(pytester).assert_outcomes(passed=4)
    said = run(pytester, "-k", "good")
    said.assert_outcomes(passed=1, deselected=3)
    said.stdout.fnmatch_lines(["1 passed of 1 answer: all of them measured and passed"])


def test_a_body_runs_after_the_verdict(pytester):
    cases(pytester, [GOOD, BAD])
    marked(pytester, body="assert case.id != 'good', 'seen'", arguments="case")
    said = run(pytester)
    said.assert_outcomes(failed=2)
    said.stdout.fnmatch_lines(
        ["*AssertionError: seen", "embed_answer_similarity: low similarity*"]
    )


def test_rows_that_cannot_be_read_are_errors_of_collection(pytester):
    (pytester.path / "cases.jsonl").write_text(
        '{"response": "a", "reference": "a"}\n{"response": 7, "reference": ["a", 1]}\n{oh\n',
        encoding="utf-8",
    )
    marked(pytester)
    for workers in ((), ("-n2",)):
        said = run(pytester, *workers)
        text = said.stdout.str()
        assert said.ret != 0
        assert "cases.jsonl:2: " in text
        assert "cases.jsonl:3: " in text
        assert "Traceback" not in text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("metric=1", "'metric' is none of its options: metrics, cutoff"),
        ('metrics="token_f2"', "there is no metric 'token_f2'"),
        ("cutoff=0.7", "did you mean 70?"),
        ('metrics="token_f1,bleu", cutoff=0.7', "cutoff is for a single metric"),
        ("cutoff=70, calibration='c.json'", "cutoff and calibration exclude each other"),
        ("calibration='gone.json'", "gone.json"),
    ],
)
def test_a_mark_that_is_wrong_is_an_error_of_collection(pytester, options, told):
    cases(pytester, [GOOD])
    marked(pytester, options)
    said = run(pytester)
    said.assert_outcomes(errors=1)
    assert told in said.stdout.str()


def test_a_case_file_that_is_missing_is_named(pytester):
    marked(pytester)
    said = run(pytester)
    said.assert_outcomes(errors=1)
    assert "cases.jsonl" in said.stdout.str()


def test_absences_are_skips_and_errors_and_never_passes(pytester):
    silent = {"id": "silent", "response": " ", "reference": "a"}
    cases(pytester, [{**GOOD, "expected_facts": ["blue"]}, BAD, silent])
    marked(pytester, 'metrics="expected_fact"')
    said = run(pytester, "-rs")
    said.assert_outcomes(passed=1, skipped=2)
    said.stdout.fnmatch_lines(["SKIPPED*the case asks nothing of expected_fact*"])
    marked(pytester)
    run(pytester).assert_outcomes(passed=1, failed=1, errors=1)


def test_what_is_no_text_is_an_error_and_no_failure(pytester):
    pytester.makepyfile(
        """
        from closecall.asserting import assert_similar


        def test_it():
            assert_similar(None, "blue", cutoff=60)


        def test_reference():
            assert_similar("blue", 7, cutoff=60)
        """
    )
    run(pytester).assert_outcomes(errors=2)


def test_a_method_of_unittest_cannot_become_several(pytester):
    pytester.makepyfile(
        """
        import unittest, pytest
        class Test(unittest.TestCase):
            @pytest.mark.closecall_cases("cases.jsonl")
            def test_it(self):
                pass
        """
    )
    said = run(pytester)
    said.assert_outcomes(errors=1)
    said.stdout.fnmatch_lines(["*this is a method of a unittest.TestCase*"])


def test_a_file_that_changes_while_workers_look_at_it(pytester):
    cases(pytester, [GOOD, BAD])
    pytester.makeconftest(
        """
        import json, os
        from pathlib import Path

        def pytest_collection_modifyitems():
            if "PYTEST_XDIST_WORKER" in os.environ:
                row = {"id": os.environ["PYTEST_XDIST_WORKER"], "response": "a", "reference": "a"}
                with Path(__file__).with_name("cases.jsonl").open("a") as file:
                    file.write(json.dumps(row) + "\\n")
        """
    )
    marked(pytester)
    said = run(pytester, "-n3")
    assert "Different tests were collected" not in said.stdout.str()
    said.assert_outcomes(passed=1, failed=1)


@pytest.fixture
def calibration(pytester):
    rows = [
        {"response": f"{word} {word} sky" if ok else f"grass {word}", "reference": f"{word} sky",
         "label": "accept" if ok else "reject"}
        for ok in (True, False)
        for word in (f"word{at}" for at in range(80))
    ]  # fmt: skip
    made = calibrate(rows, "answer_alignment", HashEmbedder(), cache=False)
    save_calibration(made, pytester.path / "cutoff.json")
    return made


def test_calibrations_decide_and_belong_to_one_embedder(pytester, calibration):
    cases(pytester, [GOOD, BAD])
    marked(pytester, 'calibration="cutoff.json"')
    said = run(pytester)
    said.assert_outcomes(passed=1, failed=1)
    said.stdout.fnmatch_lines(["answer_alignment: low similarity * (calibrated cutoff of *"])
    pytester.makepyfile(
        HASH
        + """
    def test_similar():
        found = assert_similar("a blue sky", "a blue sky", embedder=HashEmbedder())
        assert found.metric == "answer_alignment"

    def test_a_cutoff_of_its_own():
        found = assert_similar("a blue sky", "a blue sky", embedder=HashEmbedder(), cutoff=60)
        assert found.metric == "embed_answer_similarity"

    def test_another_embedder():
        assert_similar("a blue sky", "a blue sky", embedder=HashEmbedder(32))
    """
    )
    said = run(pytester, "--closecall-calibration", "cutoff.json")
    said.assert_outcomes(passed=2, errors=1)
    said.stdout.fnmatch_lines(["*InstrumentMismatchError: *belongs to another embedder*"])


def test_options_that_do_not_go_together_are_refused(pytester):
    pytester.makepyfile("def test_it(): pass")
    for arguments, told in (
        (("--closecall-record", "a", "--closecall-replay", "b"), "exclude each other"),
        (("--closecall-record", "a", "-n2"), "takes one process"),
        (("--closecall-aef", "a", "--closecall-no-aef"), "exclude each other"),
        (("-o", "closecall_unsure=perhaps"), "closecall_unsure = 'perhaps': it may be fail, skip"),
    ):
        said = run(pytester, *arguments)
        assert said.ret == pytest.ExitCode.USAGE_ERROR
        assert told in said.stderr.str()
    run(pytester, "--closecall-record", "a", "-n0").assert_outcomes(passed=1)


def test_a_folder_of_other_recordings_is_no_cassette(pytester):
    place = pytester.mkdir("tests") / "cassettes"
    place.mkdir()
    (place / "test_api.yaml").write_text("interactions: []\n")
    pytester.makepyfile("def test_it(): pass")
    assert "replaying" not in run(pytester).stdout.str()


def test_run_folders_are_written_where_asked_and_not_at_all(pytester):
    cases(pytester, [GOOD])
    marked(pytester)
    run(pytester, "--closecall-aef", "mine").assert_outcomes(passed=1)
    assert load_run(pytester.path / "mine").exit_code == 0
    for arguments in (("--closecall-no-aef",), ("-o", "closecall_aef=off")):
        said = run(pytester, *arguments)
        said.assert_outcomes(passed=1)
        said.stdout.fnmatch_lines(["*= closecall =*"])
    assert not (pytester.path / ".closecall").exists()
    said = run(pytester, "--closecall-aef", "mine")  # holds a run already
    said.assert_outcomes(passed=1)
    said.stdout.fnmatch_lines(["note: no run folder: *"])


def test_what_cannot_stand_in_one_run_makes_two(pytester):
    pytester.makepyfile(
        HASH
        + """
    def test_one():
        assert_similar("a blue sky", "a blue sky", embedder=HashEmbedder())
        assert_similar("a blue sky", "a blue sky", embedder=HashEmbedder(), cutoff=60)

    def test_two():
        assert_similar("a blue sky", "a blue sky", embedder=HashEmbedder(32))
    """
    )
    run(pytester, "--closecall-aef", "mine").assert_outcomes(passed=2)
    one, two = load_run(pytester.path / "mine"), load_run(pytester.path / "mine-2")
    assert [len(one), len(two)] == [2, 1]
    names = [plan.id for plan in one.header.metrics]
    assert names == ["embed_answer_similarity", "embed_answer_similarity:cutoff=60"]


def test_an_evaluation_in_a_test_stands_in_the_run_too(pytester):
    cases(pytester, [GOOD, BAD])
    pytester.makepyfile(
        HASH
        + """
    def test_rate(closecall):
        found = closecall.evaluate("cases.jsonl", embedder=HashEmbedder())
        assert found.metrics[0].passed == 1

    def test_score_asserts_nothing(closecall):
        found = closecall.score("x", "y", metric="token_f1")
        assert found.state == "failed"
    """
    )
    run(pytester, "--closecall-aef", "mine").assert_outcomes(passed=2)
    found = load_run(pytester.path / "mine")
    assert [found.cases.passed, found.cases.failed] == [1, 1]


def test_the_module_that_pytest_imports_is_light():
    code = (
        "import pytest, sys; before = set(sys.modules); import _closecall_pytest; "
        "print(sorted(set(sys.modules) - before))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert said.stdout.strip() == "['_closecall_pytest']"
