"""People's patterns: found where ``re`` finds them, and never able to hang a run."""

import os
import subprocess
import sys
import threading
import time

import pytest

from closecall.metrics.facts import patterns
from closecall.metrics.facts.patterns import (
    PatternError,
    SlowPatternError,
    Span,
    problem_with,
    search,
)

ENDLESS = r"(a+)+$"
TEXT = "a" * 40 + "!"


@pytest.fixture
def fresh(monkeypatch):
    """No memory of what other tests did, and time for what ends, however busy the machine is."""
    worker = patterns._Worker()
    monkeypatch.setattr(patterns, "_worker", worker)
    monkeypatch.setattr(patterns, "LIMIT_SECONDS", 60.0)
    yield worker
    worker.close()


@pytest.fixture
def soon(monkeypatch):
    """Search as ever, with a short limit."""

    def call(*given):
        with monkeypatch.context() as short:
            short.setattr(patterns, "LIMIT_SECONDS", 0.5)
            return search(*given)

    return call


def test_each_pattern_is_found_where_it_stands_first():
    found = search([r"\d+ days", "weeks", "(?<=of )x"], "within 30 days of x, not 60 days")
    assert found == [Span(7, 14), None, Span(18, 19)]
    assert search(["É\\b"], "café 👍 É") == [Span(7, 8)]
    assert search([], "text") == []


def test_case_counts_unless_told_otherwise():
    assert search(["PARIS"], "Paris") == [None]
    assert search(["PARIS", "(?-i:PARIS)"], "Paris", ignore_case=True) == [Span(0, 5), None]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (ENDLESS, TEXT),
        ("^(a|aa)+$", "a" * 80 + "!"),
        (r"^(\w+\s?)*$", "word " * 30 + "!"),
        (r"(.*)\1\1\1b", "a" * 100_000),
        ("((((a{1,900}){1,900}){1,900}){1,900})b", "a" * 10_000),
        (r"\s+$", " " * 400_000 + "x"),
        ("([a-z0-9])(([-.]|_+)?([a-z0-9]+))*(@)x", "a" * 60),
    ],
    ids=["nested", "overlapping", "words", "backreference", "counted", "quadratic", "address"],
)
def test_an_endless_pattern_is_stopped_and_named(fresh, soon, pattern, text):
    started = time.monotonic()
    with pytest.raises(SlowPatternError) as caught:
        soon(["a", pattern, "b"], text)
    assert time.monotonic() - started < 5
    assert f"'{pattern}' took longer than" in str(caught.value)
    assert "Avoid a repeat inside a repeat" in str(caught.value)
    assert search(["a"], "after") == [Span(0, 1)]


def test_a_pattern_that_keeps_being_endless_is_no_longer_tried(fresh, soon, monkeypatch):
    for _ in range(patterns.GIVE_UP_AFTER):
        with pytest.raises(SlowPatternError, match="took longer than"):
            soon([ENDLESS], TEXT)
    asked = []
    with monkeypatch.context() as patched:
        patched.setattr(fresh, "_ask", lambda *given, **_: asked.append(given))
        for _ in range(50):
            with pytest.raises(SlowPatternError, match="not tried on this one"):
                search(["a", ENDLESS], "aa")
    assert asked == []
    assert search(["a+$"], "aa") == [Span(0, 2)]


def test_a_long_text_gets_more_time(fresh, soon, monkeypatch):
    said = []
    monkeypatch.setattr(patterns, "_write", lambda _process, line: said.append(line))
    monkeypatch.setattr(fresh, "_read", lambda *_: "null")
    soon(["a", "b"], "x" * 1_000_000)
    assert '"seconds": 0.7}' in said[0]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(30|sixty", "missing ), unterminated subpattern at position 0"),
        ("[a-", "unterminated character set"),
        ("(?P<x>a)(?P<x>b)", "redefinition of group name"),
        ("*a", "nothing to repeat at position 0"),
        ("a{99999999999}", "too large or nested too deeply"),
        ("(" * 2000 + "a" + ")" * 2000, "too large or nested too deeply"),
        (" \n", "it is blank"),
        ("a" * 10_001, "it has 10,001 characters, and at most 10,000 are allowed"),
    ],
    ids=["group", "set", "name", "star", "count", "depth", "blank", "long"],
)
def test_a_wrong_pattern_is_named_with_what_is_wrong(pattern, said):
    assert said in problem_with(pattern)
    with pytest.raises(PatternError) as caught:
        search(["a", pattern], "text")
    assert not isinstance(caught.value, SlowPatternError)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 400
    assert search(["t"], "text") == [Span(0, 1)]


def test_a_good_pattern_has_no_problem_and_gives_no_warning():
    assert problem_with(r"\b42\b") is None
    assert problem_with("[[a]") is None
    assert search(["[[a]"], "[") == [Span(0, 1)]


def test_too_many_patterns_are_refused():
    with pytest.raises(PatternError, match="201 patterns, and at most 200"):
        search(["a"] * 201, "a")


def test_a_text_of_a_million_characters_and_odd_ones():
    text = '天\u2028\x85\x00"\\\n' * 150_000 + "end"
    assert search(["end$", "\\x00"], text) == [Span(len(text) - 3, len(text)), Span(3, 4)]


def test_threads_get_their_own_answers(fresh):
    wrong = []

    def ask(number):
        answers = [search([str(number)], f"..{number}") for _ in range(20)]
        wrong.extend(answer for answer in answers if answer != [Span(2, 3)])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_process_that_was_ended_is_started_again(fresh):
    assert search(["a"], "a") == [Span(0, 1)]
    fresh._process.kill()
    fresh._process.wait()
    assert search(["b"], "ab") == [Span(1, 2)]


def test_an_answer_left_unread_is_not_taken_for_the_next_one(fresh, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(fresh, "_read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            search(["a"], "a")
    assert search(["b"], "ab") == [Span(1, 2)]


def test_a_process_that_ends_within_a_search_is_not_taken_for_slow(fresh, monkeypatch):
    search(["a"], "a")
    write = patterns._write

    def asked(process, line):
        write(process, line)
        process.kill()

    monkeypatch.setattr(patterns, "_write", asked)
    with pytest.raises(PatternError, match="ended with code") as caught:
        search([ENDLESS], TEXT)
    assert not isinstance(caught.value, SlowPatternError)
    assert not fresh._stopped[ENDLESS]


def test_without_an_interpreter_it_says_so(fresh, monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(PatternError, match="need a Python interpreter"):
        search(["a"], "a")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(PatternError, match="cannot be started"):
        search(["a"], "a")


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_the_process_ends_with_the_program_and_quietly():
    code = """
from closecall.metrics.facts import patterns
patterns.search(["a"], "a")
print(patterns._worker._process.pid)
"""
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")
    if os.name == "posix":
        with pytest.raises(ProcessLookupError):
            os.kill(int(done.stdout), 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_has_a_process_of_its_own():
    code = """
import os, sys
from closecall.metrics.facts import patterns
assert patterns.search(["a"], "xa")
first = patterns._worker._process.pid
patterns._worker._lock.acquire()
child = os.fork()
if child:
    patterns._worker._lock.release()
assert patterns.search(["b"], "xb") == [(1, 2)]
own = patterns._worker._process.pid
if child == 0:
    assert own != first
    patterns._close()
    os._exit(0)
assert own == first
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_starts_nothing_and_loads_nothing_heavy():
    code = """
import sys
from closecall.metrics.facts import patterns
assert patterns._worker._process is None
print([m for m in ("numpy", "scipy", "regex", "msgspec") if m in sys.modules])
"""
    assert run(code).stdout.strip() in ("[]", "['msgspec']")
