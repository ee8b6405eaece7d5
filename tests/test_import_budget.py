"""What starts fast stays fast: which modules may load, checked in processes of their own."""

import subprocess
import sys

import pytest

RUNTIMES = ("onnxruntime", "tokenizers", "numpy", "torch", "rich", "yaml", "msgspec", "sqlite3")
NEVER = (
    "torch", "onnx", "safetensors", "sentence_transformers", "transformers", "scipy", "sklearn",
    "faiss", "openai", "requests", "httpx", "httpx2", "pydantic", "pandas", "pyarrow",
)  # fmt: skip


def loaded(code, watched):
    """Run code in a new process and return those of ``watched`` that it loaded."""
    program = f"{code}\nimport sys\nprint('LOADED', *(m for m in {watched!r} if m in sys.modules))"
    said = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120
    )
    return said.stdout.splitlines()[-1].split()[1:]


def test_import_loads_nothing_but_the_standard_library():
    assert loaded("import closecall", (*RUNTIMES, *NEVER, "click")) == []


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["score", "--help"], ["eval", "-h"]])
def test_help_loads_click_and_nothing_heavy(args):
    assert loaded(f"from closecall.cli import run; run({args!r})", (*RUNTIMES, *NEVER)) == []


def test_import_time_tells_the_same_story():
    said = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "closecall", "--help"],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    modules = {line.rpartition("|")[2].strip() for line in said.stderr.splitlines()}
    assert "closecall.cli" in modules
    assert not modules & {*RUNTIMES, *NEVER}


def test_scoring_loads_no_framework_it_does_not_need():
    score = "from closecall.cli import run; assert run(['score', 'a blue sky', 'a blue sky']) == 0"
    found = loaded(score, (*NEVER, "onnxruntime", "rich", "yaml"))
    assert found == ["onnxruntime"]


def test_a_whole_run_with_every_report_loads_no_framework_it_does_not_need(tmp_path):
    (tmp_path / "c.jsonl").write_text('{"response": "a", "reference": "a"}\n', encoding="utf-8")
    code = f"""
import os
os.chdir({str(tmp_path)!r})
from closecall.cli import run
for form in ("table", "json", "jsonl", "csv", "markdown", "junit", "html"):
    assert run(["eval", "c.jsonl", "--format", form, "-o", "report"]) == 0
"""
    assert loaded(code, NEVER) == []


def test_a_metric_needs_no_model_to_be_made():
    code = "from closecall import AnswerSimilarity, EmbeddingSimilarity; AnswerSimilarity(60)"
    assert loaded(code, ("onnxruntime", "tokenizers", *NEVER)) == []


def test_a_run_that_asks_no_judge_loads_none(tmp_path):
    (tmp_path / "c.jsonl").write_text('{"response": "a", "reference": "a"}\n', encoding="utf-8")
    code = f"""
import os
os.chdir({str(tmp_path)!r})
from closecall.cli import run
assert run(["eval", "c.jsonl", "-q"]) == 0
"""
    assert loaded(code, ("closecall.metrics.judge.metric",)) == []
