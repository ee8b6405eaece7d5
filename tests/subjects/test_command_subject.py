"""A program as the subject: real processes."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from closecall.errors import ConfigurationError, UsageError
from closecall.records import Case, Label, State, Unmeasured
from closecall.subjects.base import Subject
from closecall.subjects.command import CommandSubject, case_json

CASE = Case(
    id="żółw-1", input="When?\n«四»", references=("the answer",), label=Label.ACCEPT,
    context=("a page",), tags=("t",), group="g", metadata={"lang": "pl"}, place="cases.jsonl:1",
)  # fmt: skip


def python(code):
    return [sys.executable, "-c", code]


def answers(code, cases=(CASE,), **options):
    return CommandSubject(python(code), **options).answer(list(cases))


def test_a_program_gets_the_case_and_prints_the_answer():
    subject = CommandSubject(python("import sys; print(sys.stdin.buffer.read().decode())"))
    assert isinstance(subject, Subject)
    (found,) = subject.answer([CASE])
    assert found.latency_ms > 0
    assert json.loads(found.text) == {
        "id": "żółw-1", "input": "When?\n«四»", "context": ["a page"], "tags": ["t"],
        "group": "g", "metadata": {"lang": "pl"},
    }  # fmt: skip
    assert "\n" not in case_json(CASE)[:-1]


def test_a_command_is_split_as_a_shell_would_and_no_shell_runs(tmp_path):
    script = tmp_path / "a subject.py"
    script.write_text("import sys; print(sys.argv[1:])", encoding="utf-8")
    line = (
        f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} '$HOME; exit 1' \"two words\""
    )
    (found,) = CommandSubject(line).answer([CASE])
    assert found.text == "['$HOME; exit 1', 'two words']"


@pytest.mark.parametrize(
    ("printed", "text"),
    [("'fine'", "fine"), ("'a\\n\\n'", "a\n"), ("''", ""), ("'żółw 四\\r\\n'", "żółw 四")],
)
def test_all_that_is_printed_but_the_last_line_end_is_the_answer(printed, text):
    code = f"import sys; sys.stdout.buffer.write({printed}.encode())"
    assert answers(code)[0].text == text


def test_order_is_kept_and_processes_run_side_by_side(tmp_path):
    # Each waits for the other to have begun.
    code = f"""
import json, pathlib, sys, time
me = json.load(sys.stdin)["input"]
here = pathlib.Path({str(tmp_path)!r})
(here / me).touch()
while len(list(here.iterdir())) < 2:
    time.sleep(0.01)
print(me)
"""
    cases = [Case(id=str(n), input=f"i{n}") for n in range(2)]
    assert [one.text for one in answers(code, cases, in_flight=2)] == ["i0", "i1"]


def test_a_program_that_fails_says_why_and_costs_no_other_its_answer(monkeypatch):
    monkeypatch.setattr("closecall.subjects.process._LAST_S", 60.0)
    code = """
import json, sys
asked = json.load(sys.stdin)["input"]
if asked == "bad":
    print("first line\\nlast line sk-abcdefghij", file=sys.stderr)
    sys.exit(3)
if asked == "mute":
    sys.exit(4)
print(asked)
"""
    cases = [Case(id=str(n), input=text) for n, text in enumerate(["a", "bad", "mute", "b", None])]
    found = answers(code, cases)
    assert [found[0].text, found[3].text] == ["a", "b"]
    assert found[1] == Unmeasured(
        "the subject gave no answer: the command ended with exit code 3: first line last line "
        "[key]",
        State.ERROR,
    )
    assert "exit code 4, and said nothing" in found[2].reason
    assert "no input" in found[4].reason


def test_what_is_not_utf_8_is_no_answer():
    (found,) = answers("import sys; sys.stdout.buffer.write(b'caf\\xe9')")
    assert "not UTF-8" in found.reason


def test_a_case_that_cannot_be_written_starts_nothing():
    (found,) = answers("print(1)", [Case(id="1", input="\ud83d")])
    assert "surrogate" in found.reason


def test_a_program_that_reads_nothing_or_talks_a_lot_beside_is_no_trouble():
    big = Case(id="1", input="word " * 200_000)
    (found,) = answers("import sys; sys.stderr.write('x' * 1000000); print('fine')", [big])
    assert found.text == "fine"


def test_a_program_that_prints_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr("closecall.subjects.process.MOST_BYTES", 100_000)
    (found,) = answers("while True: print('word ' * 1000)")
    assert "printed more than 100000 bytes" in found.reason
    (found,) = answers("print('w' * 200000)")
    assert "printed more than 100000 bytes" in found.reason


@pytest.mark.skipif(os.name != "posix", reason="asks after processes as POSIX does")
def test_a_program_that_hangs_is_killed_with_what_it_started(tmp_path, monkeypatch):
    inner = f"""
import os, pathlib, time
pathlib.Path({str(tmp_path)!r}, str(os.getpid())).touch()
time.sleep(600)
"""
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    until = time.monotonic() + 60

    def now():
        """Time stands still until all have started, which takes as long as it takes."""
        return 6.0 if any(tmp_path.iterdir()) or time.monotonic() > until else 0.0

    monkeypatch.setattr("closecall.subjects.process.time", SimpleNamespace(monotonic=now))
    (found,) = answers(code, timeout_s=5.0)
    assert found == Unmeasured(
        "the subject gave no answer: the command was not done after 5 s", State.ERROR
    )
    until = time.monotonic() + 60
    (pid,) = (int(path.name) for path in tmp_path.iterdir())
    while running(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not running(pid)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal as POSIX does")
def test_ctrl_c_kills_what_is_running(tmp_path):
    code = f"""
import os, pathlib, time
pathlib.Path({str(tmp_path)!r}, str(os.getpid())).touch()
time.sleep(600)
"""
    program = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the test runner ignores
from closecall.records import Case
from closecall.subjects.command import CommandSubject
subject = CommandSubject({python(code)!r}, in_flight=2)
try:
    subject.answer([Case(id=str(n), input="q") for n in range(5)])
except KeyboardInterrupt:
    sys.exit(130)
"""
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        until = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        pids = [int(path.name) for path in tmp_path.iterdir()]
        assert len(pids) == 2
        until = time.monotonic() + 60
        while any(running(pid) for pid in pids) and time.monotonic() < until:
            time.sleep(0.02)
        assert not any(running(pid) for pid in pids)
    finally:
        process.kill()
        process.wait()


def running(pid):
    """Whether a process runs; one that ended and nobody asked after does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return (
            not stat.exists()
            or stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
        )
    except OSError:
        return False


@pytest.mark.parametrize("command", ["", "  ", "'unclosed", []])
def test_a_command_that_is_none_is_refused(command):
    with pytest.raises(UsageError, match="the subject's command"):
        CommandSubject(command)


def test_a_program_that_is_not_there_is_found_before_any_case_is_read():
    with pytest.raises(ConfigurationError, match="there is no program 'no-such-program-here'"):
        CommandSubject("no-such-program-here --flag")


@pytest.mark.skipif(os.name != "posix", reason="files are executable by their rights")
def test_a_program_that_cannot_be_started_ends_it(tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("no program at all", encoding="utf-8")
    broken.chmod(0o755)
    with pytest.raises(ConfigurationError, match="cannot be started"):
        CommandSubject([str(broken)]).answer([CASE])


def test_the_identity_is_the_command_without_keys_in_it():
    subject = CommandSubject([sys.executable, "-c", "print(1)", "--key", "sk-abcdefghij"])
    assert subject.identity.kind == "command"
    assert subject.identity.name == Path(sys.executable).name
    assert "print(1)" in subject.identity.facts["command"]
    assert "abcdefghij" not in repr(subject.identity)
    assert subject.identity.digest != CommandSubject([sys.executable]).identity.digest


@pytest.mark.parametrize("options", [{"timeout_s": 0}, {"in_flight": 0}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(UsageError):
        CommandSubject([sys.executable], **options)
