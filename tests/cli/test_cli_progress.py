"""Progress: plain lines when nobody watches, with rate and time left, on a clock of the test."""

import io

import pytest

from closecall.cli import progress as module
from closecall.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def at(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])

    def said(progress, seconds, done, total=100):
        clock[0] = 1000.0 + seconds
        progress(done, total)

    return said


def test_short_work_is_silent(at, capsys):
    with Progress() as progress:
        at(progress, 0, 0)
        at(progress, 1.9, 60)
        at(progress, 2.5, 100)
    assert capsys.readouterr() == ("", "")


def test_long_work_says_count_rate_and_time_left_now_and_then(at, capsys):
    with Progress() as progress:
        at(progress, 0, 0, 1000)
        for second in range(1, 33):
            at(progress, second, second * 10, 1000)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "closecall: 20 / 1,000 cases, 10 a second, 1 min 38 s left",
        "closecall: 170 / 1,000 cases, 10 a second, 1 min 23 s left",
        "closecall: 320 / 1,000 cases, 10 a second, 1 min 8 s left",
    ]


def test_time_spent_before_the_first_case_does_not_slow_the_rate(at, capsys):
    progress = Progress()
    at(progress, 50, 0)
    at(progress, 53, 30)
    assert "30 / 100 cases, 10 a second, 7 s left" in capsys.readouterr().err


def test_what_a_resumed_run_had_done_before_is_not_counted_as_speed(at, capsys):
    progress = Progress()
    at(progress, 0, 5000, 10_000)
    at(progress, 10, 5100, 10_000)
    assert "5,100 / 10,000 cases, 10 a second, 8 min 10 s left" in capsys.readouterr().err


def test_nothing_done_yet_has_no_time_left(at, capsys):
    progress = Progress()
    at(progress, 0, 0)
    at(progress, 3, 0)
    assert capsys.readouterr().err == "closecall: 0 / 100 cases, 0 a second\n"


def test_quiet_says_nothing(at, capsys):
    progress = Progress(quiet=True)
    at(progress, 0, 0)
    at(progress, 99, 50)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar_that_goes_away(at, monkeypatch):
    out = Terminal()
    monkeypatch.setattr(module.sys, "stderr", out)
    with Progress() as progress:
        at(progress, 0, 0)
        at(progress, 1, 10)
        at(progress, 2, 50)
    assert "50 / 100 cases" in out.getvalue()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"), (7260, "2 h 1 min")],
)
def test_spans(seconds, said):
    assert module._span(seconds) == said
