"""Sessions in which something is odd: texts, retries, threads, Ctrl-C, folders, marks, metrics."""

import json
import sys

import pytest

from closecall import load_run
from closecall.asserting import AnswerError, assert_matches_fact, assert_similar, current
from closecall.asserting.session import Session
from closecall.metrics.function import FunctionMetric
from closecall.records import Measured
from closecall.testing import HashEmbedder

pytest_plugins = ["pytester"]

HEAD = """
    import os, signal, threading, time
    import pytest
    from closecall.asserting import assert_similar
    from closecall.testing import HashEmbedder
    H = HashEmbedder()

    def same(text="a blue sky", **more):
        return assert_similar(text, text, embedder=H, **more)
"""


def suite(pytester, body, *arguments, head=HEAD):
    pytester.makepyfile(head + body)
    others = ("-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:cacheprovider")
    return pytester.runpytest_subprocess("--closecall-aef", "mine", *others, *arguments)


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
def test_half_a_character_costs_no_result(pytester, workers):
    said = suite(
        pytester,
        r"""
    def test_answer():
        same("cut \ud83d")

    def test_other():
        same()

    def test_third():
        raise AssertionError("what is wrong is still told")
    """,
        *workers,
    )
    said.assert_outcomes(passed=2, failed=1)
    said.stdout.fnmatch_lines(["*what is wrong is still told*", "note: half characters of *"])
    found = load_run(pytester.path / "mine")
    assert sorted(row.case.response for row in found) == ["a blue sky", r"cut \ud83d"]


RETRIES = """
    import pytest
    from _pytest.runner import runtestprotocol

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(item, nextitem):
        # As plugins do that try a test again: a failed try is told to nobody.
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if any(report.failed for report in reports):
            item._initrequest()
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
"""


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
def test_a_try_that_is_told_to_nobody_takes_nothing_with_it(pytester, workers):
    pytester.makeconftest(RETRIES)
    said = suite(
        pytester,
        """
    tries = []

    @pytest.mark.parametrize("number", range(4))
    def test_it(number):
        tries.append(1)
        same()
        assert len(tries) > 1
    """,
        *workers,
    )
    said.assert_outcomes(passed=4)
    assert load_run(pytester.path / "mine").cases.passed == 4


def test_threads_that_assert_first_share_one_session(pytester):
    said = suite(
        pytester,
        """
    import closecall.asserting.session as sessions

    def test_it(monkeypatch):
        made, real = [], sessions.Session.__init__

        def slow(self, **more):
            made.append(self)
            time.sleep(0.2)
            real(self, **more)

        monkeypatch.setattr(sessions.Session, "__init__", slow)
        threads = [threading.Thread(target=same) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len(made) == 1
    """,
    )
    said.assert_outcomes(passed=1)
    assert load_run(pytester.path / "mine").cases.passed == 4


def test_ctrl_c_keeps_what_the_test_had_measured(pytester):
    said = suite(
        pytester,
        """
    def test_whole():
        same()

    def test_cut():
        same()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the runner ignores
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(30)
    """,
        "-p",
        "no:xdist",
    )
    assert said.ret == pytest.ExitCode.INTERRUPTED
    ids = [row.case.id for row in load_run(pytester.path / "mine")]
    assert ids == [
        f"{name}::{test}"
        for name in ("test_ctrl_c_keeps_what_the_test_had_measured.py",)
        for test in ("test_cut", "test_whole")
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="no process is asked to end there")
@pytest.mark.parametrize("workers", [("-p", "no:xdist"), ("-n", "1")], ids=["alone", "spread"])
def test_a_cancelled_job_keeps_what_was_measured(pytester, workers):
    pytester.makeconftest(
        """
        import pathlib, time
        from closecall.pytest_plugin.state import State

        real = State.gather

        # From another process, the signal comes while a report is being read.
        def gather(self, report):
            if report.nodeid.endswith("a_whole") and report.when == "call":
                pathlib.Path("told").touch()
                time.sleep(0.1)
            return real(self, report)

        State.gather = gather
        """
    )
    said = suite(
        pytester,
        """
    def test_a_whole():
        same()

    def test_b_cut(request):
        until = time.monotonic() + 120
        while not os.path.exists("told"):
            assert time.monotonic() < until
            time.sleep(0.01)
        worker = hasattr(request.config, "workerinput")
        os.kill(os.getppid() if worker else os.getpid(), signal.SIGTERM)
        time.sleep(60)
    """,
        *workers,
    )
    assert said.ret == pytest.ExitCode.INTERRUPTED
    said.stdout.fnmatch_lines(["run folder: *mine", "*ended by SIGTERM*"])
    ids = [row.case.id.rpartition("::")[2] for row in load_run(pytester.path / "mine")]
    assert ids == ["test_a_whole"]


@pytest.mark.skipif(sys.platform == "win32", reason="no process is asked to end there")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_report_that_is_cut_off_on_its_way_is_kept(pytester, name):
    pytester.makeconftest(
        f"""
        import os, pytest, signal

        signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the runner ignores

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logreport(report):
            if report.when == "call":
                os.kill(os.getpid(), signal.{name})
        """
    )
    said = suite(pytester, "    def test_it():\n        same()", "-p", "no:xdist")
    assert said.ret == pytest.ExitCode.INTERRUPTED
    assert load_run(pytester.path / "mine").cases.passed == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no process is asked to end there")
def test_sigterm_while_the_run_folder_is_written_waits_for_it(pytester):
    pytester.makeconftest(
        """
        import os, signal
        from closecall.pytest_plugin import folder

        real = folder.write_runs

        def slow(*arguments):
            os.kill(os.getpid(), signal.SIGTERM)
            return real(*arguments)

        folder.write_runs = slow
        """
    )
    said = suite(pytester, "    def test_it():\n        same()", "-p", "no:xdist")
    assert said.ret == pytest.ExitCode.INTERRUPTED
    assert load_run(pytester.path / "mine").cases.passed == 1


def test_nobody_elses_handler_of_sigterm_is_replaced(pytester):
    pytester.makeconftest("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)")
    said = suite(
        pytester,
        """
    def test_it():
        same()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    """,
        "-p",
        "no:xdist",
    )
    said.assert_outcomes(passed=1)


def test_what_cannot_be_written_hides_no_result(pytester):
    pytester.makeconftest(
        """
        import pytest
        from closecall.pytest_plugin import folder

        def broken(*_):
            raise ZeroDivisionError("a fault of ours")

        folder.write_runs = broken
        """
    )
    said = suite(
        pytester,
        """
    def test_good():
        same()

    def test_bad():
        assert_similar("green grass", "a blue sky", embedder=H)
    """,
    )
    said.assert_outcomes(passed=1, failed=1)
    said.stdout.fnmatch_lines(
        ["*expected   a blue sky*", "note: no run folder: ZeroDivisionError: a fault of ours"]
    )


@pytest.mark.parametrize("place", ["/", "", " "])
def test_a_run_folder_without_a_name_is_refused_at_once(pytester, place):
    pytester.makepyfile("def test_it(): pass")
    said = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--closecall-aef", place)
    assert said.ret == pytest.ExitCode.USAGE_ERROR
    assert "--closecall-aef names a folder of the run's own" in said.stderr.str()


def test_a_run_folder_that_another_session_fills_is_left_alone(pytester):
    body = """
    def test_it():
        same()
    """
    suite(pytester, body).assert_outcomes(passed=1)
    before = {path: path.read_bytes() for path in (pytester.path / "mine").rglob("*.json")}
    said = suite(pytester, body)
    said.assert_outcomes(passed=1)
    said.stdout.fnmatch_lines(
        ["note: no run folder: *mine: already holds *. Choose another folder: --closecall-aef DIR"]
    )
    assert {path: path.read_bytes() for path in (pytester.path / "mine").rglob("*.json")} == before
    assert "--resume" not in said.stdout.str()


@pytest.mark.parametrize(
    "arguments",
    [("--closecall-calibration", "x" * 5000), ("-o", f"closecall_cassettes={'x' * 5000}")],
    ids=["calibration", "cassettes"],
)
def test_a_name_that_no_file_can_have_is_told_in_one_line(pytester, arguments):
    pytester.makepyfile("def test_it(): pass")
    said = pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)
    assert said.ret == pytest.ExitCode.USAGE_ERROR
    assert "File name too long" in said.stderr.str()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ('mapping="x"', "mapping must be such as"),
        ('mapping={"response": ["a"]}', "mapping must be such as"),
        ("cutoffs=5", "cutoffs must be a mapping"),
        ("calibration=[5]", "calibration: expected a file or a calibration, got 5"),
        ('check="no"', "check must be True or False, got 'no'"),
    ],
)
def test_a_mark_of_another_type_is_told_in_one_line(pytester, options, told):
    row = {"id": "a", "response": "a blue sky", "reference": "a blue sky"}
    (pytester.path / "cases.jsonl").write_text(json.dumps(row) + "\n")
    said = suite(
        pytester,
        f"""
    @pytest.mark.closecall_cases("cases.jsonl", embedder=H, {options})
    def test_it():
        pass
    """,
    )
    said.assert_outcomes(errors=1)
    assert told in said.stdout.str()
    assert "Traceback" not in said.stdout.str()


def test_a_mark_without_any_cutoff_passes_nothing_unseen(pytester):
    row = {"id": "a", "response": "a blue sky", "reference": "a blue sky"}
    (pytester.path / "cases.jsonl").write_text(json.dumps(row) + "\n")
    said = suite(
        pytester,
        """
    def mark(metrics="answer_alignment", **more):
        return pytest.mark.closecall_cases("cases.jsonl", embedder=H, metrics=metrics, **more)

    @mark()
    def test_nothing():
        pass

    @mark()
    def test_seen(result):
        assert result.results[0].measurement.value > 0.9

    @mark(check=False)
    def test_unchecked():
        pass

    @mark(cutoff=0.5)
    def test_decided():
        pass

    @mark(metrics="answer_alignment,embed_answer_similarity")
    def test_one_of_them_decides():
        pass
    """,
    )
    said.assert_outcomes(passed=4, errors=1)
    assert "answer_alignment: no cutoff, so the test asserts nothing" in said.stdout.str()


def test_wrong_arguments_are_errors_and_no_failures(pytester):
    said = suite(
        pytester,
        """
    from closecall.asserting import assert_matches_fact

    def test_metrics():
        same(metric="token_f1,bleu")

    def test_syntax():
        assert_matches_fact("a", "a", syntax="regex,token_f1")

    def test_match():
        assert_matches_fact("a", "a", match="every")

    def test_nothing():
        assert_matches_fact("a", [])

    def test_both():
        same(cutoff=60, calibration="c.json")

    def test_scored(closecall):
        closecall.score(5, "a")

    def test_scored_with_nothing(closecall):
        closecall.score("a")

    def test_compared(closecall):
        closecall.score("a", 5)
    """,
    )
    said.assert_outcomes(errors=8)
    assert (
        "an assertion has one metric, got token_f1, bleu; write one for each" in said.stdout.str()
    )


def test_a_calibration_of_the_same_name_in_another_folder_is_another(pytester):
    said = suite(
        pytester,
        """
    from closecall import calibrate, save_calibration

    @pytest.mark.parametrize("metric", ["answer_alignment", "embed_answer_similarity"])
    def test_it(tmp_path, monkeypatch, metric):
        rows = [
            {"response": f"{word} {word} sky" if ok else f"grass {word}",
             "reference": f"{word} sky", "label": "accept" if ok else "reject"}
            for ok in (True, False)
            for word in (f"word{at}" for at in range(80))
        ]
        monkeypatch.chdir(tmp_path)
        save_calibration(calibrate(rows, metric, H, cache=False), "cutoff.json")
        assert same(calibration="cutoff.json").metric == metric
    """,
    )
    said.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "details",
    [
        {"weakest": ["x"]},
        {"weakest": [{"word": "a"}]},
        {"weakest": {"word": "a"}},
        {"missing": 5},
        {"missingAnyOf": 5},
        {"missingAnyOf": [5]},
        {"unwanted": ["x"]},
        {"unwanted": 3},
        {"weakestSentence": "x", "sentences": "y"},
        {"weakestSentence": "x", "sentences": 3},
    ],
)
def test_details_of_a_metric_of_your_own_say_what_they_like(details):
    def mine(case):
        return Measured(similarity=0.1, value=0.1, score=10.0, details=details, tokens={})

    made = Session(embedder=HashEmbedder(), cache=False)

    def opener():
        return made

    current.enter(opener)
    try:
        with pytest.raises(AnswerError, match="mine: low mine"):
            assert_similar("a", "b", metric=FunctionMetric(mine, cutoff=0.5))
        with pytest.raises(AnswerError, match=r"missing    blue"):
            assert_matches_fact("a", "blue")
    finally:
        current.leave(opener)
        made.close()
