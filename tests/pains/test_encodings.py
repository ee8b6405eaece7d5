"""Texts that are not ASCII, on machines whose own encoding is not UTF-8.

A code page of Windows broke the reading of data sets and of files of a tool's own
(openai/evals#690, MemPalace/mempalace#1203). A letter outside ASCII in a header ended in a codec
error that named neither the header nor the setting (vibrantlabsai/ragas#694).
"""

import json
import os
import subprocess
import sys

import pytest
from fake_chat import turn

NARROW = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "LANG": "C"}
TEXT = "Łódź – 東京 – naïve – “fin”"
CASE = {"id": "größe-1", "response": TEXT, "reference": TEXT}


@pytest.fixture
def narrow(here):
    """Run the command line in a process whose encoding is not UTF-8, warning of any use of it."""

    def call(*arguments, console="cp1252", stdin=None):
        return subprocess.run(
            [
                sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning",
                "-m", "closecall", *map(str, arguments),
            ],
            env={**os.environ, **NARROW, "PYTHONIOENCODING": console},
            cwd=here, capture_output=True, check=False, timeout=120, input=stdin,
        )  # fmt: skip

    return call


@pytest.mark.parametrize("name", ["c.jsonl", "c.json", "c.csv", "c.yaml"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "marked"])
def test_a_file_of_cases_is_utf_8_whatever_the_machine_speaks(narrow, here, name, mark):
    shown = json.dumps(CASE, ensure_ascii=False)
    content = {
        "c.jsonl": shown + "\n",
        "c.json": f"[{shown}]",
        "c.csv": "id,response,reference\n" + ",".join(CASE.values()) + "\n",
        "c.yaml": f"- {shown}\n",
    }[name]
    (here / name).write_bytes(mark + content.encode())
    said = narrow("eval", name, "-m", "exact_match", "--no-aef", "-o", "r.json", "-q")
    assert said.returncode == 0, said.stderr
    (row,) = json.loads((here / "r.json").read_text(encoding="utf-8"))["results"]
    assert row["name"] == "größe-1"


def test_a_run_is_shown_on_a_console_of_another_encoding_and_filed_in_utf_8(narrow, write, here):
    said = narrow("eval", write(CASE), "-m", "exact_match", "--aef", "run", "-q")
    assert said.returncode == 0, said.stderr
    assert "\\u6771\\u4eac" in said.stdout.decode("cp1252")
    exported = narrow("runs", "show", "run", "--format", "csv", "-o", "r.csv")
    assert exported.returncode == 0, exported.stderr
    assert "größe-1" in (here / "r.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le"])
def test_a_file_in_another_encoding_is_refused_with_its_place_and_not_guessed(
    narrow, here, encoding
):
    content = json.dumps({**CASE, "response": "naïve", "reference": "naïve"}, ensure_ascii=False)
    (here / "c.jsonl").write_bytes(content.encode(encoding, "replace"))
    said = narrow("eval", "c.jsonl", "-m", "exact_match", "--no-aef", "-q")
    assert said.returncode == 4
    assert b"c.jsonl" in said.stderr
    assert b"UTF-8" in said.stderr
    assert b"Traceback" not in said.stderr


def test_an_assistant_is_told_and_understood_in_utf_8(narrow, here):
    (here / "c.jsonl").write_text(
        json.dumps({"id": "a", "input": TEXT, "reference": TEXT}, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
    (here / "echo.py").write_text(
        "import json, sys\n"
        "case = json.loads(sys.stdin.buffer.read().decode('utf-8'))\n"
        "sys.stdout.buffer.write(case['input'].encode('utf-8'))\n",
        encoding="utf-8",
    )
    said = narrow(
        "eval", "c.jsonl", "-m", "exact_match", "--no-aef", "-q",
        "--subject-command", f"{sys.executable} echo.py",
    )  # fmt: skip
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.loopback
def test_a_prompt_a_recording_and_a_gate_file_are_utf_8_too(narrow, here, judge):
    (here / "c.jsonl").write_text(
        json.dumps({"id": "a", "input": TEXT, "references": [TEXT]}, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
    (here / "prompt.txt").write_text(f"Wiederhole: {TEXT}", encoding="utf-8")
    (here / "closecall.toml").write_text(
        '# größer als alles\ngates = ["all(exact_match)"]\n', encoding="utf-8"
    )
    judge.script = lambda received: judge.reply(received, turn(TEXT))
    asked = (
        "eval", "c.jsonl", "-m", "exact_match", "--no-aef", "-q", "--model",
        "openai-compatible:asked-model", "--system-prompt-file", "prompt.txt",
    )  # fmt: skip
    said = narrow(*asked, "--record", "tape")
    assert said.returncode == 0, said.stdout + said.stderr
    assert judge.requests[0].body["messages"][0]["content"].endswith(TEXT)
    before = len(judge.requests)
    said = narrow(*asked, "--replay", "tape")
    assert said.returncode == 0, said.stdout + said.stderr
    assert len(judge.requests) == before


@pytest.mark.loopback
@pytest.mark.parametrize(
    "key", ["schlüssel-1234567890", "“quoted-1234567890”", "key\u200b-123456"]
)
def test_a_key_no_header_can_hold_is_named_by_its_variable_and_not_shown(
    cli, write, judge, monkeypatch, key
):
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", key)
    write({"id": "a", "input": "Which?", "response": "This."})
    told = cli(
        "eval", "cases.jsonl", "-m", "llm_relevance", "--no-aef", "-q",
        "--judge-model", "openai-compatible:asked-model",
    )  # fmt: skip
    assert told.code == 3
    assert "OPENAI_COMPATIBLE_API_KEY" in told.err
    assert key not in told.err
    assert judge.requests == []
