"""SIGTERM ends a command as Ctrl-C does, and neither is lost where Python would lose it."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from closecall import cli
from closecall.cli import run
from closecall.cli.ending import TerminatedError, interruption_in, terminable

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


@pytest.fixture
def doing(monkeypatch):
    """Let every command do something else."""

    def call(what):
        monkeypatch.setattr(cli, "_run", lambda _: what())
        return run(["doctor"])

    return call


def test_sigterm_ends_with_its_own_code_and_no_traceback(doing, capsys):
    before = signal.getsignal(signal.SIGTERM)
    assert doing(lambda: os.kill(os.getpid(), signal.SIGTERM)) == 143
    assert capsys.readouterr().err == "closecall: ended by SIGTERM\n"
    assert signal.getsignal(signal.SIGTERM) is before is signal.SIG_DFL


def test_sigterm_says_how_to_go_on_with_a_run(tmp_path, monkeypatch, capsys):
    def ended(*_args, **_options):
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.jsonl").write_text('{"response": "a", "reference": "b"}\n')
    monkeypatch.setattr("closecall.runs.work.run_cases", ended)
    assert run(["eval", "cases.jsonl", "--aef", "run"]) == 143
    assert "closecall eval --resume run" in capsys.readouterr().err


def test_whoever_handles_sigterm_already_goes_on_doing_so(doing):
    came = []
    before = signal.signal(signal.SIGTERM, lambda *_: came.append(1))
    try:
        assert doing(lambda: os.kill(os.getpid(), signal.SIGTERM) or 7) == 7
    finally:
        signal.signal(signal.SIGTERM, before)
    assert came == [1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_that_comes_while_an_object_is_tidied_up_is_not_lost(number):
    """Python prints what is raised there and goes on; the run would go on as well."""

    class Tidied:
        def __del__(self):
            os.kill(os.getpid(), number)

    def work():
        one = Tidied()
        del one
        assert threading.Event().wait(60), "it slept on"

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hook = sys.unraisablehook
    try:
        with pytest.raises(KeyboardInterrupt) as raised, terminable():
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert isinstance(raised.value, TerminatedError) is (number == signal.SIGTERM)
    assert sys.unraisablehook is hook


AT_THE_END = """
import os, signal
from closecall.cli import ending
real = signal.signal
def late(number, handler):
    if handler is signal.SIG_DFL:
        os.kill(os.getpid(), signal.SIGTERM)
    return real(number, handler)
with ending.terminable():
    signal.signal = late
"""


@pytest.mark.skipif(os.name != "posix", reason="holds a signal back as POSIX does")
def test_one_that_comes_while_it_is_given_back_ends_the_process_and_says_nothing():
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "", "")


def test_an_import_that_was_interrupted_is_no_broken_installation(doing, capsys):
    def imported():
        # As a C++ extension does with whatever its initialisation raises.
        raise ImportError("initialization failed") from KeyboardInterrupt()

    assert doing(imported) == 130
    assert capsys.readouterr().err == "closecall: interrupted\n"
    assert interruption_in(ImportError("no such module")) is None


def test_too_little_memory_is_the_machine_s_fault(doing, capsys):
    def grows():
        raise MemoryError

    assert doing(grows) == 3
    said = capsys.readouterr().err
    assert "not enough memory" in said
    assert "bug" not in said


def test_a_file_that_may_not_grow_is_the_machine_s_fault(doing, capsys):
    def writes():
        raise OSError(27, "File too large")

    assert doing(writes) == 2
    assert "the output cannot be written: File too large" in capsys.readouterr().err
